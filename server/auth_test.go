package server_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/server"
)

// forward are the headers of a proxy about GET target on api.example by one client.
func forward(target string, more ...string) []string {
	return append([]string{
		"X-Forwarded-Method: GET", "X-Forwarded-Uri: " + target, "X-Forwarded-Host: api.example", "X-Forwarded-For: 192.0.2.7",
	}, more...)
}

// without leaves out a header.
func without(headers []string, name string) []string {
	var kept []string
	for _, h := range headers {
		if !strings.HasPrefix(h, name+":") {
			kept = append(kept, h)
		}
	}
	return kept
}

func TestForwardAuthAnswersForTheClient(t *testing.T) {
	s := serve(t)
	for _, left := range []string{"2", "1", "0"} {
		a := s.send("GET", "/v1/auth", "", forward("/v1/search?q=a")...)
		if a.status != 200 || a.body != "" || a.header.Get("X-Ratelimit-Remaining") != left || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%+v, want %s left", a, left)
		}
	}
	a := s.send("GET", "/v1/auth", "", forward("/v1/search?q=a")...)
	if a.status != 429 || a.header.Get("Retry-After") != "60" || a.header.Get("X-Ratelimit-Limit") != "3" ||
		a.header.Get("Ratelimit") != `"search";r=0;t=60` || !strings.Contains(a.body, `"rule":"search"`) {
		t.Errorf("%+v", a)
	}
	other := append(without(forward("/v1/search"), "X-Forwarded-For"), "X-Forwarded-For: 192.0.2.8")
	if a := s.send("POST", "/v1/auth", "", other...); a.status != 200 {
		t.Errorf("another client, asked with POST: %+v", a)
	}
}

func TestForwardAuthReadsEveryProxysHeaders(t *testing.T) {
	for name, headers := range map[string][]string{
		"nginx":         {"X-Original-Method: GET", "X-Original-Uri: /v1/search?a", "X-Forwarded-Host: h", "X-Forwarded-For: 192.0.2.7"},
		"ingress-nginx": {"X-Original-Method: GET", "X-Original-Url: https://h/v1/search?a", "X-Forwarded-For: 192.0.2.7"},
		"both, alike":   {"X-Original-Method: GET", "X-Forwarded-Method: GET", "X-Original-Url: https://h/v1/search", "X-Forwarded-Uri: /v1/search", "X-Forwarded-Host: h", "X-Forwarded-For: 192.0.2.7"},
		"a chain":       {"X-Forwarded-Method: GET", "X-Forwarded-Uri: /v1/search", "X-Forwarded-Host: evil, h", "X-Forwarded-For: 192.0.2.9, 192.0.2.7, 10.0.0.2"},
	} {
		s := serve(t)
		a := s.send("GET", "/v1/auth", "", headers...)
		d := s.check(`{"path":"/v1/search","ip":"192.0.2.7"}`)
		if a.status != 200 || d.Remaining != 1 {
			t.Errorf("%s: %+v, then %+v", name, a, d)
		}
	}
}

func TestForwardAuthMatchesHostMethodAndKey(t *testing.T) {
	s := serve(t)
	headers := append(without(forward("/x"), "X-Forwarded-Host"), "X-Forwarded-Host: Only.Example:443")
	for _, want := range []int{200, 429} {
		if a := s.send("GET", "/v1/auth", "", headers...); a.status != want {
			t.Errorf("%+v, want %d", a, want)
		}
	}
	if a := s.send("GET", "/v1/auth", "", forward("/named", "X-Api-Key: k")...); a.header.Get("X-Ratelimit-Limit") != "5" {
		t.Errorf("%+v", a)
	}
	if a := s.send("GET", "/v1/auth", "", forward("/named")...); a.status != 403 {
		t.Errorf("without a key: %+v", a)
	}
}

// TestForwardAuthOfARequestWithoutAHost: a client of HTTP/1.0 names none, and a proxy
// that says so has said it.
func TestForwardAuthOfARequestWithoutAHost(t *testing.T) {
	for _, host := range []string{"X-Forwarded-Host: ", "X-Forwarded-Host: api.example,"} {
		s := serve(t)
		headers := append(without(forward("/v1/search"), "X-Forwarded-Host"), host)
		if a := s.send("GET", "/v1/auth", "", headers...); a.status != 200 || a.header.Get("X-Ratelimit-Remaining") != "2" {
			t.Errorf("%q: %+v", host, a)
		}
	}
}

// TestForwardAuthSaysWhatTheProxyDoesWrong: with a status that no proxy shows its
// clients as a refusal.
func TestForwardAuthSaysWhatTheProxyDoesWrong(t *testing.T) {
	all := forward("/v1/search")
	for _, c := range []struct {
		headers []string
		detail  string
	}{
		{without(all, "X-Forwarded-Method"), "the header X-Forwarded-Method or X-Original-Method is missing"},
		{without(all, "X-Forwarded-Uri"), "the header X-Forwarded-Uri, X-Original-Uri or X-Original-Url is missing"},
		{without(all, "X-Forwarded-Host"), "the header X-Forwarded-Host or X-Original-Url is missing"},
		{without(all, "X-Forwarded-For"), "the header X-Forwarded-For is missing"},
		{forward("/v1/search", "X-Original-Uri: /free"), "X-Forwarded-Uri and X-Original-Uri differ"},
		{forward("/v1/search", "X-Original-Url: http://api.example/free"), "X-Forwarded-Uri and X-Original-Url differ"},
		{forward("/v1/search", "X-Original-Method: OPTIONS"), "X-Forwarded-Method and X-Original-Method differ"},
		{forward("/v1/search", "X-Forwarded-Uri: /free"), "X-Forwarded-Uri is there twice"},
		{forward("v1/search"), "X-Forwarded-Uri is no target"},
		{forward("/%zz"), "X-Forwarded-Uri is no target"},
		{forward("/v1/search", "peer: 203.0.113.1:80"), "The peer is not one of trusted_proxies"},
		{forward("/v1/search", "peer: @"), "The peer is not one of trusted_proxies"},
	} {
		s := serve(t)
		wantProblem(t, s.send("GET", "/v1/auth", "", c.headers...), problem{400, c.detail, ""})
		if d := s.check(`{"path":"/v1/search","ip":"192.0.2.7"}`); d.Remaining != 2 {
			t.Errorf("%s: was charged: %+v", c.detail, d)
		}
	}
	for _, query := range []string{"?deny=200", "?deny=x", "?deny", "?deny=403&deny=403", "?dny=403", "?%zz"} {
		wantProblem(t, serve(t).send("GET", "/v1/auth"+query, "", all...), problem{400, "write /v1/auth, or /v1/auth?deny=403", ""})
	}
}

func TestForwardAuthWithAnotherStatus(t *testing.T) {
	s := serve(t)
	for range 3 {
		s.send("GET", "/v1/auth?deny=403", "", forward("/v1/search")...)
	}
	a := s.send("GET", "/v1/auth?deny=403", "", forward("/v1/search")...)
	if a.status != 403 || a.header.Get("Stint-Status") != "429" || a.header.Get("Retry-After") != "60" {
		t.Errorf("%+v", a)
	}
	if a := s.send("GET", "/v1/auth?deny=401", "", forward("/named")...); a.status != 401 || a.header.Get("Stint-Status") != "403" {
		t.Errorf("%+v", a)
	}
}

// TestForwardAuthRefusesGRPC: to its client the refusal of a gRPC request is a 200.
func TestForwardAuthRefusesGRPC(t *testing.T) {
	s := serve(t)
	a := s.send("GET", "/v1/auth", "", forward("/closed", "Content-Type: application/grpc")...)
	if a.status != 429 || a.header.Get("Grpc-Status") != "8" {
		t.Errorf("%+v", a)
	}
}

// TestForwardAuthOfHEAD: the proxy asks with GET and has to get a whole answer.
func TestForwardAuthOfHEAD(t *testing.T) {
	addr := serve(t).listen()
	r, err := http.NewRequest(http.MethodGet, "http://"+addr+"/v1/auth", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range append(without(forward("/closed"), "X-Forwarded-Method"), "X-Forwarded-Method: HEAD") {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	for range 2 {
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != http.StatusTooManyRequests || res.ContentLength > 0 {
			t.Errorf("%d, %d bytes", res.StatusCode, res.ContentLength)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestForwardAuthHasNoBody: rules on its fields see none.
func TestForwardAuthHasNoBody(t *testing.T) {
	s := serve(t)
	headers := append(without(forward("/v1/otp/send"), "X-Forwarded-Method"), "X-Forwarded-Method: POST", "Content-Type: application/json")
	if a := s.send("POST", "/v1/auth", `{"phone_number":"+49"}`, headers...); a.status != 200 || a.header.Get("X-Ratelimit-Limit") != "" {
		t.Errorf("%+v", a)
	}
}

// TestForwardAuthHoldsTheQueue: a request that has to wait is answered when it may
// go on.
func TestForwardAuthHoldsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		begin := time.Now()
		for range 3 {
			if a := s.send("GET", "/v1/auth", "", forward("/slow")...); a.status != 200 {
				t.Errorf("%+v", a)
			}
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("%v, want each to wait for the ones before", took)
		}
		if d := s.check(`{"path":"/slow","ip":"192.0.2.7"}`); !d.Allowed || d.DelayUS != 3_000_000 {
			t.Errorf("a check is told its wait: %+v", d)
		}
	})
}

func TestForwardAuthReadsTheClientHeader(t *testing.T) {
	s := serve(t, func(o *server.Options) {
		o.Limit.ClientHeader, o.Limit.Headers = "X-Real-IP", httplimit.GitHub
		o.Limit.TrustUnix, o.Limit.TrustedProxies = true, []netip.Prefix(nil)
	})
	headers := append(without(forward("/v1/search"), "X-Forwarded-For"), "peer: @", "X-Real-IP: 192.0.2.50")
	if a := s.send("GET", "/v1/auth", "", headers...); a.status != 200 || a.header.Get("X-Ratelimit-Resource") != "search" {
		t.Errorf("%+v", a)
	}
	if d := s.check(`{"path":"/v1/search","ip":"192.0.2.50"}`); d.Remaining != 1 {
		t.Errorf("%+v", d)
	}
}
