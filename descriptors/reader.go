package descriptors

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

// reader turns the bytes of one file into nodes.
type reader struct {
	*faults
	file    string
	anchors map[string]*node
	merged  int
}

// read returns the file's only document, nil if something is wrong with it.
func (r *reader) read(data []byte) *node {
	before := len(r.list)
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !r.checkBytes(data) {
		return nil
	}
	src := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	tokens, err := tokenize(src)
	if err != nil {
		r.syntax(err)
		return nil
	}
	if message, hint, at := new(bounds).check(tokens); at != nil {
		r.at(at.Position, "", message, hint)
		return nil
	}
	file, err := parseTokens(tokens)
	if err != nil {
		r.syntax(err)
		return nil
	}
	n := r.document(file)
	if len(r.list) > before {
		return nil
	}
	return n
}

// checkBytes refuses what is no text.
func (r *reader) checkBytes(data []byte) bool {
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
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return true
}

// errNotYAML stands for a panic of the YAML library, which is given anybody's
// file.
var errNotYAML = errors.New("not readable as YAML")

func tokenize(src string) (tokens token.Tokens, err error) {
	defer func() {
		if recover() != nil {
			tokens, err = nil, errNotYAML
		}
	}()
	return lexer.Tokenize(src), nil
}

func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errNotYAML
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// syntax reports an error of the YAML library in our form.
func (r *reader) syntax(err error) {
	var se *yaml.SyntaxError
	if !errors.As(err, &se) || se.Token == nil || se.Token.Position == nil {
		r.add(&Error{File: r.file, Line: 1, Column: 1, Message: "the file is not YAML"})
		return
	}
	if strings.Contains(se.Message, "'\t'") {
		r.at(se.Token.Position, "", "a tab in the indentation", "write spaces")
		return
	}
	hint := ""
	if se.Token.Type == token.AliasType || strings.HasPrefix(strings.TrimSpace(se.Token.Origin), "*") {
		hint = `write a value that begins with * in quotes: value: "*"`
	}
	r.at(se.Token.Position, cut(strings.TrimSpace(se.Token.Value)), "not YAML: "+cut(strings.Join(strings.Fields(se.Message), " ")), hint)
}

// at adds a fault at a token's position.
func (r *reader) at(p *token.Position, shown, message, hint string) {
	r.add(&Error{File: r.file, Line: max(p.Line, 1), Column: max(p.Column, 1), Text: shown, Message: message, Hint: hint})
}

// document returns the only document of the file.
func (r *reader) document(file *ast.File) *node {
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			r.at(doc.Body.GetToken().Position, "", "a second document", "write one domain to a file")
			return nil
		}
		body = doc.Body
	}
	return r.node(body)
}
