package descriptors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// word reads a text that may not be empty. A number or a boolean is the text that it
// is written as.
func (c *compiler) word(n *node, name string) (string, bool) {
	switch {
	case !n.IsScalar():
		c.fault(n, name+": "+shown(n), "write a text")
	case n.Raw == "":
		c.fault(n, name+" is empty", "write a text")
	case len(n.Raw) > MaxText:
		c.fault(n, fmt.Sprintf("%s of %d bytes: at most %d", name, len(n.Raw), MaxText), "")
	default:
		return n.Raw, true
	}
	return "", false
}

// flag reads a boolean, false where there is none.
func (c *compiler) flag(f map[string]*node, name string) bool {
	n := f[name]
	if n == nil || n.Kind == yamlfile.Null {
		return false
	}
	if n.IsScalar() && n.Plain {
		switch strings.ToLower(n.Raw) {
		case "true", "yes", "on":
			return true
		case "false", "no", "off":
			return false
		}
	}
	c.fault(n, name+": "+shown(n), "write true or false")
	return false
}

// whole reads a whole number from low to high.
func (c *compiler) whole(n *node, name string, low, high int64) (int64, bool) {
	if n.IsScalar() && n.Plain {
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Raw, "_", ""), 10, 64)
		if err == nil && low <= v && v <= high {
			return v, true
		}
	}
	c.fault(n, name+": "+shown(n), fmt.Sprintf("write a whole number from %d to %d", low, high))
	return 0, false
}

// maxValues bounds the values of all metadata together.
const maxValues = 100_000

// metadata turns a mapping into the values it stands for.
func (c *compiler) metadata(n *node) map[string]any {
	if n == nil || n.Kind == yamlfile.Null {
		return nil
	}
	if n.Kind != yamlfile.Mapping {
		c.fault(n, "metadata: "+shown(n), "write a mapping")
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
	switch n.Kind {
	case yamlfile.Mapping:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			if _, twice := m[f.Key.Raw]; twice {
				c.fault(f.Key, yamlfile.Quote(f.Key.Raw)+" is there twice", "write one of them")
			}
			m[f.Key.Raw] = c.value(f.Value, depth+1)
		}
		return m
	case yamlfile.List:
		l := make([]any, len(n.Items))
		for i, item := range n.Items {
			l[i] = c.value(item, depth+1)
		}
		return l
	case yamlfile.Null:
		return nil
	case yamlfile.Boolean:
		return strings.EqualFold(n.Raw, "true")
	case yamlfile.Number:
		if v, err := strconv.ParseFloat(strings.ReplaceAll(n.Raw, "_", ""), 64); err == nil {
			return v
		}
	}
	return n.Raw
}
