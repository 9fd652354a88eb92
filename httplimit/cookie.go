package httplimit

import "strings"

// maxCookies is the number of cookies above which net/http reads none.
const maxCookies = 3_000

// cookieValue returns the first value of a cookie, as net/http would: one with a
// byte that a cookie may not hold does not count, and quotes are taken off.
func cookieValue(lines []string, name string) (string, bool) {
	if name == "" || tooManyCookies(lines) {
		return "", false
	}
	for _, line := range lines {
		for line != "" {
			var part string
			part, line, _ = strings.Cut(line, ";")
			key, value, _ := strings.Cut(trimBlanks(part), "=")
			if trimBlanks(key) != name {
				continue
			}
			if value, ok := cookieText(value); ok {
				return value, true
			}
		}
	}
	return "", false
}

func tooManyCookies(lines []string) bool {
	n, bytes := 0, 0
	for _, line := range lines {
		bytes += len(line) + 1
	}
	if bytes <= maxCookies {
		return false
	}
	for _, line := range lines {
		n += strings.Count(line, ";") + 1
	}
	return n > maxCookies
}

// cookieText returns a cookie's value without its quotes.
func cookieText(s string) (string, bool) {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == ';' || c == '\\' {
			return "", false
		}
	}
	return s, true
}

// trimBlanks takes white space off both ends, as net/textproto does.
func trimBlanks(s string) string { return strings.Trim(s, " \t\n\r") }
