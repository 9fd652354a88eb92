package httplimit_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
)

func TestC076ForwardedHeadersWithoutAProxy(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "5 per minute")})(hello)
	var got strings.Builder
	for i := range 8 {
		claim := fmt.Sprintf("198.51.100.%d", i)
		got.WriteString(letter(get(t, h, "peer 192.0.2.10:1000",
			"X-Forwarded-For: "+claim, "X-Real-IP: "+claim, "True-Client-IP: "+claim)))
	}
	wantString(t, "with forged headers", got.String(), "AAAAADDD")
	res := get(t, h, "peer 192.0.2.11:1000", "X-Forwarded-For: 192.0.2.10")
	wantString(t, "another peer", letter(res), "A")
	wantHeader(t, res, "X-RateLimit-Remaining", "4")
}

// clientOf returns the address that a Decider behind o sees.
func clientOf(t *testing.T, o httplimit.Options, options ...string) string {
	t.Helper()
	var addr string
	o.Decider = decide(func(src stint.Source, d *stint.Decision) error {
		addr, d.Allowed = src.Addr().String(), true
		return nil
	})
	get(t, newMiddleware(t, o)(hello), options...)
	return addr
}

func TestC077RightmostUntrustedAddress(t *testing.T) {
	o := httplimit.Options{TrustedProxies: prefixes("10.0.0.0/8", "2001:db8:ff::/48")}
	for _, tt := range []struct{ peer, header, want string }{
		{"10.0.0.5:1", "198.51.100.7, 203.0.113.9", "203.0.113.9"},
		{"10.0.0.5:1", "198.51.100.7, 203.0.113.9, 10.1.2.3", "203.0.113.9"},
		{"10.0.0.5:1", "10.9.9.9, 10.1.2.3", "10.9.9.9"},
		{"10.0.0.5:1", "", "10.0.0.5"},
		{"192.0.2.1:1", "198.51.100.7, 203.0.113.9", "192.0.2.1"},
		{"10.0.0.5:1", "203.0.113.9 , 2001:db8:ff::1", "203.0.113.9"},
	} {
		options := []string{"peer " + tt.peer}
		if tt.header != "" {
			options = append(options, "X-Forwarded-For: "+tt.header)
		}
		wantString(t, tt.header+" from "+tt.peer, clientOf(t, o, options...), tt.want)
	}
	wantString(t, "two lines", clientOf(t, o, "peer 10.0.0.5:1",
		"X-Forwarded-For: 198.51.100.7", "X-Forwarded-For: 203.0.113.9"), "203.0.113.9")
}

func TestC079PortsIdentifyNobody(t *testing.T) {
	o := httplimit.Options{TrustedProxies: prefixes("10.0.0.0/8"), Decider: newSingle(t, newClock(), "100 per minute")}
	h := newMiddleware(t, o)(hello)
	for i, options := range [][]string{
		{"peer 10.0.0.5:40000", "X-Forwarded-For: 203.0.113.9:51234"},
		{"peer 10.0.0.5:40001", "X-Forwarded-For: 203.0.113.9:51999"},
		{"peer 10.0.0.5:40002", `X-Forwarded-For: "203.0.113.9"`},
		{"peer 203.0.113.9:1"},
	} {
		wantHeader(t, get(t, h, options...), "X-RateLimit-Remaining", fmt.Sprint(99-i))
	}
	for i, options := range [][]string{
		{"peer 10.0.0.5:40000", "X-Forwarded-For: [2001:db8:1:2::7]:443"},
		{"peer 10.0.0.5:40000", "X-Forwarded-For: [2001:db8:1:2::8]"},
		{"peer 10.0.0.5:40000", "X-Forwarded-For: 2001:db8:1:2::9"},
		{"peer [2001:db8:1:2::7]:1"},
	} {
		wantHeader(t, get(t, h, options...), "X-RateLimit-Remaining", fmt.Sprint(99-i))
	}
}

func TestC094OnlyTheConfiguredHeader(t *testing.T) {
	o := httplimit.Options{TrustedProxies: prefixes("10.0.0.0/8"), Decider: newSingle(t, newClock(), "5 per minute")}
	h := newMiddleware(t, o)(hello)
	var got strings.Builder
	for i := range 6 {
		got.WriteString(letter(get(t, h, "peer 10.0.0.5:1", fmt.Sprintf("X-Real-IP: 198.51.100.%d", i))))
	}
	wantString(t, "not configured", got.String(), "AAAAAD")

	o.ClientHeader = "x-real-ip"
	wantString(t, "trusted peer", clientOf(t, o, "peer 10.0.0.5:1", "X-Real-IP: 198.51.100.3"), "198.51.100.3")
	wantString(t, "other peer", clientOf(t, o, "peer 192.0.2.1:1", "X-Real-IP: 198.51.100.3"), "192.0.2.1")
}

func TestNoDefaultClient(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "5 per minute")})(hello)
	for _, peer := range []string{"@", "", "nonsense"} {
		if res := get(t, h, "peer "+peer); res.StatusCode != http.StatusForbidden {
			t.Errorf("peer %q: status %d, want 403", peer, res.StatusCode)
		}
	}
}
