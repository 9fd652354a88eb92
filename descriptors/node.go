package descriptors

import "github.com/stint-dev/stint/internal/yamlfile"

// node is one value of a file.
type node = yamlfile.Node

// shown is n in a message: a single value as it is, in quotes if it is text, else
// what it is.
func shown(n *node) string {
	switch n.Kind {
	case yamlfile.Boolean, yamlfile.Number:
		return yamlfile.Cut(n.Raw)
	case yamlfile.Text:
		return yamlfile.Quote(n.Raw)
	}
	return n.Kind.String()
}
