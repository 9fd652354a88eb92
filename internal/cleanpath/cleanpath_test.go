package cleanpath

import (
	"strings"
	"testing"
)

func wantClean(t *testing.T, in, want string) {
	t.Helper()
	got := Clean(in)
	if got != want {
		t.Errorf("Clean(%q) = %q, want %q", in, got, want)
	}
	if again := Clean(got); again != got {
		t.Errorf("Clean(%q) = %q, but cleaned again it is %q", in, got, again)
	}
}

func TestC090OneSpellingForEachPath(t *testing.T) {
	for _, target := range []string{
		"/api/login",
		"//api/login",
		"/api//login",
		"/api/./login",
		"/api/x/../login",
		"/api/%6Cogin",
		"/api/%6cogin",
		"/%61%70%69/login",
		"/api/%2E/login",
		"/api/x/%2e%2E/login",
		"/../api/login",
		"///.//api/y/z/../../login",
	} {
		wantClean(t, target, "/api/login")
	}
}

func TestC090TrailingSlashAndCaseAreLeftToMatching(t *testing.T) {
	wantClean(t, "/api/login/", "/api/login/")
	wantClean(t, "/api/login//", "/api/login/")
	wantClean(t, "/API/login", "/API/login")
}

func TestCleanPathsStay(t *testing.T) {
	for _, path := range []string{
		"/", "*", "/a", "/a/", "/a/b.c/~d/_e-f", "/a;v=1/b,c", "/a:b@c", "/.a", "/..a", "/...", "/a./b..",
		"/%2F", "/%20x%C3%A9", "/%25", "/a b", "/é", "/a%", "/%zz", "/%2", "/a\\b", "/a#",
	} {
		wantClean(t, path, path)
	}
}

func TestDotSegments(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/.", "/"},
		{"/..", "/"},
		{"/./", "/"},
		{"/../", "/"},
		{"/../..", "/"},
		{"/../../a", "/a"},
		{"/a/.", "/a/"},
		{"/a/..", "/"},
		{"/a/b/..", "/a/"},
		{"/a/b/../", "/a/"},
		{"/a/b/c/../../d", "/a/d"},
		{"/a/../../b", "/b"},
		{"/a/%2e%2e/b", "/b"},
		{"/a/.%2e/b", "/b"},
		{"/a/%2e./b", "/b"},
		{"/a/%2E", "/a/"},
		{"/a/b/%2E%2e", "/a/"},
		{".", "/"},
		{"..", "/"},
		{"../a", "/a"},
	} {
		wantClean(t, c.in, c.want)
	}
}

func TestSlashes(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "/"},
		{"//", "/"},
		{"///", "/"},
		{"a", "/a"},
		{"a/b/", "/a/b/"},
		{"//host/x", "/host/x"},
		{"/a//", "/a/"},
		{"/a//b", "/a/b"},
		{"/a//../b", "/b"},
		{"/a/.//b", "/a/b"},
		{"*/", "/*/"},
		{"/*", "/*"},
	} {
		wantClean(t, c.in, c.want)
	}
}

func TestEscapedSeparatorsAreData(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/a%2fb", "/a%2Fb"},
		{"/a%5cb", "/a%5Cb"},
		{"/%2e%2e%2fa", "/..%2Fa"},
		{"/a/..%2f", "/a/..%2F"},
		{"/a/..%5c../b", "/a/..%5C../b"},
		{"/%2f%2f", "/%2F%2F"},
		{"/a/..;/b", "/a/..;/b"},
		{"/a/%2e%2e;x/b", "/a/..;x/b"},
		{"/a%3fb", "/a%3Fb"},
		{"/a%3bb", "/a%3Bb"},
		{"/%00", "/%00"},
		{"/%2561", "/%2561"},
		{"/%252e%252e/a", "/%252e%252e/a"},
	} {
		wantClean(t, c.in, c.want)
	}
}

func TestEscapesHaveOneSpelling(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/%41%5a%61%7a%30%39%2d%2e%5f%7e", "/AZaz09-._~"},
		{"/%c3%a9", "/%C3%A9"},
		{"/%c3%A9", "/%C3%A9"},
		{"/%3a%40", "/%3A%40"},
	} {
		wantClean(t, c.in, c.want)
	}
}

// An escape never comes into being by decoding what stands behind a stray
// percent sign.
func TestStrayPercentSigns(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/%%36%31", "/%%361"},
		{"/%%361", "/%%361"},
		{"/%6%31", "/%6%31"},
		{"/%2%46", "/%2%46"},
		{"/%2%66", "/%2%66"},
		{"/%%2e", "/%."},
		{"/%%32%65%%32%65/a", "/%%32e%%32e/a"},
		{"/%zz%61", "/%zza"},
		{"/%2g%61", "/%2ga"},
		{"/%g%61", "/%ga"},
		{"/%/./61", "/%/61"},
		{"/%2/../%46", "/F"},
		{"/%%%2f", "/%%%2F"},
		{"//%", "/%"},
	} {
		wantClean(t, c.in, c.want)
	}
}

func TestLongPathsAreRewritten(t *testing.T) {
	for _, n := range []int{stackPath - 2, stackPath - 1, stackPath, stackPath + 1, 1 << 16} {
		tail := strings.Repeat("a", n)
		wantClean(t, tail, "/"+tail)
		wantClean(t, "/../"+tail, "/"+tail)
	}
	wantClean(t, strings.Repeat("/a", 1<<15)+strings.Repeat("/..", 1<<15), "/")
}

func TestCleanPathAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, path := range []string{"/", "*", "/v1/orders/1234", "/a%20b/%C3%A9/", "/%zz"} {
		if n := testing.AllocsPerRun(100, func() { Clean(path) }); n != 0 {
			t.Errorf("Clean(%q) allocates %v times, want 0", path, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Clean("//v1/./%6Frders") }); n != 1 {
		t.Errorf("cleaning an unclean path allocates %v times, want 1", n)
	}
}
