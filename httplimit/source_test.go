package httplimit_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
)

// valueOf returns a field of r as a Decider sees it, and the body that the
// handler reads afterwards.
func valueOf(t testing.TB, o httplimit.Options, r *http.Request, f stint.Field) (value string, ok bool, body []byte, err error) {
	t.Helper()
	o.Decider = decide(func(src stint.Source, d *stint.Decision) error {
		value, ok = src.Value(f)
		if again, okAgain := src.Value(f); again != value || okAgain != ok {
			t.Errorf("read again: %q, %v, then %q, %v", value, ok, again, okAgain)
		}
		d.Allowed = true
		return nil
	})
	h := newMiddleware(t, o)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err = io.ReadAll(r.Body)
		if err2 := r.Body.Close(); err2 != nil {
			t.Error(err2)
		}
		if n, _ := r.Body.Read(make([]byte, 1)); n > 0 {
			t.Error("a closed body still gives bytes")
		}
	}))
	h.ServeHTTP(httptest.NewRecorder(), r)
	return value, ok, body, err
}

func TestSourceFields(t *testing.T) {
	newRequest := func(method, target string, lines ...string) *http.Request {
		r := httptest.NewRequest(method, target, nil)
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Add(name, value)
		}
		return r
	}
	withHost := func(host string) *http.Request {
		r := newRequest("GET", "/")
		r.Host = host
		return r
	}
	field := func(kind stint.FieldKind, name string) stint.Field { return stint.Field{Kind: kind, Name: name} }
	for _, tt := range []struct {
		name  string
		r     *http.Request
		field stint.Field
		want  string
		ok    bool
	}{
		{"method", newRequest("POST", "/"), field(stint.FieldMethod, ""), "POST", true},
		{"path", newRequest("GET", "/a/b?x=1"), field(stint.FieldPath, ""), "/a/b", true},
		{"escaped path", newRequest("GET", "/a%20b/%2Fc"), field(stint.FieldPath, ""), "/a%20b/%2Fc", true},
		{"host", withHost("API.Example.com:8080"), field(stint.FieldHost, ""), "api.example.com", true},
		{"host with final dot", withHost("api.example.com."), field(stint.FieldHost, ""), "api.example.com", true},
		{"host of IPv6", withHost("[2001:DB8::1]:80"), field(stint.FieldHost, ""), "[2001:db8::1]", true},
		{"host of IPv6 without brackets", withHost("2001:db8::1"), field(stint.FieldHost, ""), "2001:db8::1", true},
		{"host that never ends", withHost("[::1"), field(stint.FieldHost, ""), "", false},
		{"no host", withHost(""), field(stint.FieldHost, ""), "", false},
		{"header", newRequest("GET", "/", "x-api-key: k1", "X-Api-Key: k2"), field(stint.FieldHeader, "X-Api-Key"), "k1", true},
		{"no header", newRequest("GET", "/"), field(stint.FieldHeader, "X-Api-Key"), "", false},
		{"header Host", withHost("Example.com"), field(stint.FieldHeader, "Host"), "Example.com", true},
		{"query", newRequest("GET", "/?a=1&key=x%20y&key=z"), field(stint.FieldQuery, "key"), "x y", true},
		{"escaped query name", newRequest("GET", "/?k%65y=v"), field(stint.FieldQuery, "key"), "v", true},
		{"empty query", newRequest("GET", "/?key"), field(stint.FieldQuery, "key"), "", true},
		{"no query", newRequest("GET", "/?keys=1"), field(stint.FieldQuery, "key"), "", false},
		{"cookie", newRequest("GET", "/", `Cookie: a=b; sid="x1"; sid=x2`), field(stint.FieldCookie, "sid"), "x1", true},
		{"cookie on another line", newRequest("GET", "/", "Cookie: a=b", "Cookie: sid=x"), field(stint.FieldCookie, "sid"), "x", true},
		{"no cookie", newRequest("GET", "/"), field(stint.FieldCookie, "sid"), "", false},
		{"unknown kind", newRequest("GET", "/"), field(200, "x"), "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, _, _ := valueOf(t, httplimit.Options{}, tt.r, tt.field)
			if got != tt.want || ok != tt.ok {
				t.Errorf("%q, %v; want %q, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// The spelling that came over the wire is what rules get to clean; nothing in
// between may turn two spellings into one that the handler does not see.
func TestC090PathAsItWasSent(t *testing.T) {
	paths := make(chan string, 1)
	d := decide(func(src stint.Source, d *stint.Decision) error {
		path, _ := src.Value(stint.Field{Kind: stint.FieldPath})
		paths <- path
		d.Allowed = true
		return nil
	})
	srv := httptest.NewServer(newMiddleware(t, httplimit.Options{Decider: d})(hello))
	defer srv.Close()
	for target, want := range map[string]string{
		"/api/login":            "/api/login",
		"//api/login":           "//api/login",
		"/api//login":           "/api//login",
		"/api/./login":          "/api/./login",
		"/api/x/../login":       "/api/x/../login",
		"/api/%6Cogin":          "/api/%6Cogin",
		"/api/login?x=1":        "/api/login",
		"/api/login/":           "/api/login/",
		"/API/login":            "/API/login",
		"/api%2Flogin":          "/api%2Flogin",
		"/api%2flogin":          "/api%2flogin",
		"/api/%C3%A9":           "/api/%C3%A9",
		"/api/%25":              "/api/%25",
		"/a|b":                  "/a|b",
		"http://host/api/login": "/api/login",
		"http://host/api/%25":   "/api/%25",
	} {
		sendTarget(t, srv, target)
		wantString(t, target, <-paths, want)
	}
}

func TestPathFollowsARewrite(t *testing.T) {
	var path string
	d := decide(func(src stint.Source, d *stint.Decision) error {
		path, _ = src.Value(stint.Field{Kind: stint.FieldPath})
		d.Allowed = true
		return nil
	})
	h := http.StripPrefix("/v1", newMiddleware(t, httplimit.Options{Decider: d})(hello))
	for target, want := range map[string]string{"/v1/a": "/a", "/v1/a%2Fb": "/a%2Fb", "/v1/a%25": "/a%25"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
		wantString(t, target, path, want)
	}
}

func TestJSONFields(t *testing.T) {
	deep := strings.Repeat("[", 60_000)
	for _, tt := range []struct {
		name, contentType, body, path, want string
		ok                                  bool
	}{
		{"string", "application/json", `{"phone":"+4930123"}`, "phone", "+4930123", true},
		{"escapes", "application/json", `{"phone":"\u002b49"}`, "phone", "+49", true},
		{"escaped name", "application/json", `{"ph\u006fne":"x"}`, "phone", "x", true},
		{"nested", "application/json; charset=utf-8", `{"user":{"phone":7}}`, "user.phone", "7", true},
		{"element", "APPLICATION/JSON", `{"to":["a","b"]}`, "to.1", "b", true},
		{"dot in a name", "application/vnd.x+json", `{"a.b":true}`, `a\.b`, "true", true},
		{"large number", "application/json", `{"id":12345678901234567890}`, "id", "12345678901234567890", true},
		{"fraction", "application/json", `{"id":1.50}`, "id", "1.5", true},
		{"number spelled otherwise", "application/json", `{"id":1.5551234e7}`, "id", "15551234", true},
		{"minus zero", "application/json", `{"id":-0.0}`, "id", "0", true},
		{"empty", "application/json", `{"phone":""}`, "phone", "", true},
		{"null", "application/json", `{"phone":null}`, "phone", "", false},
		{"object", "application/json", `{"phone":{}}`, "phone", "", false},
		{"array", "application/json", `{"phone":["x"]}`, "phone", "", false},
		{"absent", "application/json", `{"phones":"x"}`, "phone", "", false},
		{"twice", "application/json", `{"phone":"x","phone":"y"}`, "phone", "", false},
		{"index beyond", "application/json", `{"to":[]}`, "to.0", "", false},
		{"into a scalar", "application/json", `{"to":"x"}`, "to.0", "", false},
		{"not JSON by type", "text/plain", `{"phone":"x"}`, "phone", "", false},
		{"not JSON", "application/json", `{"phone":"x"`, "phone", "", false},
		{"two values", "application/json", `{"phone":"x"}{"phone":"y"}`, "phone", "", false},
		{"deep", "application/json", deep, "phone", "", false},
		{"modifier is a name", "application/json", `{"phone":"x"}`, "@this.phone", "", false},
		{"no body", "application/json", "", "phone", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tt.body))
			r.Header.Set("Content-Type", tt.contentType)
			got, ok, body, err := valueOf(t, httplimit.Options{}, r, stint.Field{Kind: stint.FieldJSON, Name: tt.path})
			if got != tt.want || ok != tt.ok {
				t.Errorf("%q, %v; want %q, %v", got, ok, tt.want, tt.ok)
			}
			if string(body) != tt.body || err != nil {
				t.Errorf("the handler reads %.50q, %v; sent %.50q", body, err, tt.body)
			}
		})
	}
}

// chunked hides a reader's length, and ends with an error if it has one.
type chunked struct {
	io.Reader
	err error
}

func (c chunked) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF && c.err != nil {
		return n, c.err
	}
	return n, err
}

func TestBodyIsPassedOnWhole(t *testing.T) {
	broken := errors.New("connection reset")
	const body = `{"phone":"x"}`
	for _, tt := range []struct {
		name    string
		maxBody int
		length  int64
		err     error
		ok      bool
	}{
		{"within the bound", len(body), -1, nil, true},
		{"beyond the bound", len(body) - 1, -1, nil, false},
		{"beyond the bound, length known", len(body) - 1, int64(len(body)), nil, false},
		{"broken off", 100, -1, broken, false},
		{"broken off at the bound", len(body), -1, broken, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(chunked{strings.NewReader(body), tt.err}))
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = tt.length
			o := httplimit.Options{MaxBody: tt.maxBody}
			_, ok, got, err := valueOf(t, o, r, stint.Field{Kind: stint.FieldJSON, Name: "phone"})
			if ok != tt.ok {
				t.Errorf("field there: %v, want %v", ok, tt.ok)
			}
			if string(got) != body || !errors.Is(err, tt.err) {
				t.Errorf("the handler reads %q, %v; want %q, %v", got, err, body, tt.err)
			}
		})
	}
}
