package config

import (
	"strconv"
	"unicode/utf8"
)

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

// node is one value of a file with its place. Nodes may be shared where the file
// uses aliases, and are not changed once they are read, but for hidden and
// faulty.
type node struct {
	kind         kind
	raw          string // a scalar as written, without quotes
	value        string // raw after the environment was filled in
	filled       bool   // the environment has a part in value
	plain        bool   // not in quotes
	hidden       bool   // a secret: shown nowhere
	faulty       bool   // something was said about it
	line, column int
	items        []*node
	fields       []field
}

// field is one entry of a mapping.
type field struct{ key, value *node }

// names of kinds, with their article.
func (k kind) String() string {
	switch k {
	case null:
		return "empty"
	case boolean:
		return "a boolean"
	case number:
		return "a number"
	case text:
		return "text"
	case list:
		return "a list"
	default:
		return "a mapping"
	}
}

// isScalar says whether n is a single value.
func (n *node) isScalar() bool { return n.kind < list }

// hide keeps n and all below it out of messages.
func (n *node) hide() {
	if n.hidden {
		return
	}
	n.hidden = true
	for _, item := range n.items {
		item.hide()
	}
	for _, f := range n.fields {
		f.key.hide()
		f.value.hide()
	}
}

// maxShown is the most characters of a file's text that a message repeats.
const maxShown = 60

// cut shortens s to maxShown characters.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown-1]) + "…"
}

// source is n as an Error's Text.
func (n *node) source() string {
	if n.hidden || !n.isScalar() {
		return ""
	}
	return cut(n.raw)
}

// shown is n in a message, with a space before it: text in quotes, nothing for
// what is secret or not a single value.
func (n *node) shown() string {
	switch {
	case n.hidden || !n.isScalar() || n.kind == null:
		return ""
	case n.kind == text:
		return " " + strconv.Quote(cut(n.raw))
	default:
		return " " + cut(n.raw)
	}
}

// find returns the value of the field called name, nil if there is none.
func (n *node) find(name string) *node {
	for _, f := range n.fields {
		if f.key.value == name {
			return f.value
		}
	}
	return nil
}

// anyFaulty says whether something was said about n or about what is in it.
func (n *node) anyFaulty(seen map[*node]bool) bool {
	if n == nil || seen[n] {
		return false
	}
	if n.faulty {
		return true
	}
	seen[n] = true
	for _, item := range n.items {
		if item.anyFaulty(seen) {
			return true
		}
	}
	for _, f := range n.fields {
		if f.key.anyFaulty(seen) || f.value.anyFaulty(seen) {
			return true
		}
	}
	return false
}
