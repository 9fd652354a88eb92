package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// reader turns the bytes of a file into nodes.
type reader struct {
	*faults
	env     func(string) (string, bool)
	anchors map[string]*node
	merged  int
}

// read returns the file's only document, nil if something is wrong with it. An
// empty document is a null.
func (r *reader) read(data []byte) *node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !r.checkBytes(data) {
		return nil
	}
	src := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	tokens := lexer.Tokenize(src)
	if message, hint, at := new(bounds).check(tokens); at != nil {
		r.at(at.Position, "", message, hint)
		return nil
	}
	file, err := parseTokens(tokens)
	if err != nil {
		r.syntax(src, err)
		return nil
	}
	return r.document(file)
}

// checkBytes refuses what is no text.
func (r *reader) checkBytes(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.add(&Error{File: r.file, Line: 1, Column: 1, Message: "the file is UTF-16", Hint: "save it as UTF-8"})
		return false
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			r.add(&Error{File: r.file, Line: line, Column: column, Message: fmt.Sprintf("the byte %#02x is no UTF-8", data[i]), Hint: "save the file as UTF-8"})
			return false
		}
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			r.add(&Error{File: r.file, Line: line, Column: column, Message: fmt.Sprintf("the control character %#02x", c), Hint: "leave it out"})
			return false
		}
		i += size
		column++
		if c == '\n' || c == '\r' && !bytes.HasPrefix(data[i:], []byte("\n")) {
			line, column = line+1, 1
		}
	}
	return true
}

// parseTokens is the YAML parser, whose panics are errors here: what it is given
// is anybody's file.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errors.New("not readable as YAML")
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// syntax reports an error of the YAML parser in our form.
func (r *reader) syntax(src string, err error) {
	var se *yaml.SyntaxError
	if !errors.As(err, &se) || se.Token == nil || se.Token.Position == nil {
		r.add(&Error{File: r.file, Line: 1, Column: 1, Message: "the file is not YAML"})
		return
	}
	at := *se.Token.Position
	if strings.Contains(se.Message, "'\t'") {
		if column := tabColumn(src, at.Line); column > 0 {
			at.Column = column
		}
		r.at(&at, "", "a tab in the indentation", "write spaces")
		return
	}
	shown, _, _ := strings.Cut(strings.TrimSpace(se.Token.Value), "\n")
	if strings.Contains(se.Message, "quoted") || !strings.Contains(lineOf(src, at.Line), shown) || utf8.RuneCountInString(shown) > 20 {
		shown = ""
	}
	if strings.HasPrefix(shown, "*") || strings.HasPrefix(se.Token.Origin, "*") || se.Token.Type == token.AliasType {
		r.at(&at, shown, "not YAML: a * that begins no name", "write text that begins with * in quotes")
		return
	}
	hint := ""
	if strings.HasSuffix(se.Message, "must be specified") && strings.Contains(lineOf(src, at.Line), "${") {
		hint = `write "${NAME}" in quotes where it is inside of { } or [ ]`
	}
	r.at(&at, shown, "not YAML: "+plainWords(se.Message), hint)
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
	return cut(message)
}

// tabColumn is the column of the first tab in a line of src, 0 if it has none.
func tabColumn(src string, line int) int {
	return 1 + strings.IndexByte(lineOf(src, line), '\t')
}

// lineOf is a line of src, from 1.
func lineOf(src string, line int) string {
	for ; line > 1; line-- {
		_, src, _ = strings.Cut(src, "\n")
	}
	src, _, _ = strings.Cut(src, "\n")
	return src
}

// at adds a fault at a token's position.
func (r *reader) at(p *token.Position, shown, message, hint string) {
	r.add(&Error{File: r.file, Line: p.Line, Column: max(p.Column, 1), Text: shown, Message: message, Hint: hint})
}

// document returns the only document of the file.
func (r *reader) document(file *ast.File) *node {
	var body ast.Node
	for i, doc := range file.Docs {
		if i > 0 && doc.Body != nil {
			place := doc.Body.GetToken().Position
			if doc.Start != nil {
				place = doc.Start.Position
			}
			r.at(place, "---", "a second document", "write one document to a file")
			return nil
		}
		if i == 0 {
			body = doc.Body
		}
	}
	before := len(r.list)
	n := r.node(body)
	if len(r.list) > before && n == nil {
		return nil
	}
	return n
}
