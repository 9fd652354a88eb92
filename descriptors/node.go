package descriptors

import "strconv"

// kind is what a node is in YAML.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	mapping
)

// String names the kind, with its article.
func (k kind) String() string {
	return [...]string{"empty", "a boolean", "a number", "text", "a list", "a mapping"}[k]
}

// node is one value of a file with its place. Nodes may be shared where the file
// uses aliases, and are not changed once they are read.
type node struct {
	kind         kind
	raw          string // a scalar, without quotes
	plain        bool   // not in quotes
	line, column int
	items        []*node
	fields       []field
}

// field is one entry of a mapping.
type field struct{ key, value *node }

// isScalar says whether n is a single value.
func (n *node) isScalar() bool { return n.kind < list }

// source is n as an Error's Text.
func (n *node) source() string {
	if !n.isScalar() {
		return ""
	}
	return cut(n.raw)
}

// shown is n in a message: a single value as it is, in quotes if it is text, else
// what it is.
func (n *node) shown() string {
	switch n.kind {
	case boolean, number:
		return cut(n.raw)
	case text:
		return strconv.Quote(cut(n.raw))
	}
	return n.kind.String()
}
