package yamlfile

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// node turns a piece of the parser's tree into a node. It never returns nil.
func (r *Reader) node(a ast.Node) *Node {
	switch a := a.(type) {
	case nil:
		return &Node{Kind: Null, Line: 1, Column: 1}
	case *ast.MappingNode:
		return r.mapping(a.GetToken(), a.IsFlowStyle && !r.Dialect.Inside, a.Values)
	case *ast.MappingValueNode:
		return r.mapping(a.GetToken(), false, []*ast.MappingValueNode{a})
	case *ast.SequenceNode:
		n := placed(List, a.GetToken())
		for _, item := range a.Values {
			n.Items = append(n.Items, r.node(item))
		}
		return n
	case *ast.AnchorNode:
		n := r.node(a.Value)
		if r.anchors == nil {
			r.anchors = make(map[string]*Node)
		}
		r.anchors[a.Name.GetToken().Value] = n
		return n
	case *ast.AliasNode:
		return r.alias(a)
	case *ast.MappingKeyNode:
		return r.node(a.Value)
	case *ast.LiteralNode:
		n := placed(Text, a.GetToken())
		n.Raw, n.Value = a.Value.Value, a.Value.Value
		r.Dialect.Scalar(n)
		return n
	}
	return r.scalar(a)
}

// scalar turns a single value into a node.
func (r *Reader) scalar(a ast.Node) *Node {
	t := a.GetToken()
	n := placed(Text, t)
	if t == nil {
		return n
	}
	n.Raw, n.Value, n.Plain = t.Value, t.Value, true
	switch a.(type) {
	case *ast.NullNode:
		n.Kind = Null
		if t.Type == token.ImplicitNullType {
			n.Raw, n.Value = "", ""
		}
	case *ast.BoolNode:
		n.Kind = Boolean
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.Kind = Number
	case *ast.StringNode, *ast.MergeKeyNode:
		n.Plain = t.Type != token.SingleQuoteType && t.Type != token.DoubleQuoteType
	default:
		r.at(t.Position, "", "this kind of YAML is not used here", "write a mapping, a list or a single value")
		return n
	}
	r.Dialect.Scalar(n)
	return n
}

// placed makes a node at a token.
func placed(k Kind, t *token.Token) *Node {
	n := &Node{Kind: k, Line: 1, Column: 1}
	if t != nil && t.Position != nil {
		n.Line, n.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return n
}

// mapping turns entries into a node. Unless it is braced, it stands at its first
// key.
func (r *Reader) mapping(t *token.Token, braced bool, values []*ast.MappingValueNode) *Node {
	n := placed(Mapping, t)
	var merges []*Node
	for _, v := range values {
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			merges = append(merges, r.node(v.Value))
			continue
		}
		key := r.node(v.Key)
		if !key.IsScalar() {
			r.Fault(key, "a field's name is "+key.Kind.String(), "write a word")
			continue
		}
		value := r.node(v.Value)
		if value.Kind == Null && value.Raw == "" {
			value.Line, value.Column = key.Line, key.Column // Nothing is written there.
		}
		n.Fields = append(n.Fields, Field{key, value})
	}
	if !braced && len(n.Fields) > 0 {
		n.Line, n.Column = n.Fields[0].Key.Line, n.Fields[0].Key.Column
	}
	for _, m := range merges {
		r.merge(n, m)
	}
	return n
}

// merge adds to n the fields of m that n does not have.
func (r *Reader) merge(n, m *Node) {
	if m.Kind == List {
		for _, item := range m.Items {
			if item.Kind == List {
				r.badMerge(item)
				continue
			}
			r.merge(n, item)
		}
		return
	}
	if m.Kind != Mapping {
		r.badMerge(m)
		return
	}
	if r.merged += len(n.Fields) + len(m.Fields); r.merged > maxMerged {
		r.Fault(n, "<< repeats too much", "write it out")
		return
	}
	have := make(map[string]bool, len(n.Fields))
	for _, f := range n.Fields {
		have[f.Key.Value] = true
	}
	for _, f := range m.Fields {
		if !have[f.Key.Value] {
			n.Fields = append(n.Fields, f)
		}
	}
}

func (r *Reader) badMerge(n *Node) {
	r.Fault(n, "<<"+n.Shown()+" is "+n.Kind.String(), "write the alias of a mapping: <<: *name")
}

// alias returns the node that an alias stands for. A node that holds the alias
// itself is not known yet, so nothing goes round in circles.
func (r *Reader) alias(a *ast.AliasNode) *Node {
	name := a.Value.GetToken().Value
	if n := r.anchors[name]; n != nil {
		return n
	}
	n := placed(Null, a.GetToken())
	n.Faulty = true
	r.Add(&Error{
		File: r.Name, Line: n.Line, Column: n.Column, Text: Cut("*" + name),
		Message: Quote("*"+name) + ": nothing before it is called so", Hint: r.Dialect.UnknownAlias(name),
	})
	return n
}
