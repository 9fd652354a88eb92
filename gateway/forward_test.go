package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stint-dev/stint/httplimit"
)

// upstreamServer is upstream with a server that leaves OPTIONS * to h.
func upstreamServer(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.DisableGeneralOptionsHandler = true
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// mirror answers with the header it received.
func mirror(w http.ResponseWriter, r *http.Request) {
	h := r.Header.Clone()
	h.Set("Host", r.Host)
	_ = json.NewEncoder(w).Encode(h)
}

// received sends lines through a gateway and returns the header that arrives.
func received(t testing.TB, g *gateway, lines ...string) http.Header {
	t.Helper()
	res, body := g.raw(http.MethodGet, "/", lines...)
	wantStatus(t, res, http.StatusOK)
	var h http.Header
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return h
}

func wantField(t testing.TB, h http.Header, name string, want ...string) {
	t.Helper()
	if got := h[http.CanonicalHeaderKey(name)]; !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func TestC076ForgedForwardingHeadersAreDropped(t *testing.T) {
	g := simple(t, mirror)
	h := received(t, g,
		"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 198.51.100.2", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https",
		"X-Forwarded-Port: 1", "X-Forwarded-Prefix: /admin", "Forwarded: for=198.51.100.1", "X-Real-IP: 198.51.100.1",
		"True-Client-IP: 198.51.100.1", "CF-Connecting-IP: 198.51.100.1", "X_Forwarded_For: 198.51.100.3", "x_real_ip: 198.51.100.3",
		"X-Original-URL: /admin", "X-Kept: yes")
	wantField(t, h, "X-Forwarded-For", "127.0.0.1")
	wantField(t, h, "X-Forwarded-Host", "api.example")
	wantField(t, h, "X-Forwarded-Proto", "http")
	wantField(t, h, "X-Forwarded-Port", "80")
	wantField(t, h, "X-Kept", "yes")
	wantField(t, h, "Host", "api.example")
	for _, name := range []string{
		"X-Forwarded-Prefix", "Forwarded", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X_forwarded_for", "X_real_ip", "X-Original-Url",
	} {
		wantField(t, h, name)
	}
}

func TestTrustedProxiesAreBelieved(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, mirror),
		Limit:    httplimit.Options{Decider: anything(t), TrustedProxies: loopback()},
	}, Server{})
	h := received(t, g, "X-Forwarded-For: 198.51.100.1, 203.0.113.9", "X-Forwarded-For: 10.1.2.3", "X-Forwarded-Host: shop.example",
		"X-Forwarded-Proto: https", "X-Forwarded-Port: 443", "X-Real-IP: 203.0.113.9", "Forwarded: for=203.0.113.9", "X_Forwarded_For: 198.51.100.3")
	wantField(t, h, "X-Forwarded-For", "198.51.100.1, 203.0.113.9, 10.1.2.3, 127.0.0.1")
	wantField(t, h, "X-Forwarded-Host", "shop.example")
	wantField(t, h, "X-Forwarded-Proto", "https")
	wantField(t, h, "X-Forwarded-Port", "443")
	wantField(t, h, "X-Real-Ip", "203.0.113.9")
	wantField(t, h, "Forwarded", "for=203.0.113.9", "for=127.0.0.1")
	wantField(t, h, "X_forwarded_for")

	h = received(t, g)
	wantField(t, h, "X-Forwarded-For", "127.0.0.1")
	wantField(t, h, "X-Forwarded-Host", "api.example")
	wantField(t, h, "Forwarded")
}

// A client can not have the gateway's own fields removed by naming them as
// belonging to the connection.
func TestConnectionHeaderRemovesNothingOfTheGateway(t *testing.T) {
	g := simple(t, mirror)
	h := received(t, g, "Connection: X-Forwarded-For, X-Private", "X-Private: 1", "Keep-Alive: timeout=5", "Proxy-Authorization: Basic eDp5")
	wantField(t, h, "X-Forwarded-For", "127.0.0.1")
	for _, name := range []string{"X-Private", "Keep-Alive", "Proxy-Authorization", "Connection"} {
		wantField(t, h, name)
	}
}

func TestC076ForgedAddressesEarnNoBuckets(t *testing.T) {
	g := start(t, Options{Upstream: upstream(t, mirror), Limit: httplimit.Options{Decider: decide(t, limits(t, "5 per 60 seconds"))}}, Server{})
	got := ""
	for i := range 8 {
		address := "198.51.100." + string(rune('1'+i))
		res, _ := g.get("/", "X-Forwarded-For: "+address, "X-Real-IP: "+address, "True-Client-IP: "+address)
		got += map[int]string{200: "A", 429: "D"}[res.StatusCode]
	}
	wantString(t, "answers", got, "AAAAADDD")
}

func TestC094RealIPIsNotReadUnlessNamed(t *testing.T) {
	send := func(g *gateway) (got string) {
		for i := range 6 {
			res, _ := g.get("/", "X-Real-IP: 198.51.100."+string(rune('1'+i)))
			got += map[int]string{200: "A", 429: "D"}[res.StatusCode]
		}
		return got
	}
	o := Options{Upstream: upstream(t, mirror), Limit: httplimit.Options{TrustedProxies: loopback(), Decider: decide(t, limits(t, "5 per 60 seconds"))}}
	wantString(t, "not named", send(start(t, o, Server{})), "AAAAAD")
	o.Limit.Decider, o.Limit.ClientHeader = decide(t, limits(t, "5 per 60 seconds")), "X-Real-IP"
	wantString(t, "named", send(start(t, o, Server{})), "AAAAAA")
	o.Limit.Decider, o.Limit.TrustedProxies = decide(t, limits(t, "5 per 60 seconds")), nil
	wantString(t, "named, but the peer is not trusted", send(start(t, o, Server{})), "AAAAAD")
}

func TestUpstreamHostIsAnOption(t *testing.T) {
	o := Options{Upstream: upstream(t, mirror), UpstreamHost: true, Limit: httplimit.Options{Decider: anything(t)}}
	h := received(t, start(t, o, Server{}))
	wantField(t, h, "Host", strings.TrimPrefix(o.Upstream, "http://"))
	wantField(t, h, "X-Forwarded-Host", "api.example")
}

func TestPeers(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "[fe80::1%eth0]:80": "fe80::1",
		"@": "", "": "", "/run/x.sock": "", "host:80": "", "192.0.2.1": "",
	} {
		wantString(t, remote, peerOf(remote), want)
	}
	for host, want := range map[string]string{"a": "80", "a:8080": "8080", "[::1]": "80", "[::1]:90": "90", "": "80", "a:": "80"} {
		wantString(t, host, portOf(host, "http"), want)
	}
	wantString(t, "https", portOf("a", "https"), "443")
	wantString(t, "IPv6 node", node("2001:db8::1"), `"[2001:db8::1]"`)
}

func TestUpstreamsThatAreNone(t *testing.T) {
	for _, s := range []string{"", "127.0.0.1:3000", "ftp://x", "http://", "http://:80", "http://user:secret@x", "http://x?y", "http://x#y", "http://x:port", "unix:/x"} {
		_, err := New(Options{Upstream: s, Limit: httplimit.Options{Decider: anything(t)}})
		if err == nil || !strings.HasPrefix(err.Error(), "upstream") || strings.Contains(err.Error(), "secret") {
			t.Errorf("upstream %q: error %v", s, err)
		}
	}
	_, err := New(Options{MaxBody: -1})
	for _, part := range []string{"upstream", "decider", "max body"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not name the %s", err, part)
		}
	}
}

func TestDemoShowsNoSecrets(t *testing.T) {
	g := start(t, Options{Upstream: "demo", Limit: httplimit.Options{Decider: anything(t)}}, Server{})
	r := newRequest(t, http.MethodPost, g.url+"/v1//orders?token=s3cret", strings.NewReader("s3cret"),
		"X-Api-Key: s3cret", "Authorization: Bearer s3cret", "Cookie: a=s3cret", "X-Token: s3cret", "X-Forwarded-For: 198.51.100.1", "User-Agent: test")
	res, body := g.do(r)
	wantStatus(t, res, http.StatusOK)
	if strings.Contains(body, "s3cret") {
		t.Errorf("the demo shows a secret: %s", body)
	}
	var got struct {
		Method, Path, Protocol, Remote string
		Headers                        map[string]string
		Body                           int `json:"body_bytes"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	wantString(t, "method", got.Method, "POST")
	wantString(t, "path", got.Path, "/v1/orders")
	wantString(t, "protocol", got.Protocol, "HTTP/1.1")
	wantString(t, "user agent", got.Headers["User-Agent"], "test")
	wantString(t, "client", got.Headers["X-Forwarded-For"], "127.0.0.1")
	wantString(t, "key", got.Headers["X-Api-Key"], "(not shown)")
	if got.Body != 6 {
		t.Errorf("%d bytes of body, want 6", got.Body)
	}
}

func TestDemoStream(t *testing.T) {
	g := start(t, Options{Upstream: "demo", Limit: httplimit.Options{Decider: anything(t)}}, Server{})
	res, err := g.client.Do(newRequest(t, http.MethodGet, g.url+"/stream?n=2", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantString(t, "stream", string(b), "data: 1\n\ndata: 2\n\n")
	wantString(t, "type", res.Header.Get("Content-Type"), "text/event-stream")
}
