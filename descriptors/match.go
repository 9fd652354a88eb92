package descriptors

import (
	"cmp"
	"slices"
	"strings"
)

// Entry is one key and value of a descriptor, as Envoy's messages have it.
type Entry interface {
	GetKey() string
	GetValue() string
}

// Domain is the tree of one domain. It is read only.
type Domain struct {
	name string
	root branch
	set  *Set
}

// Match finds the limit of a descriptor and appends its bucket's key to key. The
// rule is nil if the descriptor has no limit; key is then as it was.
func Match[E Entry](d *Domain, entries []E, key []byte) (*Rule, []byte) {
	at, from := &d.root, len(key)
	for i := range entries {
		value := entries[i].GetValue()
		at = at.child(entries[i].GetKey(), value)
		if at == nil {
			return nil, key[:from]
		}
		if at.variable {
			key = d.set.hasher.appendValue(key, value)
		}
	}
	if at.rule == nil {
		return nil, key[:from]
	}
	return at.rule, d.set.hasher.finish(key, from, &at.rule.id)
}

// branch is a node of a tree.
type branch struct {
	keys map[string]*choices
	rule *Rule
	// variable says that the value that matched is a part of the bucket's key.
	variable bool
	place    string // file:line:column
}

// choices are the nodes of one key at one level.
type choices struct {
	exact map[string]*branch
	wild  []*wildcard // in the order in which they are tried
	any   *branch

	patterns map[string]*branch // of wild
}

// child returns the node for an entry, nil if there is none.
func (b *branch) child(key, value string) *branch {
	c := b.keys[key]
	if c == nil {
		return nil
	}
	if found := c.exact[value]; found != nil {
		return found
	}
	if len(c.wild) > 0 && strings.Contains(value, "*") {
		if found := c.patterns[value]; found != nil {
			return found // its own text, whatever other patterns match it
		}
	}
	for _, w := range c.wild {
		if w.matches(value) {
			return w.branch
		}
	}
	return c.any
}

// wildcard is a node whose value has wildcards. Each stands for any text, also
// none.
type wildcard struct {
	*branch
	parts []string // the texts between the wildcards, at least two
	text  int      // bytes of all parts
}

func newWildcard(pattern string, b *branch) *wildcard {
	parts := strings.Split(pattern, "*")
	return &wildcard{branch: b, parts: parts, text: len(pattern) - len(parts) + 1}
}

func (w *wildcard) matches(value string) bool {
	first, last := w.parts[0], w.parts[len(w.parts)-1]
	if len(value) < len(first)+len(last) || !strings.HasPrefix(value, first) || !strings.HasSuffix(value, last) {
		return false
	}
	value = value[len(first) : len(value)-len(last)]
	for _, part := range w.parts[1 : len(w.parts)-1] {
		_, after, ok := strings.Cut(value, part)
		if !ok {
			return false
		}
		value = after
	}
	return true
}

// before says which of two wildcards is tried first: the one with the longest text
// before its first wildcard, then the one with more text, then the one that the file
// has first.
func (w *wildcard) before(v *wildcard) int {
	return cmp.Or(-cmp.Compare(len(w.parts[0]), len(v.parts[0])), -cmp.Compare(w.text, v.text))
}

// place returns where w belongs among wild: behind those that are tried before it
// and those that are equal.
func (w *wildcard) place(wild []*wildcard) int {
	i, _ := slices.BinarySearchFunc(wild, w, func(v, w *wildcard) int {
		return cmp.Or(v.before(w), -1)
	})
	return i
}

// put returns the node for s below b, which it makes if there is none. It reports
// whether it did.
func (b *branch) put(s step) (*branch, bool) {
	if b.keys == nil {
		b.keys = make(map[string]*choices)
	}
	c := b.keys[s.key]
	if c == nil {
		c = new(choices)
		b.keys[s.key] = c
	}
	fresh := &branch{variable: s.kind != exactStep}
	switch s.kind {
	case exactStep:
		if known := c.exact[s.value]; known != nil {
			return known, false
		}
		if c.exact == nil {
			c.exact = make(map[string]*branch)
		}
		c.exact[s.value] = fresh
	case wildStep:
		if known := c.patterns[s.value]; known != nil {
			return known, false
		}
		if c.patterns == nil {
			c.patterns = make(map[string]*branch)
		}
		c.patterns[s.value] = fresh
		w := newWildcard(s.value, fresh)
		c.wild = slices.Insert(c.wild, w.place(c.wild), w)
	default:
		if c.any != nil {
			return c.any, false
		}
		c.any = fresh
	}
	return fresh, true
}
