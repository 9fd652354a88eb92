package httplimit

import (
	"net/url"
	"strings"
)

// maxParams is the number of query parameters from which net/url reads none.
const maxParams = 10_000

// queryValue returns the first value of a query parameter, as net/url would: a
// pair with a semicolon or a broken escape does not count.
func queryValue(query, name string) (string, bool) {
	if len(query) >= maxParams && strings.Count(query, "&") >= maxParams {
		return "", false
	}
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" || strings.IndexByte(pair, ';') >= 0 {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		if !queryDecodesTo(key, name) {
			continue
		}
		if strings.IndexByte(value, '%') < 0 && strings.IndexByte(value, '+') < 0 {
			return value, true
		}
		if value, err := url.QueryUnescape(value); err == nil {
			return value, true
		}
	}
	return "", false
}

// queryDecodesTo says whether raw is an escaped form of name.
func queryDecodesTo(raw, name string) bool {
	n := 0
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			var ok bool
			if c, ok = unhex(raw[i:]); !ok {
				return false
			}
			i += 2
		}
		if n == len(name) || name[n] != c {
			return false
		}
		n++
	}
	return n == len(name)
}
