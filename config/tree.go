package config

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// node turns a piece of the parser's tree into a node. It never returns nil.
func (r *reader) node(a ast.Node) *node {
	switch a := a.(type) {
	case nil:
		return &node{kind: null, line: 1, column: 1}
	case *ast.MappingNode:
		return r.mapping(a.GetToken(), a.IsFlowStyle, a.Values)
	case *ast.MappingValueNode:
		return r.mapping(a.GetToken(), false, []*ast.MappingValueNode{a})
	case *ast.SequenceNode:
		n := placed(list, a.GetToken())
		for _, item := range a.Values {
			n.items = append(n.items, r.node(item))
		}
		return n
	case *ast.AnchorNode:
		n := r.node(a.Value)
		if r.anchors == nil {
			r.anchors = make(map[string]*node)
		}
		r.anchors[a.Name.GetToken().Value] = n
		return n
	case *ast.AliasNode:
		return r.alias(a)
	case *ast.MappingKeyNode:
		return r.node(a.Value)
	case *ast.LiteralNode:
		n := placed(text, a.GetToken())
		n.raw = a.Value.Value
		r.fill(n)
		return n
	}
	return r.scalar(a)
}

// scalar turns a single value into a node.
func (r *reader) scalar(a ast.Node) *node {
	t := a.GetToken()
	n := placed(text, t)
	n.raw, n.value, n.plain = t.Value, t.Value, true
	switch a.(type) {
	case *ast.NullNode:
		n.kind = null
		if t.Type == token.ImplicitNullType {
			n.raw, n.value = "", ""
		}
	case *ast.BoolNode:
		n.kind = boolean
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind = number
	case *ast.StringNode, *ast.MergeKeyNode:
		n.plain = t.Type != token.SingleQuoteType && t.Type != token.DoubleQuoteType
		if r.fill(n); n.plain && !n.filled && looksNumeric(n.raw) {
			n.kind = number // The parser takes 1e6 and what passes 64 bits for text.
		}
	default:
		r.at(t.Position, "", "this kind of YAML is not used here", "write a mapping, a list or a single value")
	}
	return n
}

// placed makes a node at a token.
func placed(k kind, t *token.Token) *node {
	n := &node{kind: k, line: 1, column: 1}
	if t != nil && t.Position != nil {
		n.line, n.column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return n
}

// fill puts the environment into a text.
func (r *reader) fill(n *node) {
	value, used, fault, part := fill(n.raw, r.env)
	n.value, n.filled = value, used
	if fault == "" {
		return
	}
	hint := "write ${NAME}, or $${ for a plain ${"
	if strings.HasSuffix(fault, "is not set") {
		hint = "set it, or write ${NAME:-default}"
	}
	n.value, n.filled, n.faulty = "", true, true
	r.add(&Error{File: r.file, Line: n.line, Column: n.column, Text: cut(part), Message: strconv.Quote(cut(part)) + ": " + fault, Hint: hint})
}

// mapping turns entries into a node.
func (r *reader) mapping(t *token.Token, flow bool, values []*ast.MappingValueNode) *node {
	n := placed(mapping, t)
	var merges []*node
	for _, v := range values {
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			merges = append(merges, r.node(v.Value))
			continue
		}
		key := r.node(v.Key)
		if !key.isScalar() {
			key.faulty = true
			r.add(&Error{File: r.file, Line: key.line, Column: key.column, Message: "a field's name is " + key.kind.String(), Hint: "write a word"})
			continue
		}
		value := r.node(v.Value)
		if value.kind == null && value.raw == "" {
			value.line, value.column = key.line, key.column // Nothing is written there.
		}
		n.fields = append(n.fields, field{key, value})
	}
	if !flow && len(n.fields) > 0 {
		n.line, n.column = n.fields[0].key.line, n.fields[0].key.column
	}
	for _, m := range merges {
		r.merge(n, m)
	}
	return n
}

// merge adds to n the fields of m that n does not have.
func (r *reader) merge(n, m *node) {
	if m.kind == list {
		for _, item := range m.items {
			if item.kind == list {
				r.badMerge(item)
				continue
			}
			r.merge(n, item)
		}
		return
	}
	if m.kind != mapping {
		r.badMerge(m)
		return
	}
	if r.merged += len(n.fields) + len(m.fields); r.merged > maxValues {
		r.add(&Error{File: r.file, Line: n.line, Column: n.column, Message: "<< repeats too much", Hint: "write it out"})
		return
	}
	have := make(map[string]bool, len(n.fields))
	for _, f := range n.fields {
		have[f.key.value] = true
	}
	for _, f := range m.fields {
		if !have[f.key.value] {
			n.fields = append(n.fields, f)
		}
	}
}

func (r *reader) badMerge(n *node) {
	n.faulty = true
	r.add(&Error{File: r.file, Line: n.line, Column: n.column, Text: n.source(), Message: "<<" + n.shown() + " is " + n.kind.String(), Hint: "write the alias of a mapping: <<: *name"})
}

// alias returns the node that an alias stands for. A node that holds the alias
// itself is not known yet, so nothing goes round in circles.
func (r *reader) alias(a *ast.AliasNode) *node {
	t := a.Value.GetToken()
	if n := r.anchors[t.Value]; n != nil {
		return n
	}
	n := placed(null, a.GetToken())
	n.faulty = true
	r.add(&Error{File: r.file, Line: n.line, Column: n.column, Text: cut("*" + t.Value), Message: strconv.Quote(cut("*"+t.Value)) + ": nothing before it is called so", Hint: "write text that begins with * in quotes, or &" + cut(t.Value) + " before the value that is meant"})
	return n
}
