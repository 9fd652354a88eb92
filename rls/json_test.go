package rls_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stint-dev/stint/rls"
)

func TestJSON(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}]", setup{
		service: func(o *rls.Options) { o.Headers = rls.XRateLimit },
	})
	srv := httptest.NewServer(d.service.JSON())
	defer srv.Close()
	const ask = `{"domain":"d","descriptors":[{"entries":[{"key":"a","value":"1"}]}]}`
	for _, row := range []struct {
		name, method, contentType, body string
		status                          int
		text                            string
	}{
		{"allowed", "POST", "application/json", ask, 200, `"overallCode":"OK"`},
		{"refused", "POST", "application/json; charset=utf-8", ask, 429, `"overallCode":"OVER_LIMIT"`},
		{"as curl -d sends it", "POST", "application/x-www-form-urlencoded", ask, 429, `"requestsPerUnit":1`},
		{"no content type", "POST", "", `{"domain":"d","descriptors":[{}]}`, 200, `"statuses":[{"code":"OK"}]`},
		{"another method", "GET", "", "", 405, "POST"},
		{"another content type", "POST", "text/xml", ask, 415, "application/json"},
		{"no JSON", "POST", "application/json", "{", 400, "not a RateLimitRequest"},
		{"an unknown field", "POST", "application/json", `{"domian":"d"}`, 400, "domian"},
		{"nothing", "POST", "application/json", "", 400, "not a RateLimitRequest"},
		{"no domain", "POST", "application/json", "{}", 400, "the domain is empty"},
		{"a null", "POST", "application/json", `{"domain":"d","descriptors":[null]}`, 400, "not a RateLimitRequest"},
		{"too much", "POST", "application/json", strings.Repeat(" ", rls.MaxJSON+1), 413, "1 MiB"},
	} {
		req, err := http.NewRequest(row.method, srv.URL, strings.NewReader(row.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", row.contentType)
		if row.contentType == "" {
			req.Header.Del("Content-Type")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if text := strings.ReplaceAll(string(body), " ", ""); resp.StatusCode != row.status || !strings.Contains(text, strings.ReplaceAll(row.text, " ", "")) || !json.Valid(body) {
			t.Errorf("%s: %d %s, want %d with %s", row.name, resp.StatusCode, body, row.status, row.text)
		}
		if row.status == 429 && (resp.Header.Get("Retry-After") != "60" || resp.Header.Get("X-Ratelimit-Remaining") != "0" || resp.Header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s: headers %v", row.name, resp.Header)
		}
	}
}

func TestJSONWithoutTheStore(t *testing.T) {
	d := open(t, oneLimit, setup{store: broken{errors.New("down")}})
	w := httptest.NewRecorder()
	d.service.JSON().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/json", strings.NewReader(`{"domain":"d","descriptors":[{"entries":[{"key":"a"}]}]}`)))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestBodyOfARefusal(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}, {key: b, rate_limit: {unit: minute, requests_per_unit: 0}}]", setup{
		service: func(o *rls.Options) { o.Body = true },
	})
	if resp := d.must(request(t, "d", "a=1")); len(resp.GetRawBody()) > 0 || len(resp.GetResponseHeadersToAdd()) > 0 {
		t.Errorf("an allowed request has the body %s", resp.GetRawBody())
	}
	for _, row := range []struct{ ask, detail, violated, wait string }{
		{"a=1", "a rate limit is exceeded", "[d/a]", "60"},
		{"a=2 +5", "the request costs more than the limit ever lets through at once", "[d/a]", ""},
		{"b=1", "the limit lets nothing through", "[d/b]", ""},
	} {
		resp := d.must(request(t, "d", row.ask))
		var p map[string]any
		if err := json.Unmarshal(resp.GetRawBody(), &p); err != nil {
			t.Fatal(err)
		}
		if p["detail"] != row.detail || strings.Trim(strings.ReplaceAll(string(mustJSON(t, p["violated-policies"])), `"`, ""), " ") != row.violated {
			t.Errorf("%s: %v", row.ask, p)
		}
		if headerOf(resp, "Content-Type") != "application/problem+json" || headerOf(resp, "Retry-After") != row.wait {
			t.Errorf("%s: headers %v", row.ask, resp.GetResponseHeadersToAdd())
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
