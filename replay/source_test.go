package replay

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/accesslog"
)

func TestTargetsInTheirParts(t *testing.T) {
	for _, test := range []struct {
		target, host     string
		path, query, own string
	}{
		{"/v1/orders?limit=5", "API.example.com", "/v1/orders", "limit=5", "api.example.com"},
		{"/a//b/%2e", "", "/a//b/%2e", "", ""},
		{"http://Other.example.com:8080/v1?x", "api.example.com", "/v1", "x", "other.example.com"},
		{"http://[2001:db8::1]:80", "", "/", "", "2001:db8::1"},
		{"http://example.com?x=1", "", "/", "x=1", "example.com"},
		{"/proxy?to=http://example.com/", "", "/proxy", "to=http://example.com/", ""},
		{"/http://example.com/", "", "/http://example.com/", "", ""},
		{"*", "", "*", "", ""},
		{"", "", "", "", ""},
	} {
		got := splitTarget(&accesslog.Entry{Path: test.target, Host: test.host})
		if want := (target{test.path, test.query, test.own}); got != want {
			t.Errorf("%q: got %+v, want %+v", test.target, got, want)
		}
	}
}

func TestHostOfTheTargetGoesBeforeThatOfTheLog(t *testing.T) {
	s := &source{}
	s.set(&accesslog.Entry{Path: "http://b.example.com/x", Host: "a.example.com"})
	if host, ok := s.Value(stint.Field{Kind: stint.FieldHost}); host != "b.example.com" || !ok {
		t.Errorf("host %q, %v", host, ok)
	}
	if path, ok := s.Value(stint.Field{Kind: stint.FieldPath}); path != "/x" || !ok {
		t.Errorf("path %q, %v", path, ok)
	}
	if _, ok := s.Value(stint.Field{Kind: stint.FieldJSON, Name: "phone"}); ok {
		t.Error("a log has no body")
	}
}

func FuzzQueryValue(f *testing.F) {
	f.Add("a=1&b=2", "b")
	f.Add("a=%41+b&a=2", "a")
	f.Add("%61=1", "a")
	f.Add("a;b=1&b=%zz", "b")
	f.Fuzz(func(t *testing.T, query, name string) {
		got, ok := queryValue(query, name)
		want, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if ok != want.Has(name) || got != want.Get(name) {
			t.Errorf("%q of %q is %q, %v; net/url says %q", name, query, got, ok, want.Get(name))
		}
	})
}

func FuzzCookieValue(f *testing.F) {
	f.Add("a=1; b=2", "b")
	f.Add(`a="x"`, "a")
	f.Add("a", "a")
	f.Add(`a=\; a=2`, "a")
	f.Fuzz(func(t *testing.T, cookies, name string) {
		got, ok := cookieValue(cookies, name)
		want, err := (&http.Request{Header: http.Header{"Cookie": {cookies}}}).Cookie(name)
		if ok != (err == nil) && isToken(name) || err == nil && got != want.Value {
			t.Errorf("%q of %q is %q, %v; net/http says %v", name, cookies, got, ok, want)
		}
	})
}

// isToken says whether a cookie can have the name.
func isToken(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") == ""
}
