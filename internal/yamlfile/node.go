package yamlfile

// Kind is what a node is in YAML.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Boolean
	Number
	Text
	List
	Mapping
)

// String names the kind, with its article.
func (k Kind) String() string {
	switch k {
	case Null:
		return "empty"
	case Boolean:
		return "a boolean"
	case Number:
		return "a number"
	case Text:
		return "text"
	case List:
		return "a list"
	default:
		return "a mapping"
	}
}

// Node is one value of a file with its place. Nodes may be shared where the file
// uses aliases, and are not changed once they are read, but for Hidden and Faulty.
type Node struct {
	Kind         Kind
	Raw          string // a scalar as written, without quotes
	Value        string // Raw, or what a [Dialect] makes of it
	Filled       bool   // a Dialect put something into Value that is not written
	Plain        bool   // not in quotes
	Hidden       bool   // a secret: shown nowhere
	Faulty       bool   // something was said about it
	Line, Column int    // from 1, the column in characters
	Items        []*Node
	Fields       []Field
}

// Field is one entry of a mapping.
type Field struct{ Key, Value *Node }

// IsScalar says whether n is a single value.
func (n *Node) IsScalar() bool { return n.Kind < List }

// Hide keeps n and all below it out of messages.
func (n *Node) Hide() {
	if n.Hidden {
		return
	}
	n.Hidden = true
	for _, item := range n.Items {
		item.Hide()
	}
	for _, f := range n.Fields {
		f.Key.Hide()
		f.Value.Hide()
	}
}

// Source is n as an [Error]'s Text.
func (n *Node) Source() string {
	if n.Hidden || !n.IsScalar() {
		return ""
	}
	return Cut(n.Raw)
}

// Shown is n in a message, with a space before it: text in quotes, nothing for
// what is secret or not a single value.
func (n *Node) Shown() string {
	switch {
	case n.Hidden || !n.IsScalar() || n.Kind == Null:
		return ""
	case n.Kind == Text:
		return " " + Quote(n.Raw)
	default:
		return " " + Cut(n.Raw)
	}
}

// Find returns the value of the field called name, nil if there is none.
func (n *Node) Find(name string) *Node {
	for _, f := range n.Fields {
		if f.Key.Value == name {
			return f.Value
		}
	}
	return nil
}
