package accesslog

import "strings"

// cutQuoted reads a quoted field at the beginning of s. A quote ends it only before a
// space or the end of the line, because some servers do not escape the quotes inside. It
// fails where s begins with no quote or the field does not end.
func cutQuoted(s string) (field, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", s, false
	}
	escaped := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			escaped = true
			i++
		case s[i] == '"' && (i+1 == len(s) || s[i+1] == ' '):
			field = s[1:i]
			if escaped {
				field = unescape(field)
			}
			return field, s[i+1:], true
		}
	}
	return "", s, false
}

// unescape undoes the escapes of Apache and nginx. What is no escape stays as it is.
func unescape(s string) string {
	next := strings.IndexByte(s, '\\')
	if next < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for next >= 0 {
		b.WriteString(s[:next])
		s = s[next:]
		c, n := escape(s)
		if n == 0 {
			c, n = '\\', 1
		}
		b.WriteByte(c)
		s = s[n:]
		next = strings.IndexByte(s, '\\')
	}
	b.WriteString(s)
	return b.String()
}

// escape reads the escape that s begins with and returns its length, 0 if it is none.
func escape(s string) (c byte, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return s[1], 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'v':
		return '\v', 2
	case 'x':
		if n, ok := hex(s[2:min(len(s), 4)]); ok && len(s) >= 4 {
			return byte(n), 4
		}
	}
	return 0, 0
}

func hex(s string) (n rune, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			n = n<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			n = n<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, s != ""
}
