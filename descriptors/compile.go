package descriptors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/yamlfile"
)

// compiler builds a set, file by file.
type compiler struct {
	faults   yamlfile.Faults
	set      *Set
	policies map[policyKey]*stint.Policy
	places   map[string]string // of domains
	nodes    int
	values   int

	reader *yamlfile.Reader // of the file at hand
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
	if len(c.faults.List) > 0 {
		return nil, c.faults.Sorted()
	}
	return c.set, nil
}

// file adds one file.
func (c *compiler) file(name string, data []byte) {
	c.set.files = append(c.set.files, name)
	c.reader = newReader(name, &c.faults)
	before := len(c.faults.List)
	root := c.reader.Read(data)
	if root == nil || len(c.faults.List) > before {
		return
	}
	switch root.Kind {
	case yamlfile.Null:
		c.fault(root, "the file is empty", "write domain: NAME and descriptors: below it")
		return
	case yamlfile.Mapping:
	default:
		c.fault(root, "the file is "+root.Kind.String(), "write domain: NAME and descriptors: below it")
		return
	}
	f := c.fields(root, "domain", "descriptors")
	c.enter(root, f["domain"])
	c.way = c.way[:0]
	c.descriptors(f["descriptors"], &c.domain.root)
}

// fault adds a fault at a node of the file at hand.
func (c *compiler) fault(n *node, message, hint string) { c.reader.Fault(n, message, hint) }

// place is where a node stands.
func (c *compiler) place(n *node) string {
	return fmt.Sprintf("%s:%d:%d", c.reader.Name, n.Line, n.Column)
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
		c.fault(n, fmt.Sprintf("the domain %s is there twice: first at %s", yamlfile.Quote(name), c.places[name]), "write its descriptors into one file")
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
	case n == nil || n.Kind == yamlfile.Null:
		return
	case n.Kind != yamlfile.List:
		c.fault(n, "descriptors: "+shown(n), "write a list: - key: NAME")
		return
	case len(c.way) >= MaxDepth:
		c.fault(n, fmt.Sprintf("descriptors nested more than %d deep", MaxDepth), "")
		return
	}
	for _, item := range n.Items {
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
	if n.Kind != yamlfile.Mapping {
		c.fault(n, "a descriptor is "+n.Kind.String(), "write - key: NAME")
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
		what := "the key " + yamlfile.Quote(s.key) + " without a value"
		if s.kind != anyStep {
			what = "the key " + yamlfile.Quote(s.key) + " with the value " + yamlfile.Quote(s.value)
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
	if v == nil || v.Kind == yamlfile.Null || v.IsScalar() && v.Raw == "" {
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
	f := make(map[string]*node, len(n.Fields))
	for _, e := range n.Fields {
		name := e.Key.Raw
		switch {
		case f[name] != nil:
			c.fault(e.Key, name+" is there twice", "write one of them")
		case !slices.Contains(known, name):
			c.fault(e.Key, "unknown field "+yamlfile.Quote(name), elsewhere(name, known))
		default:
			f[name] = e.Value
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
