package accesslog

import (
	"fmt"
	"strings"
	"testing"
)

func read(t testing.TB, line string) *Entry {
	t.Helper()
	var e Entry
	if err := NewReader(strings.NewReader(line), Options{}).Read(&e); err != nil {
		t.Fatal(err)
	}
	return &e
}

func wantHeader(t *testing.T, e *Entry, name, want string) {
	t.Helper()
	if got, ok := e.Header(name); got != want || ok != (want != "") {
		t.Errorf("%s is %q, %v; want %q", name, got, ok, want)
	}
}

func TestHeaderNames(t *testing.T) {
	e := read(t, `{"time":"2024-05-17T10:05:03Z","remote_addr":"192.0.2.1","http_x_api_key":"k_acme","http_host":"example.com:81","http_cookie":"","http_te":"-","x_forwarded_for":null}`)
	wantHeader(t, e, "X-Api-Key", "k_acme")
	wantHeader(t, e, "x-api-key", "k_acme")
	wantHeader(t, e, "X_Api_Key", "k_acme")
	wantHeader(t, e, "HOST", "example.com")
	wantHeader(t, e, "X-Api", "")
	wantHeader(t, e, "Cookie", "")
	wantHeader(t, e, "TE", "")
	wantHeader(t, e, "X-Forwarded-For", "")
	wantHeader(t, e, "", "")
}

func TestUnderscoreOfAClientIsNoHyphen(t *testing.T) {
	e := read(t, `{"ts":1,"request":{"remote_ip":"192.0.2.1","method":"GET","uri":"/","headers":{"X_forwarded_for":["203.0.113.9"]}}}`)
	wantHeader(t, e, "X-Forwarded-For", "")
	wantHeader(t, e, "X_Forwarded_For", "203.0.113.9")
}

func TestClientFoundByTheServerServesAsForwarded(t *testing.T) {
	for _, test := range []struct{ name, line, addr, forwarded string }{
		{"caddy", `{"ts":1,"request":{"remote_ip":"192.0.2.1","client_ip":"198.51.100.1"}}`, "192.0.2.1", "198.51.100.1"},
		{"caddy with the header", `{"ts":1,"request":{"remote_ip":"192.0.2.1","client_ip":"198.51.100.1","headers":{"X-Forwarded-For":["198.51.100.1, 192.0.2.2"]}}}`, "192.0.2.1", "198.51.100.1, 192.0.2.2"},
		{"caddy, direct", `{"ts":1,"request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.1"}}`, "192.0.2.1", ""},
		{"envoy", `{"start_time":1,"downstream_remote_address":"198.51.100.1:0","downstream_direct_remote_address":"192.0.2.1:4000"}`, "192.0.2.1", "198.51.100.1"},
		{"traefik", `{"time":1,"ClientHost":"198.51.100.1","ClientAddr":"[2001:db8::1]:4000"}`, "2001:db8::1", "198.51.100.1"},
		{"traefik, direct", `{"time":1,"ClientHost":"2001:db8::1","ClientAddr":"[2001:db8::1]:4000"}`, "2001:db8::1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := read(t, test.line)
			if e.Addr.String() != test.addr {
				t.Errorf("address is %s, want %s", e.Addr, test.addr)
			}
			wantHeader(t, e, "X-Forwarded-For", test.forwarded)
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 2 * maxHeaders {
		fmt.Fprintf(&b, `,"x_%d":"v"`, i)
	}
	e := read(t, `{"time":1,"remote_addr":"192.0.2.1"`+b.String()+`}`)
	wantHeader(t, e, "X-255", "v")
	wantHeader(t, e, "X-256", "")
}

func TestDeepNestingIsOnlyLong(t *testing.T) {
	const deep = 200000
	line := `{"time":1,"remote_addr":"192.0.2.1","x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `,"method":"GET","uri":"/"}`
	if e := read(t, line); e.Path != "/" {
		t.Errorf("path is %q", e.Path)
	}
}

func TestExcerptIsSafeToPrint(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"plain", "plain"},
		{"GET /x?api_key=k_secret", "GET /x…"},
		{strings.Repeat("é", 100), strings.Repeat("é", 40) + "…"},
		{"a" + strings.Repeat("é", 100), "a" + strings.Repeat("é", 39) + "?…"},
		{"\x1b]0;title\x07 \u009b31m \xff", "?]0;title? ?31m ?"},
	} {
		if got := excerpt(test.line); got != test.want {
			t.Errorf("%q: got %q, want %q", test.line, got, test.want)
		}
	}
}
