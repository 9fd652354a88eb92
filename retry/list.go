package retry

import (
	"strconv"
	"strings"
)

// Bounds of what is read of a structured field.
const (
	maxFieldBytes = 8 << 10
	maxMembers    = 64
)

// member is one of a list of structured fields (RFC 9651), as far as rate fields
// need them: a string with parameters, or a key with a value.
type member struct {
	name     string
	isString bool
	value    string // of a key
	params   []param
}

type param struct{ key, value string }

// number returns a parameter that is an integer and not negative.
func (m *member) number(key string) (int64, bool) {
	for _, p := range m.params {
		if p.key == key {
			if !isDigits(p.value) {
				return 0, false
			}
			n, err := strconv.ParseInt(p.value, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// parseList splits a list. A list with anything unreadable in it is none.
func parseList(s string) ([]member, bool) {
	if len(s) > maxFieldBytes {
		return nil, false
	}
	var list []member
	for rest := s; ; {
		part, tail, more := cutOutside(rest, ',')
		if part = strings.Trim(part, " \t"); part != "" {
			m, ok := parseMember(part)
			if !ok || len(list) == maxMembers {
				return nil, false
			}
			list = append(list, m)
		}
		if !more {
			return list, true
		}
		rest = tail
	}
}

func parseMember(s string) (member, bool) {
	head, rest, more := cutOutside(s, ';')
	head = strings.Trim(head, " \t")
	var m member
	if strings.HasPrefix(head, `"`) {
		name, ok := unquote(head)
		if !ok {
			return m, false
		}
		m.name, m.isString = name, true
	} else {
		m.name, m.value, _ = strings.Cut(head, "=")
	}
	for more {
		var p string
		p, rest, more = cutOutside(rest, ';')
		key, value, _ := strings.Cut(strings.Trim(p, " \t"), "=")
		m.params = append(m.params, param{key, value})
	}
	return m, m.name != "" || m.isString
}

// cutOutside cuts s at the first sep that stands outside of quotes.
func cutOutside(s string, sep byte) (before, after string, found bool) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// unquote reads a String.
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", false
	}
	var b []byte
	for i := 1; i < len(s)-1; i++ {
		c := s[i]
		switch c {
		case '"':
			return "", false
		case '\\':
			i++
			if i == len(s)-1 {
				return "", false
			}
			c = s[i]
		}
		b = append(b, c)
	}
	return string(b), true
}
