package rules

import "github.com/stint-dev/stint/internal/cleanpath"

// spelling is how paths are compared.
//
// A path that is compared is one that package cleanpath cleaned, and then some: a
// byte has one spelling in it, whether it came as it is or as an escape. That is
// the byte itself where a segment can hold it, else the escape. Servers route
// both alike, and a rule that knew one of them only would be escaped by the other.
// A path that is forwarded keeps the difference, since some servers read it.
//
// A star is always an escape, so that it is no wildcard. Slashes, backslashes and
// percent signs that came as escapes stay what they are: data in a segment.
type spelling struct {
	fold   bool // without regard to case
	strict bool // a slash at the end is a difference
}

// clean returns the spelling of path that patterns and keys use. It begins with a
// slash, and allocates only if path has another spelling.
func (s spelling) clean(path string) string {
	path = cleanpath.Clean(path)
	if path[0] != '/' {
		path = "/" + path // The target * of a server-wide OPTIONS.
	}
	return s.compared(s.trim(path))
}

// trim takes off the slash at the end that means nothing.
func (s spelling) trim(path string) string {
	if n := len(path) - 1; !s.strict && n > 0 && path[n] == '/' {
		return path[:n]
	}
	return path
}

// compared returns the one spelling of a clean path, or of a part of one.
func (s spelling) compared(path string) string {
	for i := range len(path) {
		if kind := byteKinds[path[i]]; kind != plainByte && (kind != percentByte || isRespelled(path[i:])) {
			path = respell(path, i)
			break
		}
	}
	if s.fold {
		path = lower(path)
	}
	return path
}

// respell spells path anew from i on.
func respell(path string, i int) string {
	const digits = "0123456789ABCDEF"
	b := append(make([]byte, 0, len(path)+16), path[:i]...)
	for ; i < len(path); i++ {
		switch c := path[i]; {
		case byteKinds[c] == foreignByte:
			b = append(b, '%', digits[c>>4], digits[c&15])
		case c == '%' && isRespelled(path[i:]):
			b = append(b, unhex(path[i+1])<<4|unhex(path[i+2]))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// isRespelled says whether the percent sign at the start of s begins an escape of
// what a segment can hold as it is. Unreserved characters are not escaped in a
// clean path, but for what follows a stray percent sign.
func isRespelled(s string) bool {
	if !isEscape(s) {
		return false
	}
	switch unhex(s[1])<<4 | unhex(s[2]) {
	case '!', '$', '&', '\'', '(', ')', '+', ',', ';', '=', ':', '@':
		return true
	}
	return false
}

// byteKind is how a byte of a path is spelled.
type byteKind uint8

const (
	foreignByte byteKind = iota // as an escape
	plainByte                   // as it is
	percentByte                 // begins an escape, or is a stray
)

// byteKinds are the kinds of all bytes.
var byteKinds = kindsOfBytes()

func kindsOfBytes() (kinds [256]byteKind) {
	for c := range kinds {
		if '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			kinds[c] = plainByte
		}
	}
	for _, c := range []byte("/-._~!$&'()+,;=:@") {
		kinds[c] = plainByte
	}
	kinds['%'] = percentByte
	return kinds
}

func isEscape(s string) bool {
	return len(s) >= 3 && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' || 'a' <= c && c <= 'f'
}

// unhex is the value of a hex digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// lower returns s with the letters A to Z in lower case.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
