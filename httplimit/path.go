package httplimit

import (
	"net/url"
	"strings"
)

// rawPath returns the path that u stands for as it was sent, escapes included.
// u decides, since that is what handlers see: target, the request target, is
// only read where it says the same, which spares escaping the path again.
func rawPath(u *url.URL, target string) string {
	switch {
	case u.RawPath == "" && isPlain(u.Path):
		return u.Path
	case u.RawPath != "" && decodesTo(u.RawPath, u.Path):
		return u.RawPath
	}
	if strings.HasPrefix(target, "/") {
		target, _, _ = strings.Cut(target, "?")
		if decodesTo(target, u.Path) {
			return target
		}
	}
	return u.EscapedPath()
}

// isPlain says whether a path is its own escaped form, as [url.URL.EscapedPath]
// escapes where nothing says how the path was sent.
func isPlain(path string) bool {
	for i := range len(path) {
		if !plainBytes[path[i]] {
			return false
		}
	}
	return true
}

// plainBytes are those that net/url leaves as they are in a path.
var plainBytes = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
	}
	for _, c := range []byte("/-._~$&+,:;=@") {
		plain[c] = true
	}
	return plain
}()

// decodesTo says whether raw is an escaped form of path.
func decodesTo(raw, path string) bool {
	n := 0
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '%' {
			var ok bool
			if c, ok = unhex(raw[i:]); !ok {
				return false
			}
			i += 2
		}
		if n == len(path) || path[n] != c {
			return false
		}
		n++
	}
	return n == len(path)
}

// unhex decodes the escape at the start of s.
func unhex(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, ok1 := hexDigit(s[1])
	low, ok2 := hexDigit(s[2])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
