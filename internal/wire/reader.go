package wire

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reader reads JSON (RFC 8259). It never goes deeper than the calls that read it,
// but for skip, which bounds itself. Strings without escapes are parts of text.
type reader struct {
	text    string
	i       int
	lenient bool // members that are not known are skipped
}

// begin makes text, which has to be UTF-8, what is read.
func (r *reader) begin(text string) *Error {
	r.text, r.i = text, 0
	if !utf8.ValidString(text) {
		return r.fault("the text is not UTF-8")
	}
	return nil
}

// fault is an error about what stands at the reader's place.
func (r *reader) fault(format string, args ...any) *Error {
	return &Error{Detail: fmt.Sprintf(format, args...)}
}

// peek returns the next character that is no white space, 0 at the end.
func (r *reader) peek() byte {
	for ; r.i < len(r.text); r.i++ {
		switch c := r.text[r.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// accept goes past c if it is next.
func (r *reader) accept(c byte) bool {
	if r.peek() != c || r.i == len(r.text) {
		return false
	}
	r.i++
	return true
}

// broken says what stands where something else had to.
func (r *reader) broken(want string) *Error {
	if r.peek() == 0 && r.i >= len(r.text) {
		return r.fault("the JSON ends where %s has to be", want)
	}
	return r.fault("no JSON at byte %d: %s has to be there", r.i, want)
}

// end checks that nothing follows.
func (r *reader) end() *Error {
	if r.peek(); r.i < len(r.text) {
		return r.fault("something follows the JSON at byte %d: send one value", r.i)
	}
	return nil
}

// kind names the value that is next, for errors.
func (r *reader) kind() string {
	switch c := r.peek(); {
	case c == '{':
		return "an object"
	case c == '[':
		return "a list"
	case c == '"':
		return "a string"
	case c == 't' || c == 'f':
		return "a boolean"
	case c == 'n':
		return "null"
	case c == '-' || '0' <= c && c <= '9':
		return "a number"
	}
	return "no value"
}

// object reads an object; each reads the value of a member.
func (r *reader) object(want string, each func(name string) *Error) *Error {
	if !r.accept('{') {
		return r.fault("%s has to be an object, this is %s", want, r.kind())
	}
	if r.accept('}') {
		return nil
	}
	for {
		if r.peek() != '"' {
			return r.broken("the name of a member")
		}
		name, err := r.str("a name")
		if err != nil {
			return err
		}
		if !r.accept(':') {
			return r.broken("a colon").in(cut(name))
		}
		if err := each(name); err != nil {
			return err.in(cut(name))
		}
		if r.accept('}') {
			return nil
		}
		if !r.accept(',') {
			return r.broken("a comma or }")
		}
	}
}

// cut bounds a made-up name in a pointer.
func cut(name string) string {
	const most = 120
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// fields reads an object that may have the members called names, each once; read
// gets the number of the name.
func (r *reader) fields(want string, names []string, read func(i int) *Error) *Error {
	var seen uint64
	return r.object(want, func(name string) *Error {
		i := slices.Index(names, name)
		switch {
		case i >= 0 && seen&(1<<i) != 0:
			return r.fault("the member is there twice")
		case i >= 0:
			seen |= 1 << i
			return read(i)
		case r.lenient:
			return r.skip(0)
		}
		return r.fault("%s has no member %s: write %s", want, quoted(name), oneOf(names))
	})
}

// oneOf lists names for an error.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// list reads a list of at most most elements.
func (r *reader) list(want string, most int, each func(i int) *Error) *Error {
	if !r.accept('[') {
		return r.fault("%s has to be a list, this is %s", want, r.kind())
	}
	if r.accept(']') {
		return nil
	}
	for i := 0; ; i++ {
		if i == most {
			return r.fault("more than %d elements: send at most that many", most)
		}
		if err := each(i); err != nil {
			return err.at(i)
		}
		if r.accept(']') {
			return nil
		}
		if !r.accept(',') {
			return r.broken("a comma or ]")
		}
	}
}

// str reads a string.
func (r *reader) str(want string) (string, *Error) {
	if !r.accept('"') {
		return "", r.fault("%s has to be a string, this is %s", want, r.kind())
	}
	start := r.i
	for r.i < len(r.text) {
		switch c := r.text[r.i]; {
		case c == '"':
			r.i++
			return r.text[start : r.i-1], nil
		case c == '\\':
			return r.escaped(r.text[start:r.i])
		case c < ' ':
			return "", r.fault(`a control character in a string at byte %d: write it as \u%04x`, r.i, c)
		}
		r.i++
	}
	return "", r.broken("the end of a string")
}

// escaped reads the rest of a string from its first backslash on.
func (r *reader) escaped(head string) (string, *Error) {
	b := append(make([]byte, 0, len(head)+32), head...)
	for r.i < len(r.text) {
		c := r.text[r.i]
		switch {
		case c == '"':
			r.i++
			return string(b), nil
		case c < ' ':
			return "", r.fault(`a control character in a string at byte %d: write it as \u%04x`, r.i, c)
		case c != '\\':
			b = append(b, c)
			r.i++
			continue
		}
		var ok bool
		if b, ok = r.escape(b); !ok {
			return "", r.fault("a broken escape at byte %d", r.i)
		}
	}
	return "", r.broken("the end of a string")
}

// escape reads one escape.
func (r *reader) escape(b []byte) ([]byte, bool) {
	if r.i+1 >= len(r.text) {
		return b, false
	}
	const letters, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := r.text[r.i+1]
	if i := strings.IndexByte(letters, c); i >= 0 {
		r.i += 2
		return append(b, meaning[i]), true
	}
	one, ok := r.unit()
	if !ok {
		return b, false
	}
	if utf16.IsSurrogate(one) {
		two, ok := r.unit()
		if one = utf16.DecodeRune(one, two); !ok || one == utf8.RuneError {
			return b, false
		}
	}
	return utf8.AppendRune(b, one), true
}

// unit reads \u and four digits.
func (r *reader) unit() (rune, bool) {
	if rest := r.text[r.i:]; len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(r.text[r.i+2:r.i+6], 16, 16)
	if err != nil {
		return 0, false
	}
	r.i += 6
	return rune(n), true
}

// boolean reads true or false.
func (r *reader) boolean() (bool, *Error) {
	r.peek()
	for _, word := range [...]string{"true", "false"} {
		if strings.HasPrefix(r.text[r.i:], word) {
			r.i += len(word)
			return word == "true", nil
		}
	}
	return false, r.fault("true or false has to be there, this is %s", r.kind())
}

// null goes past null if it is next.
func (r *reader) null() bool {
	if r.peek() == 'n' && strings.HasPrefix(r.text[r.i:], "null") {
		r.i += len("null")
		return true
	}
	return false
}

// number returns the text of a number.
func (r *reader) number(want string) (string, *Error) {
	if r.kind() != "a number" {
		return "", r.fault("%s has to be a number, this is %s", want, r.kind())
	}
	start := r.i
	if r.text[r.i] == '-' {
		r.i++
	}
	whole := r.digits()
	ok := whole == 1 || whole > 1 && r.text[r.i-whole] != '0'
	if ok && r.i < len(r.text) && r.text[r.i] == '.' {
		r.i++
		ok = r.digits() > 0
	}
	if ok && r.i < len(r.text) && (r.text[r.i] == 'e' || r.text[r.i] == 'E') {
		if r.i++; r.i < len(r.text) && (r.text[r.i] == '+' || r.text[r.i] == '-') {
			r.i++
		}
		ok = r.digits() > 0
	}
	if !ok {
		return "", r.fault("a broken number at byte %d", r.i)
	}
	return r.text[start:r.i], nil
}

// digits goes past digits and says how many there were.
func (r *reader) digits() int {
	start := r.i
	for r.i < len(r.text) && '0' <= r.text[r.i] && r.text[r.i] <= '9' {
		r.i++
	}
	return r.i - start
}

// integer reads a whole number, written without a fraction or an exponent.
func (r *reader) integer(want string) (int64, *Error) {
	text, err := r.number(want)
	if err != nil {
		return 0, err
	}
	if len(text) > 40 {
		text = text[:40] + "…"
	}
	if strings.ContainsAny(text, ".eE") {
		return 0, r.fault("%s is no whole number: write one such as 1", text)
	}
	n, bad := strconv.ParseInt(text, 10, 64)
	if bad != nil {
		return 0, r.fault("%s is out of range: at most %d", text, int64(math.MaxInt64))
	}
	return n, nil
}

// maxDepth is how deep a value may be that is skipped.
const maxDepth = 32

// skip goes past a value.
func (r *reader) skip(depth int) *Error {
	if depth > maxDepth {
		return r.fault("more than %d values inside of each other", maxDepth)
	}
	switch r.kind() {
	case "an object":
		return r.object("", func(string) *Error { return r.skip(depth + 1) })
	case "a list":
		return r.list("", math.MaxInt, func(int) *Error { return r.skip(depth + 1) })
	case "a string":
		_, err := r.str("")
		return err
	case "a boolean":
		_, err := r.boolean()
		return err
	case "a number":
		_, err := r.number("")
		return err
	case "null":
		if r.null() {
			return nil
		}
	}
	return r.broken("a value")
}
