package httplimit_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
)

func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"a=1&key=x", "key=%41+b", "k%65y=%zz&key=y", "key;x=1&key=2", "&&=&key", "key==&", "+=1&key=%", strings.Repeat("&", 10_001) + "key=1",
		strings.Repeat("&", 9_998) + "key=1",
	} {
		f.Add(query, "key")
	}
	f.Add("a+b=1", "a b")
	f.Add("=empty", "")
	f.Fuzz(func(t *testing.T, query, name string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.RawQuery = query
		values, _ := url.ParseQuery(query)
		want, wantOK := "", len(values[name]) > 0
		if wantOK {
			want = values[name][0]
		}
		got, ok, _, _ := valueOf(t, httplimit.Options{}, r, stint.Field{Kind: stint.FieldQuery, Name: name})
		if got != want || ok != wantOK {
			t.Errorf("%q of %.100q: %q, %v; net/url has %q, %v", name, query, got, ok, want, wantOK)
		}
	})
}

func FuzzCookie(f *testing.F) {
	for _, line := range []string{
		`sid=x`, `a=b; sid="x y"`, `sid`, `sid=a\b; sid=c`, ` sid =x;; sid=y`, "sid=\xff; sid=z", `=x`, `sid="`, "\tsid=1\r\n;",
		strings.Repeat(";", 3000) + "sid=x", strings.Repeat(";", 2999) + "sid=x",
	} {
		f.Add(line, "sid=second")
	}
	f.Fuzz(func(t *testing.T, line1, line2 string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Cookie"] = []string{line1, line2}
		want, wantOK := "", false
		if c, err := r.Cookie("sid"); err == nil {
			want, wantOK = c.Value, true
		}
		got, ok, _, _ := valueOf(t, httplimit.Options{}, r, stint.Field{Kind: stint.FieldCookie, Name: "sid"})
		if got != want || ok != wantOK {
			t.Errorf("sid of %.100q, %.100q: %q, %v; net/http has %q, %v", line1, line2, got, ok, want, wantOK)
		}
	})
}

// Whatever spelling is returned, it must stand for the path that the handler sees.
func FuzzPath(f *testing.F) {
	for _, target := range []string{"/a/b", "/a%2fb", "/a%25", "//x", "/%", "*", "/a|b?c", "/\u00e9", "http://h/a%20b", "/a#b", "/a?b#c"} {
		f.Add(target, "")
	}
	f.Add("/v1/a%20b", "/a b")
	f.Add("/a", "/?#%")
	f.Fuzz(func(t *testing.T, target, rewritten string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Skip("no request target")
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL, r.RequestURI = u, target
		if rewritten != "" {
			r.URL.Path = rewritten
		}
		got, _, _, _ := valueOf(t, httplimit.Options{}, r, stint.Field{Kind: stint.FieldPath})
		if decoded, err := url.PathUnescape(got); err != nil || decoded != r.URL.Path {
			t.Errorf("path %q of %q stands for %q, %v; the handler sees %q", got, target, decoded, err, r.URL.Path)
		}
		if strings.Contains(got, "?") {
			t.Errorf("path %q holds a query", got)
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, host := range []string{"Example.com:80", "[::1]:80", "[::1", "::1", "a.:1", "", ":", "[]", "a:b:c"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		got, ok, _, _ := valueOf(t, httplimit.Options{}, r, stint.Field{Kind: stint.FieldHost})
		if got != strings.ToLower(got) || ok != (got != "") || len(got) > 3*len(host) {
			t.Errorf("host of %q: %q, %v", host, got, ok)
		}
		again, _, _, _ := valueOf(t, httplimit.Options{}, withPort(r, "8080"), stint.Field{Kind: stint.FieldHost})
		if !strings.ContainsAny(host, ":[") && again != got {
			t.Errorf("host of %q is %q, with a port %q", host, got, again)
		}
	})
}

func withPort(r *http.Request, port string) *http.Request {
	r = r.Clone(r.Context())
	r.Host += ":" + port
	return r
}

func FuzzJSONBody(f *testing.F) {
	for _, body := range []string{
		`{"a":{"b":"x"}}`, `{"a":{"b":1e3}}`, `{"a":{"b":true},"a":1}`, `{"a":[1,2]}`, `{`, `[[[[`, `"x"`, ` {"a" : {"b":"\ud800"}} `,
		`{"a":{"\u0062":"\n"}}`,
	} {
		f.Add(body, "a.b")
	}
	f.Add(`{"a":["x"]}`, "a.0")
	f.Add(`{"":1}`, "")
	f.Add(`{"a.b":1}`, `a\.b`)
	f.Fuzz(func(t *testing.T, body, path string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		got, ok, read, err := valueOf(t, httplimit.Options{MaxBody: 64}, r, stint.Field{Kind: stint.FieldJSON, Name: path})
		if string(read) != body || err != nil {
			t.Errorf("the handler reads %q, %v; sent %q", read, err, body)
		}
		if !ok {
			return
		}
		if len(body) > 64 || !json.Valid([]byte(body)) {
			t.Errorf("%q from %q", got, body)
		}
		if strings.ContainsAny(path, `.\`) || strings.ContainsRune(body, '\\') || strings.Contains(body, "\xef\xbf\xbd") {
			return
		}
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(body), &m) != nil {
			return // an array
		}
		if raw := m[path]; bytes.HasPrefix(raw, []byte{'"'}) {
			if text := strings.Trim(string(raw), `"`); text != got {
				t.Errorf("%q of %q: %q, want %q", path, body, got, text)
			}
		}
	})
}

func FuzzProblem(f *testing.F) {
	f.Add("api", "limit", int64(3e9))
	f.Add("\x00\"\\\xff\u2028é\x7f", "never", int64(-1))
	f.Fuzz(func(t *testing.T, name, reason string, retry int64) {
		d := decide(func(_ stint.Source, d *stint.Decision) error {
			d.Refuse(stint.Reason(reason), stint.Result{Policy: name, Verdict: stint.Verdict{RetryAfter: time.Duration(retry)}})
			return nil
		})
		p := readProblem(t, get(t, newMiddleware(t, httplimit.Options{Decider: d})(hello)))
		if want := strings.ToValidUTF8(name, "\ufffd"); len(p.Rule) < len(want) || name == want && p.Rule != name {
			t.Errorf("rule %q of %q", p.Rule, name)
		}
	})
}
