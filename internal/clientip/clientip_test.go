package clientip

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// trusting returns the options that trust entries.
func trusting(t testing.TB, entries ...string) Options {
	t.Helper()
	var o Options
	for _, entry := range entries {
		if err := o.Trust(entry); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func resolver(t testing.TB, o Options) *Resolver {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantClient fails unless the client is want; an empty want is no address.
func wantClient(t *testing.T, r *Resolver, remote string, header []string, want string) {
	t.Helper()
	var addr netip.Addr
	if want != "" {
		addr = netip.MustParseAddr(want)
	}
	if got := r.Client(remote, header); got != addr {
		t.Errorf("Client(%q, %q) = %v, want %v", remote, header, got, addr)
	}
}

func TestC076HeaderIsNotBelievedWithoutProxy(t *testing.T) {
	for _, header := range []string{"", "X-Real-IP", "True-Client-IP", "Forwarded"} {
		r := resolver(t, Options{Header: header})
		for n := range 8 {
			forged := fmt.Sprintf("198.51.100.%d", n)
			wantClient(t, r, "192.0.2.10:4000", []string{forged}, "192.0.2.10")
			wantClient(t, r, "192.0.2.10:4000", []string{"for=" + forged}, "192.0.2.10")
		}
		wantClient(t, r, "192.0.2.11:4000", []string{"192.0.2.10"}, "192.0.2.11")
	}
}

func TestC077RightmostUntrustedAddress(t *testing.T) {
	r := resolver(t, trusting(t, "10.0.0.0/8", "2001:db8:ff::/48"))
	for _, c := range []struct {
		name, peer string
		header     []string
		want       string
	}{
		{"a", "10.0.0.5:80", []string{"198.51.100.7, 203.0.113.9"}, "203.0.113.9"},
		{"b", "10.0.0.5:80", []string{"198.51.100.7, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
		{"c", "10.0.0.5:80", []string{"10.9.9.9, 10.1.2.3"}, "10.9.9.9"},
		{"d", "10.0.0.5:80", nil, "10.0.0.5"},
		{"e", "192.0.2.1:80", []string{"198.51.100.7, 203.0.113.9"}, "192.0.2.1"},
		{"f", "10.0.0.5:80", []string{"203.0.113.9 , 2001:db8:ff::1"}, "203.0.113.9"},
		{"g: several lines", "10.0.0.5:80", []string{"198.51.100.7", "203.0.113.9", "10.1.2.3, 10.1.2.4"}, "203.0.113.9"},
		{"h: no blanks", "10.0.0.5:80", []string{"198.51.100.7,203.0.113.9,10.1.2.3"}, "203.0.113.9"},
		{"i: IPv6 peer", "[2001:db8:ff::5]:80", []string{"2001:db8:1::9"}, "2001:db8:1::9"},
		{"j: mapped proxy", "[::ffff:10.0.0.5]:80", []string{"203.0.113.9, ::ffff:10.1.2.3"}, "203.0.113.9"},
	} {
		t.Run(c.name, func(t *testing.T) { wantClient(t, r, c.peer, c.header, c.want) })
	}
}

// The left part of a list is the client's to write, whatever it writes there.
func TestC077LeftPartChangesNothing(t *testing.T) {
	r := resolver(t, trusting(t, "10.0.0.0/8"))
	f := trusting(t, "10.0.0.0/8")
	f.Header = "Forwarded"
	forwarded := resolver(t, f)
	for n := range 100 {
		for _, left := range []string{
			fmt.Sprintf("198.51.100.%d", n), strings.Repeat("x,", n), strings.Repeat(`"`, n), strings.Repeat(`\`, n), `for="`,
		} {
			wantClient(t, r, "10.0.0.5:80", []string{left + ", 203.0.113.9, 10.1.2.3"}, "203.0.113.9")
			wantClient(t, r, "10.0.0.5:80", []string{left, "203.0.113.9"}, "203.0.113.9")
			wantClient(t, forwarded, "10.0.0.5:80", []string{left + ", for=203.0.113.9"}, "203.0.113.9")
			wantClient(t, forwarded, "10.0.0.5:80", []string{left, "for=203.0.113.9"}, "203.0.113.9")
		}
	}
}

func TestC079PortsNeverIdentify(t *testing.T) {
	r := resolver(t, trusting(t, "10.0.0.0/8"))
	for _, value := range []string{"203.0.113.9:51234", "203.0.113.9:51999", `"203.0.113.9"`, `"203.0.113.9:51234"`} {
		wantClient(t, r, "10.0.0.5:40000", []string{value}, "203.0.113.9")
	}
	wantClient(t, r, "203.0.113.9:1", nil, "203.0.113.9")
	wantClient(t, r, "[2001:db8:1:2::7]:1", nil, "2001:db8:1:2::7")
	for value, want := range map[string]string{
		"[2001:db8:1:2::7]:443": "2001:db8:1:2::7",
		"[2001:db8:1:2::8]":     "2001:db8:1:2::8",
		"2001:db8:1:2::9":       "2001:db8:1:2::9",
	} {
		wantClient(t, r, "10.0.0.5:40000", []string{value}, want)
	}
}

func TestC094OneConfiguredHeader(t *testing.T) {
	first := resolver(t, trusting(t, "10.0.0.0/8"))
	if got := first.Header(); got != "X-Forwarded-For" {
		t.Fatalf("Header() = %q, want X-Forwarded-For", got)
	}
	wantClient(t, first, "10.0.0.5:80", nil, "10.0.0.5")

	o := trusting(t, "10.0.0.0/8")
	o.Header = "x-real-ip"
	second := resolver(t, o)
	if got := second.Header(); got != "X-Real-Ip" {
		t.Fatalf("Header() = %q, want X-Real-Ip", got)
	}
	for n := range 6 {
		value := fmt.Sprintf("198.51.100.%d", n)
		wantClient(t, second, "10.0.0.5:80", []string{value}, value)
		wantClient(t, second, "192.0.2.1:80", []string{value}, "192.0.2.1")
	}
	wantClient(t, second, "10.0.0.5:80", []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9")
}

func TestMappedAddressIsItsIPv4Address(t *testing.T) {
	r := resolver(t, trusting(t, "10.0.0.0/8"))
	wantClient(t, r, "[::ffff:192.0.2.1]:80", nil, "192.0.2.1")
	wantClient(t, r, "10.0.0.5:80", []string{"::ffff:c000:201"}, "192.0.2.1")
}

func TestZoneIsDropped(t *testing.T) {
	r := resolver(t, trusting(t, "10.0.0.0/8"))
	wantClient(t, r, "[fe80::1%eth0]:80", nil, "fe80::1")
	wantClient(t, r, "10.0.0.5:80", []string{"fe80::1%25eth0"}, "fe80::1")
}

func TestNothingLeftOfGarbageIsBelieved(t *testing.T) {
	r := resolver(t, trusting(t, "10.0.0.0/8"))
	for _, garbage := range []string{
		"", " ", "unknown", "_hidden", "unix:", "203.0.113", "203.0.113.9.1", "203.0.113.009", "256.0.0.1", "0x7f.1",
		"203.0.113.9:", "203.0.113.9:port", "203.0.113.9:123456", "[203.0.113.9]", "[2001:db8::1", "2001:db8::1]", "[2001:db8::1]443",
		"2001:db8::1::2", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "::g", "::12345", "::1%", "192.0.2.1%eth0",
		`"203.0.113.9`, `""203.0.113.9""`, "<nil>", "203.0.113.9 203.0.113.10", "203.0.113.9;203.0.113.10", "203.0.113.9/32",
		"203.0.113.9\x00", "٢٠٣.0.113.9", strings.Repeat("1", maxElementBytes+1),
	} {
		wantClient(t, r, "10.0.0.5:80", []string{garbage}, "10.0.0.5")
		wantClient(t, r, "10.0.0.5:80", []string{"203.0.113.9, " + garbage}, "10.0.0.5")
		wantClient(t, r, "10.0.0.5:80", []string{"203.0.113.9", garbage}, "10.0.0.5")
		wantClient(t, r, "10.0.0.5:80", []string{"203.0.113.9, " + garbage + ", 10.1.2.3"}, "10.1.2.3")
		wantClient(t, r, "10.0.0.5:80", []string{"203.0.113.9", garbage + ", 10.1.2.3"}, "10.1.2.3")
		wantClient(t, r, "10.0.0.5:80", []string{"203.0.113.9", garbage + ",10.1.2.3"}, "10.1.2.3")
		wantClient(t, r, "10.0.0.5:80", []string{garbage + ", 203.0.113.9"}, "203.0.113.9")
	}
}

func TestForwardedHeader(t *testing.T) {
	o := trusting(t, "10.0.0.0/8")
	o.Header = "forwarded"
	r := resolver(t, o)
	for _, c := range []struct{ header, want string }{
		{`for=203.0.113.9`, "203.0.113.9"},
		{`For="203.0.113.9:51234"`, "203.0.113.9"},
		{`FOR="[2001:db8::7]:443";proto=https`, "2001:db8::7"},
		{`for="[2001:db8::7]"`, "2001:db8::7"},
		{`for="203.0.113.9:_port"`, "203.0.113.9"},
		{`proto=https; for=203.0.113.9 ;by=10.0.0.1`, "203.0.113.9"},
		{`for=198.51.100.7, for=203.0.113.9;by=10.0.0.1, for=10.1.2.3`, "203.0.113.9"},
		{`for=203.0.113.9;host="a, for=198.51.100.7"`, "203.0.113.9"},
		{`for=203.0.113.9;host="a;for=198.51.100.7"`, "203.0.113.9"},
		{`for=203.0.113.9;host="a\", for=198.51.100.7"`, "203.0.113.9"},
		{`for=203.0.113.9;host="a\\", for=10.1.2.3`, "203.0.113.9"},

		{`203.0.113.9`, "10.0.0.5"},
		{`for=unknown`, "10.0.0.5"},
		{`for=_hidden`, "10.0.0.5"},
		{`for=`, "10.0.0.5"},
		{`for`, "10.0.0.5"},
		{`proto=https`, "10.0.0.5"},
		{`for=203.0.113.9;for=198.51.100.7`, "10.0.0.5"},
		{`for="203.0.113.9`, "10.0.0.5"},
		{`for="203.0.113.9:_"`, "10.0.0.5"},
		{`for="203.0.113.9:_a b"`, "10.0.0.5"},
		{`for=203.0.113.9, for=unknown, for=10.1.2.3`, "10.1.2.3"},
		{`for=198.51.100.7, for=203.0.113.9;host="open, for=10.1.2.3`, "10.1.2.3"},
		{`for=203.0.113.9;host="` + strings.Repeat(`\`, maxElementBytes) + `"`, "10.0.0.5"},
	} {
		wantClient(t, r, "10.0.0.5:80", []string{c.header}, c.want)
	}
}

func TestPeerWithoutAddressIsNoClient(t *testing.T) {
	r := resolver(t, trusting(t, "0.0.0.0/0", "::/0"))
	for _, peer := range []string{"", "@", "@app", "/run/app.sock", "<nil>", "pipe", "localhost:80", ":80", "[]:80", "203.0.113"} {
		wantClient(t, r, peer, []string{"203.0.113.9"}, "")
		if r.Trusts(peer) {
			t.Errorf("Trusts(%q) = true, want false", peer)
		}
	}
}

func TestTrustedUnixPeer(t *testing.T) {
	r := resolver(t, trusting(t, "unix", "10.0.0.0/8"))
	for _, peer := range []string{"@", "@app", "/run/app.sock"} {
		wantClient(t, r, peer, []string{"198.51.100.7, 203.0.113.9, 10.1.2.3"}, "203.0.113.9")
		wantClient(t, r, peer, nil, "")
		wantClient(t, r, peer, []string{"203.0.113.9, unknown"}, "")
	}
	wantClient(t, r, "", []string{"203.0.113.9"}, "")
}

func TestTrusts(t *testing.T) {
	for _, o := range []Options{trusting(t, "10.0.0.5"), trusting(t, "unix")} {
		if !resolver(t, o).TrustsAny() {
			t.Errorf("%+v trusts nobody", o)
		}
	}
	if resolver(t, Options{}).TrustsAny() {
		t.Error("somebody is trusted by default")
	}
	r := resolver(t, trusting(t, "10.0.0.0/8", "unix"))
	for peer, want := range map[string]bool{
		"10.0.0.5:80": true, "[::ffff:10.0.0.5]:80": true, "10.0.0.5": true, "@": true, "192.0.2.1:80": false, "": false,
	} {
		if got := r.Trusts(peer); got != want {
			t.Errorf("Trusts(%q) = %v, want %v", peer, got, want)
		}
	}
}

func TestWalkIsBounded(t *testing.T) {
	r := resolver(t, trusting(t, "10.0.0.0/8"))
	proxies := func(n int) string { return strings.Repeat(", 10.1.2.3", n) }
	wantClient(t, r, "10.0.0.5:80", []string{"203.0.113.9" + proxies(maxElements-1)}, "203.0.113.9")
	wantClient(t, r, "10.0.0.5:80", []string{"203.0.113.9" + proxies(maxElements)}, "10.1.2.3")

	lines := append([]string{"203.0.113.9"}, strings.Split(strings.Repeat("10.1.2.3 ", maxElements), " ")[:maxElements]...)
	wantClient(t, r, "10.0.0.5:80", lines[:maxElements], "203.0.113.9")
	wantClient(t, r, "10.0.0.5:80", lines, "10.1.2.3")

	blanks := strings.Repeat(" ", maxElementBytes-len("203.0.113.9"))
	wantClient(t, r, "10.0.0.5:80", []string{"198.51.100.7," + blanks + "203.0.113.9"}, "203.0.113.9")
	wantClient(t, r, "10.0.0.5:80", []string{"198.51.100.7, " + blanks + "203.0.113.9"}, "10.0.0.5")
	wantClient(t, r, "10.0.0.5:80", []string{blanks + "203.0.113.9"}, "203.0.113.9")
	wantClient(t, r, "10.0.0.5:80", []string{" " + blanks + "203.0.113.9"}, "10.0.0.5")
}

func TestNothingIsAllocated(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	o := trusting(t, "private", "unix")
	list := resolver(t, o)
	o.Header = "Forwarded"
	forwarded := resolver(t, o)
	for _, c := range []struct {
		name, peer string
		r          *Resolver
		header     []string
	}{
		{"untrusted peer", "192.0.2.1:80", list, []string{"203.0.113.9"}},
		{"chain", "10.0.0.5:80", list, []string{"198.51.100.7, 203.0.113.9:51234", "[2001:db8::1]:80", "10.1.2.3"}},
		{"IPv6 with zone", "[fe80::1%eth0]:80", list, []string{"2001:db8::1%a, fe80::1%b"}},
		{"garbage", "10.0.0.5:80", list, []string{"203.0.113.9, <script>, 10.1.2.3"}},
		{"garbage peer", "nowhere", list, []string{"203.0.113.9"}},
		{"unix peer", "@", list, []string{"203.0.113.9"}},
		{"long chain", "10.0.0.5:80", list, []string{strings.Repeat("10.1.2.3,", 1000)}},
		{"forwarded", "10.0.0.5:80", forwarded, []string{`for="[2001:db8::7]:443";host="a,b", for=10.1.2.3`}},
		{"forwarded garbage", "10.0.0.5:80", forwarded, []string{`for="[2001:db8::`}},
	} {
		if n := testing.AllocsPerRun(100, func() { c.r.Client(c.peer, c.header) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", c.name, n)
		}
	}
}
