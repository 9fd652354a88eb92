package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// Bounds of a rules file.
const (
	maxBytes   = 8 << 20
	maxTokens  = 2_000_000
	maxDepth   = 64
	maxEntries = 5000      // of one mapping in block style
	maxValues  = 1_000_000 // read, those repeated by aliases included
)

// reader reads the nodes of a rules file.
type reader struct {
	*faults
	env func(string) (string, bool)
}

// read returns the file's only document, nil if it cannot be read.
func (r *reader) read(data []byte) *node {
	y := yamlfile.Reader{Faults: r.faults, Name: r.File, Dialect: yamlfile.Dialect{
		Bounds: yamlfile.Bounds{
			Tokens: maxTokens, Depth: maxDepth, Entries: maxEntries,
			TokensHint:  fmt.Sprintf("at most %d words and signs", maxTokens),
			EntriesHint: "write long lists of keys into a CSV file: plans: { key: …, file: keys.csv }",
		},
		OneDocument:  "write one document to a file",
		Scalar:       r.scalar,
		UnknownAlias: unknownAlias,
		Syntax:       syntax,
	}}
	return y.Read(data)
}

// scalar puts the environment into a text.
func (r *reader) scalar(n *node) {
	if n.Kind != yamlfile.Text {
		return
	}
	if r.fill(n); n.Plain && !n.Filled && looksNumeric(n.Raw) {
		n.Kind = yamlfile.Number // The parser takes 1e6 and what passes 64 bits for text.
	}
}

func (r *reader) fill(n *node) {
	value, used, fault, part := fill(n.Raw, r.env)
	n.Value, n.Filled = value, used
	if fault == "" {
		return
	}
	hint := "write ${NAME}, or $${ for a plain ${"
	if strings.HasSuffix(fault, "is not set") {
		hint = "set it, or write ${NAME:-default}"
	}
	n.Value, n.Filled, n.Faulty = "", true, true
	part = yamlfile.Cut(part)
	r.Add(&Error{File: r.File, Line: n.Line, Column: n.Column, Text: part, Message: strconv.Quote(part) + ": " + fault, Hint: hint})
}

// unknownAlias says what to write instead of an alias of nothing.
func unknownAlias(name string) string {
	return "write text that begins with * in quotes, or &" + yamlfile.Cut(name) + " before the value that is meant"
}

// syntax puts an error of the YAML parser into our words.
func syntax(line string, e *yaml.SyntaxError) (shown, message, hint string) {
	shown, _, _ = strings.Cut(strings.TrimSpace(e.Token.Value), "\n")
	if strings.Contains(e.Message, "quoted") || !strings.Contains(line, shown) || utf8.RuneCountInString(shown) > 20 {
		shown = ""
	}
	if strings.HasPrefix(shown, "*") || strings.HasPrefix(e.Token.Origin, "*") || e.Token.Type == token.AliasType {
		return shown, "not YAML: a * that begins no name", "write text that begins with * in quotes"
	}
	if strings.HasSuffix(e.Message, "must be specified") && strings.Contains(line, "${") {
		hint = `write "${NAME}" in quotes where it is inside of { } or [ ]`
	}
	return shown, "not YAML: " + plainWords(e.Message), hint
}

// plainWords makes one lower-case line of the parser's message.
func plainWords(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	switch {
	case strings.HasPrefix(message, "could not find end character of"):
		return strings.Replace(message, "could not find end character of", "no end of the", 1)
	case message == "mapping value is not allowed in this context":
		return `a second ": " in one value, check the indentation of the next line or write text with a colon in quotes`
	case message == "value is not allowed in this context", message == "non-map value is specified":
		return "this does not belong here, check the indentation"
	}
	return yamlfile.Cut(message)
}
