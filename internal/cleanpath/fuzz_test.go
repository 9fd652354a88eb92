package cleanpath

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"", "*", "/", "/a/b/", "//host/x", "/a/%2e%2e/b", "/%2e%2e%2fa", "/a/..;/b", "/a/..", "/a/.",
		"/%zz", "/%2", "/%%36%31", "/%2%46", "/a//../b", "/api/%6Cogin", "/%C3%a9", "/a\x00b", "a/../..", "/%252e",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := Clean(path)
		if again := Clean(got); again != got {
			t.Fatalf("Clean(%q) = %q, but cleaned again it is %q", path, got, again)
		}
		if path == "*" {
			return
		}
		if again := rewrite(path); again != got {
			t.Fatalf("Clean(%q) = %q, but rewriting it gives %q", path, got, again)
		}
		checkShape(t, got)
		if want := referenceSegments(path); !slices.Equal(segments(got), want) {
			t.Fatalf("Clean(%q) = %q with segments %q, want %q", path, got, segments(got), want)
		}
	})
}

// checkShape fails unless path begins with a slash and holds neither an empty
// segment nor a dot segment, however it is written.
func checkShape(t *testing.T, path string) {
	t.Helper()
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") {
		t.Fatalf("%q: no slash in front, or two in a row", path)
	}
	for seg := range strings.SplitSeq(path, "/") {
		if dots := strings.NewReplacer("%2e", ".", "%2E", ".").Replace(seg); dots == "." || dots == ".." {
			t.Fatalf("%q: a dot segment is left", path)
		}
	}
}

// segments returns the segments of a clean path, decoded where they can be.
func segments(path string) []string {
	var out []string
	for seg := range strings.SplitSeq(path, "/") {
		if seg != "" {
			out = append(out, unescape(seg))
		}
	}
	return out
}

// referenceSegments returns the decoded segments of any path, resolved the
// slow and obvious way: split first, then decode, then walk.
func referenceSegments(path string) []string {
	var out []string
	for seg := range strings.SplitSeq(path, "/") {
		switch seg = unescape(seg); seg {
		case "", ".":
		case "..":
			out = out[:max(len(out)-1, 0)]
		default:
			out = append(out, seg)
		}
	}
	return out
}

// unescape decodes seg piece by piece, and keeps what net/url calls no escape.
func unescape(seg string) string {
	var out strings.Builder
	for i := 0; i < len(seg); {
		n := min(3, len(seg)-i)
		if s, err := url.PathUnescape(seg[i : i+n]); seg[i] == '%' && err == nil {
			out.WriteString(s)
			i += n
			continue
		}
		out.WriteByte(seg[i])
		i++
	}
	return out.String()
}
