package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/internal/cleanpath"
)

func TestC090NoSpellingReachesTheUpstreamUncounted(t *testing.T) {
	spellings := []string{
		"/api/login", "//api/login", "/api//login", "/api/./login", "/api/x/../login", "/api/%6Cogin", "/api/login?x=1",
		"http://api.example/api/login", "/%61%70%69/%6c%6f%67%69%6e", "/../api/login", "/api/x/%2e%2E/login",
		"http://other.example//api/./login", "/api/login?", "///api/login",
	}
	var reached []string
	h := upstream(t, func(w http.ResponseWriter, r *http.Request) { reached = append(reached, r.RequestURI) })
	for _, spelling := range spellings {
		t.Run(spelling, func(t *testing.T) {
			reached = nil
			g := start(t, Options{Upstream: h, Limit: httplimit.Options{Decider: decide(t, limits(t, "3 per 60 seconds", "/api/login"))}}, Server{})
			got := ""
			for _, target := range []string{"/api/login", spelling, "/api/login", spelling} {
				res, _ := g.raw(http.MethodGet, target)
				got += fmt.Sprint(res.StatusCode, " ")
			}
			wantString(t, "answers", got, "200 200 200 429 ")
			for _, uri := range reached {
				path, _, _ := strings.Cut(uri, "?")
				wantString(t, "the path that the upstream got", path, "/api/login")
			}
		})
	}
}

// Other paths are not counted, and do not reach the upstream as the counted one.
func TestC090OtherPathsStayOthers(t *testing.T) {
	var reached string
	h := upstream(t, func(_ http.ResponseWriter, r *http.Request) { reached = r.RequestURI })
	g := start(t, Options{Upstream: h, Limit: httplimit.Options{Decider: decide(t, limits(t, "0 per 60 seconds", "/api/login"))}}, Server{})
	for _, c := range []struct{ target, want string }{
		{"/API/login", "/API/login"},
		{"/api/login#", "/api/login%23"},
		{"/api/login#/../x", "/api/x"},
		{"/api%2Flogin", "/api%2Flogin"},
		{"/api%2flogin", "/api%2Flogin"},
		{"/api/login%20", "/api/login%20"},
		{"/api/login;x=1", "/api/login;x=1"},
		{"/api/%256Cogin", "/api/%256Cogin"},
		{"/api/login%3Fx", "/api/login%3Fx"},
		{"/a%2Fb\"c", "/a%2Fb%22c"},
		{"/caf\xc3\xa9", "/caf%C3%A9"},
		{"/a!$&'()*+,;=:@b", "/a!$&'()*+,;=:@b"},
		{"/a[1]", "/a[1]"},
		{"/a|b^c", "/a%7Cb%5Ec"},
		{"/", "/"},
		{"http://api.example", "/"},
	} {
		reached = ""
		res, _ := g.raw(http.MethodGet, c.target)
		wantStatus(t, res, http.StatusOK)
		wantString(t, c.target+" reached the upstream as", reached, c.want)
	}
	res, _ := g.raw(http.MethodGet, "/api/login/")
	wantStatus(t, res, http.StatusTooManyRequests)
}

// Rules see the path as it is forwarded, also where the client sent bytes that a
// path can not hold.
func TestC090RulesSeeWhatIsForwarded(t *testing.T) {
	h := upstream(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s reached the upstream", r.RequestURI) })
	g := start(t, Options{Upstream: h, Limit: httplimit.Options{
		Decider: decide(t, limits(t, "0 per 60 seconds", "/caf%C3%A9", "/a%22b", "/x%20y", "/q/%7Cr")),
	}}, Server{})
	for _, target := range []string{
		"/caf\xc3\xa9", "/caf%c3%a9", "/caf%C3\xa9", "//caf\xc3\xa9", "/a\"b", "/%61\"b", "/a%22b", "/x%20y", "/%78%20y",
		"/q/|r", "/q/%7cr", "/q/./|r", "/q/%7C%72",
	} {
		res, _ := g.raw(http.MethodGet, target)
		wantStatus(t, res, http.StatusTooManyRequests)
	}
}

func TestQueryIsForwardedByteForByte(t *testing.T) {
	g := simple(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) })
	for _, target := range []string{
		"/a?x=1&y=2", "/a?x=1;y=2", "/a?%zz", "/a?a=%", "/a?", "/a?b=%6C&&=&c", "/a?x=/../y//z", "/a??b", "/a?q=%C3%A9\xc3\xa9", "/a?x=a+b%20c",
	} {
		_, body := g.raw(http.MethodGet, target)
		wantString(t, "the upstream got", body, target)
	}
	_, body := g.raw(http.MethodGet, "http://api.example/%61?x=%6C;y")
	wantString(t, "the upstream got", body, "/a?x=%6C;y")
}

func TestTargetsThatAreNoPath(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s %s reached the upstream", r.Method, r.RequestURI)
		}),
		Limit: httplimit.Options{Decider: anything(t)},
	}, Server{})
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{"GET", "*", 400},
		{"GET", "foo:bar", 400},
		{"CONNECT", "api.example:443", 405},
		{"CONNECT", "/x", 405},
		{"GET", "api/login", 400},
		{"GET", "/%zz", 400},
		{"GET", "http://%C3%A9.example/", 400},
	} {
		res, _ := g.raw(c.method, c.target)
		if res.StatusCode != c.want {
			t.Errorf("%s %s: status %d, want %d", c.method, c.target, res.StatusCode, c.want)
		}
	}
}

func TestServerWideOptionsAreLimitedAndForwarded(t *testing.T) {
	h := upstreamServer(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Method+" "+r.RequestURI) })
	g := start(t, Options{Upstream: h + "/base", Limit: httplimit.Options{Decider: decide(t, limits(t, "1 per minute"))}}, Server{})
	_, body := g.raw(http.MethodOptions, "*")
	wantString(t, "the upstream got", body, "OPTIONS *")
	res, _ := g.raw(http.MethodOptions, "*")
	wantStatus(t, res, http.StatusTooManyRequests)
}

func TestUpstreamWithAPath(t *testing.T) {
	h := upstream(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) })
	g := start(t, Options{Upstream: h + "/ba%2Fse/", Limit: httplimit.Options{Decider: anything(t)}}, Server{})
	for target, want := range map[string]string{
		"/":            "/ba%2Fse/",
		"/a/%2e./../b": "/ba%2Fse/b",
		"/../../x%2Fy": "/ba%2Fse/x%2Fy",
		"/a?b":         "/ba%2Fse/a?b",
	} {
		_, body := g.raw(http.MethodGet, target)
		wantString(t, target+" reached the upstream as", body, want)
	}
}

func TestCleanTargetKeepsUsualRequests(t *testing.T) {
	for _, target := range []string{"/", "/v1/orders/123", "/v1/orders?x=1", "/a.b-c_d~e/"} {
		r := &http.Request{Method: http.MethodGet, URL: mustParse(t, target)}
		if n := testing.AllocsPerRun(100, func() { cleanTarget(r) }); n != 0 && !raceEnabled {
			t.Errorf("%s: %v allocations, want 0", target, n)
		}
		if got, fault := cleanTarget(r); got != r || fault != nil {
			t.Errorf("%s was changed to %v, %v", target, got.URL, fault)
		}
	}
}

func mustParse(t testing.TB, target string) *url.URL {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func FuzzCleanTarget(f *testing.F) {
	for _, s := range []string{
		"/", "//a/../b", "/%61%2f\"", "/caf\xc3\xa9", "/a!b", "http://h/%2E%2e/x", "/%25%32%66", "/a#b?c", "*", "/a b", "/%00", "/\\..\\",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		before := *u
		r, fault := cleanTarget(&http.Request{Method: http.MethodOptions, URL: u})
		if *u != before {
			t.Fatalf("the caller's URL was changed from %#v to %#v", before, *u)
		}
		if fault != nil {
			return
		}
		sent := r.URL.EscapedPath()
		if cleanpath.Clean(sent) != sent {
			t.Fatalf("%q is forwarded as %q, which is not clean", target, sent)
		}
		if again, _ := cleanTarget(r); again.URL.EscapedPath() != sent {
			t.Fatalf("%q is forwarded as %q, but cleaned again it is %q", target, sent, again.URL.EscapedPath())
		}
		if r.URL.RawQuery != before.RawQuery {
			t.Fatalf("query %q became %q", before.RawQuery, r.URL.RawQuery)
		}
		if r.URL.RawPath == "" && r.URL.Path != sent {
			t.Fatalf("%q: rules may see another path than %q", target, sent)
		}
	})
}
