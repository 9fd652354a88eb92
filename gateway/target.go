package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/stint-dev/stint/internal/cleanpath"
)

// cleanTarget returns r with the one spelling of its path: the one that rules
// match, and that is forwarded. r itself is not changed. A target that can not
// be forwarded is a fault.
func cleanTarget(r *http.Request) (*http.Request, *problem) {
	u := r.URL
	switch {
	case r.Method == http.MethodConnect:
		return r, &problem{status: http.StatusMethodNotAllowed, detail: "The gateway opens no tunnels."}
	case u.Opaque != "", u.Path == "*" && r.Method != http.MethodOptions:
		return r, &problem{status: http.StatusBadRequest, detail: "The request target is not a path."}
	case !isHost(r.Host):
		return r, &problem{status: http.StatusBadRequest, detail: "The host is malformed."}
	case u.Path == "*", isClean(u):
		return r, nil
	}
	clean := cleanpath.Clean(escaped(u))
	path, err := url.PathUnescape(clean)
	if err != nil {
		return r, &problem{status: http.StatusBadRequest, detail: "The path is malformed."}
	}
	copied, cleanURL := *r, *u
	cleanURL.Path, cleanURL.RawPath = path, clean
	copied.URL = &cleanURL
	return &copied, nil
}

// isClean says, for the usual path, that nothing has to be done.
func isClean(u *url.URL) bool {
	if u.RawPath != "" {
		return false
	}
	for i := range len(u.Path) {
		if c := u.Path[i]; c != '/' && !isUnreserved(c) {
			return false
		}
	}
	return cleanpath.Clean(u.Path) == u.Path
}

// escaped returns the path as it was sent, with what a path can not hold, such as
// quotes and bytes above 127, escaped. net/url does the same on its way out, but
// from the decoded path: there a slash that was escaped is one no more.
func escaped(u *url.URL) string {
	raw := u.RawPath
	if raw == "" {
		return u.EscapedPath()
	}
	if path, err := url.PathUnescape(raw); err != nil || path != u.Path {
		return u.EscapedPath()
	}
	const digits = "0123456789ABCDEF"
	var b []byte
	for i := range len(raw) {
		c := raw[i]
		switch {
		case isPathByte(c):
			if b != nil {
				b = append(b, c)
			}
			continue
		case b == nil:
			b = append(make([]byte, 0, len(raw)+8), raw[:i]...)
		}
		b = append(b, '%', digits[c>>4], digits[c&15])
	}
	if b == nil {
		return raw
	}
	return string(b)
}

// isPathByte says whether net/url forwards c in an escaped path as it is.
func isPathByte(c byte) bool {
	return isUnreserved(c) || strings.IndexByte("/%!$&'()*+,;=:@[]", c) >= 0
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// isHost says whether a host holds only what hosts hold. Where the host comes
// from an absolute target, or from HTTP/2, the server did not look.
func isHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c >= 0x7f || c == '/' || c == '@' || c == ',' {
			return false
		}
	}
	return true
}
