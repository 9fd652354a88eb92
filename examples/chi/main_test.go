package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTheFourthRequestIsRefused(t *testing.T) {
	h, err := newHandler()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{200, 200, 200, 429} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/search", nil))
		if w.Code != want {
			t.Errorf("request %d: status %d, want %d", i+1, w.Code, want)
		}
		if w.Header().Get("RateLimit") == "" || (w.Header().Get("Retry-After") != "") != (want == 429) {
			t.Errorf("request %d: headers %v", i+1, w.Header())
		}
		if body := w.Body.String(); (body == "hello\n") != (want == 200) {
			t.Errorf("request %d: body %q", i+1, body)
		}
	}
}
