package httplimit_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/rules"
)

// guarded is a server that rules guard, on a clock that stands still.
type guarded struct {
	*httptest.Server
	t testing.TB
}

func guard(t testing.TB, spec rules.Spec, o httplimit.Options) *guarded {
	t.Helper()
	set, err := rules.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	o.Decider = rules.NewDecider(newLimiter(t, newClock()), set)
	g := &guarded{httptest.NewServer(newMiddleware(t, o)(hello)), t}
	t.Cleanup(g.Close)
	return g
}

// raw sends bytes as they are and returns what the limiter made of them: A, D, or
// the status in parentheses.
func (g *guarded) raw(request string) string {
	g.t.Helper()
	conn, err := net.Dial("tcp", g.Listener.Addr().String())
	if err != nil {
		g.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		g.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	return letter(read(g.t, res, err))
}

// get sends a GET with header lines.
func (g *guarded) get(target string, lines ...string) string {
	g.t.Helper()
	head := "GET " + target + " HTTP/1.1\r\nConnection: close\r\n"
	if !strings.Contains(strings.ToLower(strings.Join(lines, "\n")), "host:") {
		head += "Host: host\r\n"
	}
	for _, line := range lines {
		head += line + "\r\n"
	}
	return g.raw(head + "\r\n")
}

// escapes fails for each way to ask that the rule does not hold for: the bucket
// is empty, so all that it counts is refused.
func (g *guarded) escapes(target string, ways [][]string) {
	g.t.Helper()
	for _, lines := range ways {
		if got := g.get(target, lines...); got == "A" {
			g.t.Errorf("%q escapes", lines)
		}
	}
}

// No spelling of a path that a server takes for the same is another one for the
// rules: what could have stood there without an escape, and what could not.
func TestC090NoSpellingOfReservedBytesEscapes(t *testing.T) {
	for _, c := range []struct {
		pattern string
		targets []string
	}{
		{"/v1/jobs:cancel", []string{"/v1/jobs:cancel", "/v1/jobs%3Acancel", "/v1/jobs%3acancel", "/v1/./jobs%3acance%6C"}},
		{"/v1/jobs%3Acancel", []string{"/v1/jobs:cancel", "/v1/jobs%3Acancel"}},
		{"/@me", []string{"/@me", "/%40me"}},
		{"/a;v=1,2", []string{"/a;v=1,2", "/a%3Bv=1,2", "/a;v%3d1%2C2"}},
		{"/a!$&'()+", []string{"/a!$&'()+", "/a%21%24%26%27%28%29%2B"}},
		{"/caf%C3%A9", []string{"/caf%C3%A9", "/caf%c3%a9", "/caf\xc3\xa9", "/caf\xc3%a9"}},
		{"/a%7Cb", []string{"/a%7Cb", "/a|b", "/a%7cb"}},
		{"/a%7Bb%7D", []string{"/a%7Bb%7D", "/a{b}"}},
		{"/a%22%5E%60%3C%3E", []string{"/a%22%5E%60%3C%3E", "/a\"^`<>"}},
		{"/a%5Cb", []string{"/a%5Cb", "/a\\b"}},
		{"/a%2Ab", []string{"/a%2Ab", "/a*b"}},
		{"/a%5B1%5D", []string{"/a%5B1%5D", "/a[1]"}},
		{"/a%23b", []string{"/a%23b", "/a#b"}},
	} {
		g := guard(t, rules.Spec{Rules: []rules.Rule{rule("one", c.pattern, 0)}}, httplimit.Options{})
		for _, target := range c.targets {
			if got := g.get(target); got != "D" {
				t.Errorf("%s for %q: %s", c.pattern, target, got)
			}
		}
		if got := g.get("/other"); got != "A" {
			t.Errorf("%s for /other: %s", c.pattern, got)
		}
	}
}

// What stands for a slash or a percent sign in a segment is data.
func TestEscapedSlashIsNoSlash(t *testing.T) {
	g := guard(t, rules.Spec{Rules: []rules.Rule{rule("one", "/a/b", 0), rule("two", "/a%3Ab", 0)}}, httplimit.Options{})
	for _, target := range []string{"/a%2Fb", "/a%253Ab", "/a%252Fb"} {
		if got := g.get(target); got != "A" {
			t.Errorf("%s: %s", target, got)
		}
	}
}

// plans is rules as most have them: by key with a plan, else by address.
func plans() rules.Spec {
	return rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{"k_acme": "free", "k_globex": "paid"}},
		Rules: []rules.Rule{
			{
				ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"},
				Plans: map[string]stint.Limit{"free": {Count: 3, Window: time.Minute}, "paid": {Count: 5, Window: time.Minute}},
			},
			{ID: "signed-out", Match: rules.Match{Lacks: []string{"api_key"}}, Key: []string{"ip"}, Limits: []stint.Limit{{Count: 10, Window: time.Minute}}},
		},
	}
}

func TestInventedKeysEarnNoBuckets(t *testing.T) {
	set, err := rules.Compile(plans())
	if err != nil {
		t.Fatal(err)
	}
	h := newMiddleware(t, httplimit.Options{Decider: rules.NewDecider(newLimiter(t, newClock()), set)})(hello)
	allowed := 0
	for i := range 10_000 {
		if letter(get(t, h, fmt.Sprintf("X-Api-Key: made-up-%d", i))) == "A" {
			allowed++
		}
	}
	if allowed != 10 {
		t.Errorf("%d of 10,000 invented keys from one address pass, want 10", allowed)
	}
	wantString(t, "a valid key afterwards", statuses(t, h, 4, "X-Api-Key: k_acme"), "AAAD")
}

func TestNoSpellingOfAKeyEarnsABucket(t *testing.T) {
	g := guard(t, plans(), httplimit.Options{})
	for range 3 {
		wantString(t, "k_acme", g.get("/", "X-Api-Key: k_acme"), "A")
	}
	for range 10 {
		wantString(t, "signed out", g.get("/"), "A")
	}
	g.escapes("/", [][]string{
		{"X-Api-Key: k_acme"},
		{"x-api-key: k_acme"},
		{"X-API-KEY:k_acme"},
		{"X-Api-Key:   k_acme  \t"},
		{"X-Api-Key: k_acme", "X-Api-Key: k_globex"},
		{"X-Api-Key: nobody", "X-Api-Key: k_globex"},
		{"X-Api-Key:", "X-Api-Key: k_globex"},
		{"X-Api-Key: k_acme, k_globex"},
		{"X-Api-Key: k_acme,k_globex"},
		{"X-Api-Key: \"k_globex\""},
		{"X-Api-Key: K_GLOBEX"},
		{"X-Api-Key:"},
		{"X-Api-Key: \xff\xfe"},
		{"X-Api-Key: " + strings.Repeat("a", 60_000)},
		{"X-Api-Key: " + strings.Repeat("a", 70_000)},
		{"X-Api-Key: " + strings.Repeat("a", 1<<20)},
		{"X_Api_Key: k_globex"},
		{"X-Api-Key : k_globex"},
		{"X-Api-Key: a\r\n b"},
		{"X-Api-Key: a\rX-Api-Key: k_globex"},
		{"X-Api-Key: a\x00"},
		{"X-Forwarded-For: 198.51.100.1"},
		{"X-Real-IP: 198.51.100.1"},
		{"Forwarded: for=198.51.100.1"},
		{"Transfer-Encoding: chunked", "Content-Length: 5"},
	})
}

func TestLongKeysAreApart(t *testing.T) {
	spec := rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key"}},
		Rules: []rules.Rule{{ID: "one", Key: []string{"api_key"}, Limits: []stint.Limit{{Count: 1, Window: time.Minute}}}},
	}
	g := guard(t, spec, httplimit.Options{})
	long := strings.Repeat("a", 59_999)
	got := ""
	for _, value := range []string{long + "a", long + "b", long + "a", long + "b", "\xff", "\xfe", "\xff", strings.Repeat("a", 1<<16+1)} {
		got += g.get("/", "X-Api-Key: "+value)
	}
	wantString(t, "statuses", got, "AADDAAD(431)")
}

func TestNoSpellingOfAHostEscapes(t *testing.T) {
	spec := rules.Spec{Rules: []rules.Rule{{
		ID: "one", Match: rules.Match{Host: []string{"api.example.com"}}, Key: []string{"global"}, Limits: []stint.Limit{{Window: time.Minute}},
	}}}
	g := guard(t, spec, httplimit.Options{})
	g.escapes("/", [][]string{
		{"Host: api.example.com"},
		{"Host: API.Example.COM"},
		{"Host: api.example.com."},
		{"Host: api.example.com:80"},
		{"Host: api.example.com.:8080"},
		{"Host: api.example.com:"},
		{"Host:    api.example.com"},
		{"Host: api.example.com", "X-Forwarded-Host: other"},
		{"Host: api.example.com", "Host: other"},
	})
	g.escapes("http://api.example.com/", [][]string{{"Host: other"}, {"Host: api.example.com"}})
	g.escapes("http://API.example.com:80/", [][]string{{"Host: other"}})
	g.escapes("http://user@api.example.com/", [][]string{{"Host: other"}})
}

func TestForwardedAddressesAreNotTheClientsToChoose(t *testing.T) {
	spec := rules.Spec{Rules: []rules.Rule{rule("one", "", 1)}}
	t.Run("nobody is trusted", func(t *testing.T) {
		g := guard(t, spec, httplimit.Options{})
		wantString(t, "first", g.get("/"), "A")
		g.escapes("/", [][]string{
			{"X-Forwarded-For: 198.51.100.1"},
			{"X-Forwarded-For: 198.51.100.1, 198.51.100.2"},
			{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 198.51.100.2"},
		})
	})
	t.Run("the proxy is trusted", func(t *testing.T) {
		g := guard(t, spec, httplimit.Options{TrustedProxies: prefixes("127.0.0.0/8", "::1/128")})
		wantString(t, "first", g.get("/", "X-Forwarded-For: 203.0.113.9"), "A")
		wantString(t, "peer", g.get("/"), "A")
		g.escapes("/", [][]string{
			{"X-Forwarded-For: 198.51.100.1, 203.0.113.9"},
			{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 203.0.113.9"},
			{"X-Forwarded-For: 198.51.100.1,,203.0.113.9"},
			{"X-Forwarded-For: 203.0.113.9:1234"},
			{"X-Forwarded-For: ::ffff:203.0.113.9"},
			{"X-Forwarded-For: [::ffff:203.0.113.9]:80"},
			{"X-Forwarded-For: \"203.0.113.9\""},
			{"X-Forwarded-For: 198.51.100.1, garbage"}, // The peer's bucket.
			{"X-Forwarded-For: 198.51.100.1,"},
			{"X-Forwarded-For: " + strings.Repeat("1", 9000)},
			{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For:"},
		})
	})
	t.Run("one site", func(t *testing.T) {
		g := guard(t, spec, httplimit.Options{TrustedProxies: prefixes("127.0.0.0/8", "::1/128")})
		wantString(t, "first", g.get("/", "X-Forwarded-For: 2001:db8:1:2::1"), "A")
		g.escapes("/", [][]string{
			{"X-Forwarded-For: 2001:db8:1:2::2"},
			{"X-Forwarded-For: 2001:db8:1:2::1%eth0"},
			{"X-Forwarded-For: [2001:db8:1:2:ffff::1%25en1]:443"},
			{"X-Forwarded-For: 2001:0DB8:0001:0002::0003"},
		})
	})
}

func TestNoSpellingOfAParameterEscapes(t *testing.T) {
	spec := rules.Spec{
		Keys:  []rules.Key{{Name: "token", Query: "token"}, {Name: "sid", Cookie: "sid"}},
		Plans: &rules.Plans{Key: "token", Of: map[string]string{"t1": "free"}},
		Rules: []rules.Rule{
			{ID: "token", Match: rules.Match{Has: []string{"token"}}, Key: []string{"token"}, Limits: []stint.Limit{{Window: time.Minute}}},
			{ID: "sid", Match: rules.Match{Has: []string{"sid"}}, Key: []string{"sid"}, Limits: []stint.Limit{{Window: time.Minute}}},
		},
	}
	g := guard(t, spec, httplimit.Options{})
	for _, target := range []string{"/?token=t1", "/?token=t%31", "/?t%6Fken=t1", "/?a&token=t1&token=x", "/?a;b&token=t1", "/?%zz&token=t1", "/?token=%zz&token=t1"} {
		if got := g.get(target); got != "D" {
			t.Errorf("%s: %s", target, got)
		}
	}
	for _, line := range []string{"Cookie: sid=x", "Cookie: a=b;sid=x", "Cookie: a=b", "Cookie: sid=\"x\"", "Cookie:  sid = x"} {
		want := "D"
		if !strings.Contains(line, "sid") {
			want = "A"
		}
		if got := g.get("/", line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// Parsers differ on which of two members with one name counts, and on whether
// names are compared with regard to case. A bucket goes to none of them.
func TestNoSpellingOfABodyEarnsABucket(t *testing.T) {
	spec := rules.Spec{
		Keys:  []rules.Key{{Name: "phone", JSON: "phone"}},
		Rules: []rules.Rule{{ID: "otp", Key: []string{"phone"}, Limits: []stint.Limit{{Count: 1, Window: time.Minute}}}},
	}
	g := guard(t, spec, httplimit.Options{})
	post := func(contentType, body string) string {
		return g.raw(fmt.Sprintf("POST /otp HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			contentType, len(body), body))
	}
	const asJSON = "application/json"
	wantString(t, "first", post(asJSON, `{"phone":"+1555"}`), "A")
	wantString(t, "without", post(asJSON, `{}`), "A")
	for _, body := range []string{
		`{"phone":"+1555"}`,
		`{"phone":"\u002b1555"}`,
		`{"ph\u006fne":"+1555"}`,
		`{"phone":"new","phone":"+1555"}`,
		`{"phone":"new","Phone":"+1555"}`,
		`{"PHONE":"+1555","phone":"newer"}`,
		`{"phone":"newest","ph\u006fne":"+1555"}`,
		`{"phone":["new2"]}`,
		strings.Repeat("[", 60_000),
		"\xef\xbb\xbf" + `{"phone":"new3"}`,
		`{"phone":"new4"} {"phone":"+1555"}`,
		`{"phone":"` + strings.Repeat("x", 65_600) + `"}`,
	} {
		if got := post(asJSON, body); got == "A" {
			t.Errorf("%.60q escapes", body)
		}
	}
	for _, contentType := range []string{"text/plain", "", "application/json-seq", "application/x-www-form-urlencoded"} {
		if got := post(contentType, `{"phone":"+1666"}`); got == "A" {
			t.Errorf("content type %q escapes", contentType)
		}
	}
}

// A path by HTTP/2 may hold bytes that end the target of a request by HTTP/1.
func TestC090SpacesAndTheirEscapesAreOne(t *testing.T) {
	set, err := rules.Compile(rules.Spec{Rules: []rules.Rule{rule("one", "/a%20b", 0)}})
	if err != nil {
		t.Fatal(err)
	}
	h := newMiddleware(t, httplimit.Options{Decider: rules.NewDecider(newLimiter(t, newClock()), set)})(hello)
	r := httptest.NewRequest(http.MethodGet, "/a%20b", nil)
	wantString(t, "escaped", letter(send(t, h, r)), "D")
	r.RequestURI, r.URL.RawPath = "/a b", "/a b"
	wantString(t, "as it is", letter(send(t, h, r)), "D")
}
