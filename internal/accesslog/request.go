package accesslog

import "strings"

// setRequest reads a request line. What is no request line, such as the hello of another
// protocol, leaves method, path and protocol empty.
func (e *Entry) setRequest(line string) {
	method, rest, _ := strings.Cut(line, " ")
	rest = strings.Trim(rest, " ")
	proto := ""
	if i := strings.LastIndexByte(rest, ' '); i >= 0 && strings.HasPrefix(rest[i+1:], "HTTP/") {
		rest, proto = strings.TrimRight(rest[:i], " "), rest[i+1:]
	}
	if isToken(method) && isTarget(method, rest) {
		e.Method, e.Path, e.Proto = method, rest, proto
	}
}

// isTarget tells the four forms a request target has from anything else.
func isTarget(method, s string) bool {
	return s != "" && (s[0] == '/' || s == "*" || method == "CONNECT" || strings.Contains(s, "://"))
}

func isToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// statusOf reads a status; 0 where there is none.
func statusOf(s string) int {
	if len(s) != 3 || s[0] < '1' || !isNumber(s) {
		return 0
	}
	return int(s[0]-'0')*100 + int(s[1]-'0')*10 + int(s[2]-'0')
}
