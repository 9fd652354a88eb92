package descriptors

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// node turns a piece of the parser's tree into a node. It never returns nil.
func (r *reader) node(a ast.Node) *node {
	switch a := a.(type) {
	case nil:
		return &node{kind: null, line: 1, column: 1}
	case *ast.MappingNode:
		return r.mapping(a.GetToken(), a.Values)
	case *ast.MappingValueNode:
		return r.mapping(a.GetToken(), []*ast.MappingValueNode{a})
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
		return n
	}
	return r.scalar(a)
}

// scalar turns a single value into a node.
func (r *reader) scalar(a ast.Node) *node {
	t := a.GetToken()
	n := placed(text, t)
	if t == nil {
		return n
	}
	n.raw, n.plain = t.Value, true
	switch a.(type) {
	case *ast.NullNode:
		n.kind, n.raw = null, ""
	case *ast.BoolNode:
		n.kind = boolean
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind = number
	case *ast.StringNode, *ast.MergeKeyNode:
		n.plain = t.Type != token.SingleQuoteType && t.Type != token.DoubleQuoteType
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

// mapping turns entries into a node. It stands at its first key.
func (r *reader) mapping(t *token.Token, values []*ast.MappingValueNode) *node {
	n := placed(mapping, t)
	var merges []*node
	for _, v := range values {
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			merges = append(merges, r.node(v.Value))
			continue
		}
		key := r.node(v.Key)
		if !key.isScalar() {
			r.fault(key, "a field's name is "+key.kind.String(), "write a word")
			continue
		}
		value := r.node(v.Value)
		if value.kind == null {
			value.line, value.column = key.line, key.column // Nothing is written there.
		}
		n.fields = append(n.fields, field{key, value})
	}
	if len(n.fields) > 0 {
		n.line, n.column = n.fields[0].key.line, n.fields[0].key.column
	}
	for _, m := range merges {
		r.merge(n, m, true)
	}
	return n
}

// maxMerged bounds the fields that << copies in one file.
const maxMerged = 100_000

// merge adds to n the fields of m that n does not have.
func (r *reader) merge(n, m *node, lists bool) {
	if m.kind == list && lists {
		for _, item := range m.items {
			r.merge(n, item, false)
		}
		return
	}
	if m.kind != mapping {
		r.fault(m, "<< "+m.shown(), "write the alias of a mapping: <<: *name")
		return
	}
	if r.merged += len(m.fields); r.merged > maxMerged {
		r.fault(n, "<< repeats too much", "write it out")
		return
	}
	have := make(map[string]bool, len(n.fields))
	for _, f := range n.fields {
		have[f.key.raw] = true
	}
	for _, f := range m.fields {
		if !have[f.key.raw] {
			n.fields = append(n.fields, f)
		}
	}
}

// alias returns the node that an alias stands for. A node that holds the alias
// itself is not known yet, so nothing goes round in circles.
func (r *reader) alias(a *ast.AliasNode) *node {
	name := a.Value.GetToken().Value
	if n := r.anchors[name]; n != nil {
		return n
	}
	n := placed(null, a.GetToken())
	r.add(&Error{File: r.file, Line: n.line, Column: n.column, Text: cut("*" + name), Message: quote("*"+name) + ": nothing before it is called so", Hint: `write a value that begins with * in quotes: value: "*"`})
	return n
}

// fault adds a fault at a node.
func (r *reader) fault(n *node, message, hint string) {
	r.add(&Error{File: r.file, Line: n.line, Column: n.column, Text: n.source(), Message: message, Hint: hint})
}
