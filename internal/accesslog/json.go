package accesslog

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// object walks the members of a JSON object, in place. It reads what servers write rather
// than what the standard allows: an escape such as \x22 in a string, and a bare word, a
// hyphen or nothing at all for a value, as a format without JSON escaping produces them.
type object struct {
	text   string // What is not read yet, from the opening brace.
	begun  bool
	broken bool
	key    string
	value  value
}

type kind byte

const (
	absent kind = iota
	str
	bare
	composite // An object or an array, with its brackets; only they and its strings are read.
)

// value is a JSON value in the text of its line.
type value struct {
	text    string // A string without its quotes, still escaped.
	kind    kind
	escaped bool
}

// isObject says whether v is an object, and no array.
func (v value) isObject() bool { return v.kind == composite && v.text[0] == '{' }

// string returns the text of a string or a number, and nothing for anything else.
func (v value) string() string {
	switch {
	case v.kind == composite, v.kind == bare && v.text == "null":
		return ""
	case v.escaped:
		return unquote(v.text)
	}
	return v.text
}

// next reads a member into o. At the end it returns false, and the object was well-formed
// unless o.broken is set.
func (o *object) next() bool {
	if o.broken || !o.separator('{', '}') {
		return false
	}
	key, ok := o.quoted()
	o.text = trimSpace(o.text)
	if !ok || !strings.HasPrefix(o.text, ":") {
		return o.fail()
	}
	o.text = trimSpace(o.text[1:])
	o.key, o.value = key.string(), o.read()
	return !o.broken
}

// element reads an element of an array into o.value.
func (o *object) element() bool {
	if o.broken || !o.separator('[', ']') {
		return false
	}
	o.value = o.read()
	return !o.broken
}

// separator reads the opening bracket, a comma or the closing bracket, and reports whether
// something follows.
func (o *object) separator(opening, closing byte) bool {
	o.text = trimSpace(o.text)
	if o.text == "" {
		return o.fail()
	}
	c := o.text[0]
	if !o.begun {
		if c != opening {
			return o.fail()
		}
		o.begun = true
		o.text = trimSpace(o.text[1:])
		if o.text != "" && o.text[0] != closing {
			return true
		}
		c = closing
	}
	switch {
	case o.text == "":
		return o.fail()
	case c == closing:
		o.text = o.text[1:]
		return false
	case c != ',':
		return o.fail()
	}
	o.text = trimSpace(o.text[1:])
	return true
}

func (o *object) fail() bool {
	o.broken = true
	return false
}

func (o *object) read() value {
	if o.text == "" {
		o.fail()
		return value{}
	}
	switch o.text[0] {
	case '"':
		v, ok := o.quoted()
		o.broken = !ok
		return v
	case '{', '[':
		return o.nested()
	}
	i := 0
	for i < len(o.text) && strings.IndexByte(",]} \t", o.text[i]) < 0 {
		if c := o.text[i]; c == '"' || c == ':' || c == '{' || c == '[' {
			o.fail()
			return value{}
		}
		i++
	}
	v := value{kind: bare, text: o.text[:i]}
	o.text = o.text[i:]
	return v
}

func (o *object) quoted() (value, bool) {
	if !strings.HasPrefix(o.text, `"`) {
		return value{}, false
	}
	s := o.text[1:]
	end := strings.IndexByte(s, '"')
	if end < 0 {
		return value{}, false
	}
	escaped := strings.IndexByte(s[:end], '\\') >= 0
	if escaped {
		if end = closing(s); end < 0 {
			return value{}, false
		}
	}
	o.text = s[end+1:]
	return value{kind: str, text: s[:end], escaped: escaped}, true
}

// closing finds the quote that ends a string with escapes.
func closing(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// nested reads an object or an array as a whole, however deep it is.
func (o *object) nested() value {
	whole := o.text
	for depth := 0; o.text != ""; {
		switch o.text[0] {
		case '"':
			if _, ok := o.quoted(); !ok {
				o.fail()
				return value{}
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		o.text = o.text[1:]
		if depth == 0 {
			return value{kind: composite, text: whole[:len(whole)-len(o.text)]}
		}
	}
	o.fail()
	return value{}
}

func trimSpace(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t' || s[0] == '\r' || s[0] == '\n') {
		s = s[1:]
	}
	return s
}

// unquote undoes the escapes of JSON, and \x22.
func unquote(s string) string {
	out := make([]byte, 0, len(s))
	for s != "" {
		next := strings.IndexByte(s, '\\')
		if next < 0 {
			next = len(s)
		}
		out, s = append(out, s[:next]...), s[next:]
		if s == "" {
			break
		}
		if r, n := unicodeEscape(s); n > 0 {
			out, s = utf8.AppendRune(out, r), s[n:]
			continue
		}
		c, n := escape(s)
		if n == 0 {
			c, n = '\\', 1
		}
		out, s = append(out, c), s[n:]
	}
	return string(out)
}

// unicodeEscape reads \u0026 or a pair of surrogates and returns its length, 0 if there is
// none.
func unicodeEscape(s string) (r rune, n int) {
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := unit(s[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func unit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	return hex(s[2:6])
}
