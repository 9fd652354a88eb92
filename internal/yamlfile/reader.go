package yamlfile

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

// Reader turns the bytes of one file into nodes.
type Reader struct {
	// Faults takes what is wrong with the file.
	*Faults
	// Name is the file's name in Faults.
	Name string
	// Dialect is the kind of file. All its functions are needed.
	Dialect Dialect

	anchors map[string]*Node
	merged  int
}

// Read returns the file's only document, nil if it cannot be read. A node may be
// returned beside faults of what is in it. An empty document is a null.
func (r *Reader) Read(data []byte) *Node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !r.checkBytes(data) {
		return nil
	}
	src := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	tokens, err := tokenize(src)
	if err != nil {
		r.syntax(src, err)
		return nil
	}
	if message, hint, at := (&walk{Dialect: &r.Dialect}).check(tokens); at != nil {
		r.at(at.Position, "", message, hint)
		return nil
	}
	file, err := parse(tokens)
	if err != nil {
		r.syntax(src, err)
		return nil
	}
	return r.document(file)
}

// Fault adds a fault of n, and marks it.
func (r *Reader) Fault(n *Node, message, hint string) {
	n.Faulty = true
	r.Add(&Error{File: r.Name, Line: n.Line, Column: n.Column, Text: n.Source(), Message: message, Hint: hint})
}

// checkBytes refuses what is no text, and what has more signs of YAML than it may have
// tokens: those would be made before they are counted, and take far more room than the
// file.
func (r *Reader) checkBytes(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.Add(&Error{File: r.Name, Line: 1, Column: 1, Message: "the file is UTF-16", Hint: "save it as UTF-8"})
		return false
	}
	line, column, signs := 1, 1, 0
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			r.Add(&Error{File: r.Name, Line: line, Column: column, Message: fmt.Sprintf("the byte %#02x is no UTF-8", data[i]), Hint: "save the file as UTF-8"})
			return false
		}
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			r.Add(&Error{File: r.Name, Line: line, Column: column, Message: fmt.Sprintf("the control character %#02x", c), Hint: "leave it out"})
			return false
		}
		if isSign(data[i:]) {
			if signs++; signs > r.Dialect.Bounds.Tokens {
				r.Add(&Error{File: r.Name, Line: line, Column: column, Message: tooMuch, Hint: r.Dialect.Bounds.TokensHint})
				return false
			}
		}
		i += size
		column++
		if c == '\n' || c == '\r' && !bytes.HasPrefix(data[i:], []byte("\n")) {
			line, column = line+1, 1
		}
	}
	return true
}

// isSign says whether a token may begin or end at the first byte of s, other than at
// a line's end. It may say so of a byte in a quoted text.
func isSign(s []byte) bool {
	switch s[0] {
	case '[', ']', '{', '}', ',', '\'', '"', '&', '*', '!':
		return true
	case '-', ':', '?':
		return len(s) == 1 || s[1] == ' ' || s[1] == '\n' || s[1] == '\r' || s[1] == '\t'
	}
	return false
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

func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errNotYAML
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// syntax reports an error of the YAML library in our form.
func (r *Reader) syntax(src string, err error) {
	var se *yaml.SyntaxError
	if !errors.As(err, &se) || se.Token == nil || se.Token.Position == nil {
		r.Add(&Error{File: r.Name, Line: 1, Column: 1, Message: "the file is not YAML"})
		return
	}
	at := *se.Token.Position
	line := lineOf(src, at.Line)
	if strings.Contains(se.Message, "'\t'") {
		if column := 1 + strings.IndexByte(line, '\t'); column > 0 {
			at.Column = column
		}
		r.at(&at, "", "a tab in the indentation", "write spaces")
		return
	}
	shown, message, hint := r.Dialect.Syntax(line, se)
	r.at(&at, shown, message, hint)
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
func (r *Reader) at(p *token.Position, shown, message, hint string) {
	r.Add(&Error{File: r.Name, Line: max(p.Line, 1), Column: max(p.Column, 1), Text: shown, Message: message, Hint: hint})
}

// document returns the only document of the file.
func (r *Reader) document(file *ast.File) *Node {
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body == nil:
			body = doc.Body
		case r.Dialect.Inside || doc.Start == nil:
			r.at(doc.Body.GetToken().Position, "", "a second document", r.Dialect.OneDocument)
			return nil
		default:
			r.at(doc.Start.Position, "---", "a second document", r.Dialect.OneDocument)
			return nil
		}
	}
	return r.node(body)
}
