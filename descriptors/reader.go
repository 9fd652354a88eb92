package descriptors

import (
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// newReader makes the reader of a file of descriptors.
func newReader(name string, found *yamlfile.Faults) *yamlfile.Reader {
	return &yamlfile.Reader{Faults: found, Name: name, Dialect: yamlfile.Dialect{
		Bounds: yamlfile.Bounds{
			Tokens: 1_500_000, TokensHint: "write it to several files",
			Depth:   4*MaxDepth + 16, // A descriptor is a list and a mapping.
			Entries: 1000,
		},
		OneDocument:  "write one domain to a file",
		Inside:       true,
		Scalar:       scalar,
		UnknownAlias: func(string) string { return starHint },
		Syntax:       syntax,
	}}
}

const starHint = `write a value that begins with * in quotes: value: "*"`

// scalar takes null and ~ for nothing written.
func scalar(n *node) {
	if n.Kind == yamlfile.Null {
		n.Raw, n.Value = "", ""
	}
}

// syntax puts an error of the YAML library into our words.
func syntax(_ string, e *yaml.SyntaxError) (shown, message, hint string) {
	if e.Token.Type == token.AliasType || strings.HasPrefix(strings.TrimSpace(e.Token.Origin), "*") {
		hint = starHint
	}
	return yamlfile.Cut(strings.TrimSpace(e.Token.Value)), "not YAML: " + yamlfile.Cut(strings.Join(strings.Fields(e.Message), " ")), hint
}
