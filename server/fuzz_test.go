package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzCheck: every body has an answer.
func FuzzCheck(f *testing.F) {
	for _, body := range questions {
		f.Add("/v1/check", body)
	}
	f.Add("/v1/refund", `{"charges":[{"rule":"send-otp","key":["1"],"cost":4503599627370496}]}`)
	f.Add("/v1/check", `{"path":"/slow","ip":"::1","cookies":{"session":"s"}}`)
	f.Add("/v1/check", `{"path":"/%zz?page=%zz&a=;","headers":{"Cookie":"session=\""},"host":"[::1"}`)
	s := serve(f)
	f.Fuzz(func(t *testing.T, path, body string) {
		if path != "/v1/refund" {
			path = "/v1/check"
		}
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case 200, 400, 413:
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// FuzzForwardAuth: whatever a client makes its proxy forward, the answer is one that
// a proxy understands.
func FuzzForwardAuth(f *testing.F) {
	f.Add("GET", "/v1/search?q=a", "api.example", "192.0.2.7", "")
	f.Add("HEAD", "http://h/%2F..", "[::1", "unknown, , 10.0.0.1", "https://h/x")
	f.Add("G T", "//\x00", "a,b", "[2001:db8::1]:80", "://")
	s := serve(f)
	f.Fuzz(func(t *testing.T, method, uri, host, client, original string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/auth", nil)
		r.RemoteAddr = proxy
		r.Header = http.Header{
			"X-Forwarded-Method": {method}, "X-Forwarded-Uri": strings.Split(uri, "\n"), "X-Forwarded-Host": {host},
			"X-Forwarded-For": {client}, "X-Original-Url": {original}, "X-Api-Key": {host},
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case 200, 400, 403, 429, 431:
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
