package descriptors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
)

// compiler builds a set, file by file.
type compiler struct {
	faults   faults
	set      *Set
	policies map[policyKey]*stint.Policy
	places   map[string]string // of domains
	nodes    int
	values   int

	reader *reader // of the file at hand
	domain *Domain
	way    []step
}

// policyKey is what makes two limits one policy.
type policyKey struct {
	name  string
	limit stint.Limit
	mode  stint.FailureMode
}

func newCompiler(o Options) *compiler {
	return &compiler{set: newSet(o), policies: make(map[policyKey]*stint.Policy), places: make(map[string]string)}
}

// done returns the set, or all that is wrong.
func (c *compiler) done() (*Set, error) {
	if err := c.faults.err(); err != nil {
		return nil, err
	}
	return c.set, nil
}

// file adds one file.
func (c *compiler) file(name string, data []byte) {
	c.set.files = append(c.set.files, name)
	c.reader = &reader{faults: &c.faults, file: name}
	root := c.reader.read(data)
	if root == nil {
		return
	}
	switch root.kind {
	case null:
		c.fault(root, "the file is empty", "write domain: NAME and descriptors: below it")
		return
	case mapping:
	default:
		c.fault(root, "the file is "+root.kind.String(), "write domain: NAME and descriptors: below it")
		return
	}
	f := c.fields(root, "domain", "descriptors")
	c.enter(root, f["domain"])
	c.way = c.way[:0]
	c.descriptors(f["descriptors"], &c.domain.root)
}

// fault adds a fault at a node of the file at hand.
func (c *compiler) fault(n *node, message, hint string) { c.reader.fault(n, message, hint) }

// place is where a node stands.
func (c *compiler) place(n *node) string {
	return fmt.Sprintf("%s:%d:%d", c.reader.file, n.line, n.column)
}

// enter opens the domain of a file. After a fault it opens one that is thrown away,
// so that the rest of the file is checked too.
func (c *compiler) enter(root, n *node) {
	c.domain = &Domain{set: c.set}
	if n == nil {
		c.fault(root, "no domain", "write domain: NAME at the top")
		return
	}
	name, ok := c.word(n, "domain")
	if !ok {
		return
	}
	known, there := c.set.domains[name]
	switch {
	case there && !c.set.options.MergeDomains:
		c.fault(n, fmt.Sprintf("the domain %s is there twice: first at %s", quote(name), c.places[name]), "write its descriptors into one file")
	case there:
		c.domain = known
	default:
		c.domain.name = name
		c.set.domains[name], c.places[name] = c.domain, c.place(n)
	}
}

// descriptors adds a list of descriptors below a node.
func (c *compiler) descriptors(n *node, below *branch) {
	switch {
	case n == nil || n.kind == null:
		return
	case n.kind != list:
		c.fault(n, "descriptors: "+n.shown(), "write a list: - key: NAME")
		return
	case len(c.way) >= MaxDepth:
		c.fault(n, fmt.Sprintf("descriptors nested more than %d deep", MaxDepth), "")
		return
	}
	for _, item := range n.items {
		if c.nodes++; c.nodes > MaxDescriptors {
			if c.nodes == MaxDescriptors+1 {
				c.fault(item, fmt.Sprintf("more than %d descriptors", MaxDescriptors), "use wildcards, or a key without a value")
			}
			return
		}
		c.descriptor(item, below)
	}
}

// descriptor adds one descriptor and what is in it.
func (c *compiler) descriptor(n *node, below *branch) {
	if n.kind != mapping {
		c.fault(n, "a descriptor is "+n.kind.String(), "write - key: NAME")
		return
	}
	f := c.fields(n, "key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode",
		"detailed_metric", "value_to_metric", "share_threshold", "metadata")
	s, ok := c.step(n, f)
	if !ok {
		return
	}
	share := c.flag(f, "share_threshold")
	if share && s.kind != wildStep {
		c.fault(f["share_threshold"], "share_threshold without a wildcard", `give the descriptor a value with one, such as value: "*"`)
	}
	at, fresh := below.put(s)
	if !fresh {
		what := "the key " + quote(s.key) + " without a value"
		if s.kind != anyStep {
			what = "the key " + quote(s.key) + " with the value " + quote(s.value)
		}
		c.fault(n, what+" is there twice: first at "+at.place, "write one of them")
		at = new(branch) // What is below is checked all the same.
	}
	at.place = c.place(n)
	if share {
		at.variable = false
	}
	c.way = append(c.way, s)
	at.rule = c.rateLimit(f)
	c.descriptors(f["descriptors"], at)
	c.way = c.way[:len(c.way)-1]
}

// step reads the key and the value of a descriptor.
func (c *compiler) step(n *node, f map[string]*node) (step, bool) {
	if f["key"] == nil {
		c.fault(n, "a descriptor without a key", "write key: NAME")
		return step{}, false
	}
	key, ok := c.word(f["key"], "key")
	s := step{key: key, kind: anyStep}
	v := f["value"]
	if v == nil || v.kind == null || v.isScalar() && v.raw == "" {
		return s, ok
	}
	value, valueOK := c.word(v, "value")
	s.value, s.kind = value, exactStep
	if strings.Contains(value, "*") {
		s.kind = wildStep
	}
	return s, ok && valueOK
}

// fields returns the fields of a mapping by name, and faults those it should not
// have and those that are there twice.
func (c *compiler) fields(n *node, known ...string) map[string]*node {
	f := make(map[string]*node, len(n.fields))
	for _, e := range n.fields {
		name := e.key.raw
		switch {
		case f[name] != nil:
			c.fault(e.key, name+" is there twice", "write one of them")
		case !slices.Contains(known, name):
			c.fault(e.key, "unknown field "+quote(name), elsewhere(name, known))
		default:
			f[name] = e.value
		}
	}
	return f
}

// elsewhere says what to write instead of a field that is not known here.
func elsewhere(name string, known []string) string {
	inLimit := slices.Contains(known, "requests_per_unit")
	switch name {
	case "unit", "requests_per_unit", "unlimited", "replaces", "name", "algorithm", "burst", "window", "unit_multiplier", "on_store_failure":
		if !inLimit {
			return "it belongs into rate_limit:"
		}
	case "shadow_mode", "quota_mode", "detailed_metric", "value_to_metric", "share_threshold", "descriptors", "key", "value":
		if inLimit {
			return "it belongs to the descriptor, beside rate_limit:"
		}
	case "domain":
		return "it belongs at the top of the file"
	}
	return didYouMean(name, known)
}
