// Package cleanpath gives each path of a request one spelling.
//
// A rule for /api/login must also hold for //api/login, /api/./login and
// /api/%6Cogin. Cleaning comes before matching, and whoever forwards the
// request forwards the clean path, so that no spelling reaches an upstream
// past its rule.
//
// What is data stays data:
//
//   - %2F and %5C stay encoded. They are a slash or a backslash inside a
//     segment, not a separator: /files/a%2Fb has two segments, and
//     /..%2Fa holds no dot segment. The same goes for every other escape of
//     a reserved character, and for %25, so nothing is decoded twice. Rules may
//     compare a path in still fewer spellings; this is the one that is forwarded.
//   - A semicolon is an ordinary character. /a/..;/b keeps its segment "..;",
//     as RFC 3986 says; put no upstream that cuts path parameters off before
//     it resolves dot segments behind rules for paths.
//   - Letter case is kept, and so is a trailing slash: /a and /a/ are two
//     clean paths, and matching decides whether they are one rule.
package cleanpath

import "strings"

// stackPath is the length up to which an unclean path is rewritten on the
// stack, so that only the result is allocated.
const stackPath = 256

// Clean returns the one spelling of path, which is the raw, escaped path of a
// request target: what stands before the query, for an absolute-form target
// without scheme and host.
//
// In this order: escapes of unreserved characters (letters, digits, "-", ".",
// "_", "~") are decoded, and other escapes get upper-case digits; runs of
// slashes become one; the segments "." and ".." are resolved, never above the
// root. An empty segment is no segment: /a//../b is /b.
//
// The result begins with a slash; "" becomes "/". The target "*" of a
// server-wide OPTIONS request stays "*". The result ends with a slash where
// path does, or where its last segment is "." or "..". A percent sign that
// begins no escape is kept, and so is an escape behind it which, decoded,
// could complete one. Bytes that a path may not hold, such as spaces, controls
// and "#", are kept as they are: refusing them is not cleaning.
//
// Clean(Clean(p)) is Clean(p). A clean path is returned as it is, without
// allocation. The work is linear in the length of path.
func Clean(path string) string {
	if path == "*" || isClean(path) {
		return path
	}
	return rewrite(path)
}

// isClean reports whether path is its own clean spelling. It may say no to a
// clean path that keeps an escape behind a stray percent sign, never yes to an
// unclean one.
func isClean(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		switch path[i] {
		case '/':
			if rest := path[i+1:]; rest != "" && (rest[0] == '/' || rest[0] == '.' && isDots(rest)) {
				return false
			}
		case '%':
			if rest := path[i:]; isEscape(rest) && !isKept(rest) {
				return false
			}
		}
	}
	return true
}

// isDots reports whether the first segment of rest is "." or "..".
func isDots(rest string) bool {
	seg, _, _ := strings.Cut(rest, "/")
	return seg == "." || seg == ".."
}

// isKept reports whether cleaning keeps the escape at the start of s as it is.
func isKept(s string) bool {
	return !isLower(s[1]) && !isLower(s[2]) && !isUnreserved(decode(s))
}

// rewrite spells path anew. Between two segments, out ends with a slash.
func rewrite(path string) string {
	var stack [stackPath]byte
	out := stack[:0]
	if len(path) >= stackPath {
		out = make([]byte, 0, len(path)+1)
	}
	out = append(out, '/')
	for rest, more := path, true; more; {
		var seg string
		seg, rest, more = strings.Cut(rest, "/")
		if seg == "" {
			continue
		}
		start := len(out)
		out = appendSegment(out, seg)
		switch string(out[start:]) {
		case ".":
			out = out[:start]
		case "..":
			out = parent(out[:start])
		default:
			if more {
				out = append(out, '/')
			}
		}
	}
	return string(out)
}

// parent cuts the last segment off out, which ends with a slash; the root is
// its own parent.
func parent(out []byte) []byte {
	end := len(out) - 1
	for end > 0 && out[end-1] != '/' {
		end--
	}
	return out[:max(end, 1)]
}
