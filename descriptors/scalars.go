package descriptors

import (
	"fmt"
	"strconv"
	"strings"
)

// word reads a text that may not be empty. A number or a boolean is the text that it
// is written as.
func (c *compiler) word(n *node, name string) (string, bool) {
	switch {
	case !n.isScalar():
		c.fault(n, name+": "+n.shown(), "write a text")
	case n.raw == "":
		c.fault(n, name+" is empty", "write a text")
	case len(n.raw) > MaxText:
		c.fault(n, fmt.Sprintf("%s of %d bytes: at most %d", name, len(n.raw), MaxText), "")
	default:
		return n.raw, true
	}
	return "", false
}

// flag reads a boolean, false where there is none.
func (c *compiler) flag(f map[string]*node, name string) bool {
	n := f[name]
	if n == nil || n.kind == null {
		return false
	}
	if n.isScalar() && n.plain {
		switch strings.ToLower(n.raw) {
		case "true", "yes", "on":
			return true
		case "false", "no", "off":
			return false
		}
	}
	c.fault(n, name+": "+n.shown(), "write true or false")
	return false
}

// whole reads a whole number from low to high.
func (c *compiler) whole(n *node, name string, low, high int64) (int64, bool) {
	if n.isScalar() && n.plain {
		v, err := strconv.ParseInt(strings.ReplaceAll(n.raw, "_", ""), 10, 64)
		if err == nil && low <= v && v <= high {
			return v, true
		}
	}
	c.fault(n, name+": "+n.shown(), fmt.Sprintf("write a whole number from %d to %d", low, high))
	return 0, false
}

// maxValues bounds the values of all metadata together.
const maxValues = 100_000

// metadata turns a mapping into the values it stands for.
func (c *compiler) metadata(n *node) map[string]any {
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != mapping {
		c.fault(n, "metadata: "+n.shown(), "write a mapping")
		return nil
	}
	before := c.values
	m, _ := c.value(n, 0).(map[string]any)
	if c.values > maxValues && before <= maxValues {
		c.fault(n, fmt.Sprintf("more than %d values of metadata", maxValues), "")
	}
	return m
}

// value is metadata for any node.
func (c *compiler) value(n *node, depth int) any {
	if c.values++; c.values > maxValues || depth > MaxDepth {
		return nil
	}
	switch n.kind {
	case mapping:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			if _, twice := m[f.key.raw]; twice {
				c.fault(f.key, quote(f.key.raw)+" is there twice", "write one of them")
			}
			m[f.key.raw] = c.value(f.value, depth+1)
		}
		return m
	case list:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			l[i] = c.value(item, depth+1)
		}
		return l
	case null:
		return nil
	case boolean:
		return strings.EqualFold(n.raw, "true")
	case number:
		if v, err := strconv.ParseFloat(strings.ReplaceAll(n.raw, "_", ""), 64); err == nil {
			return v
		}
	}
	return n.raw
}
