package clientip

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// FuzzClient checks that a header never leads past the right-most address that
// is not trusted, whatever stands in it.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{
		"198.51.100.7, 203.0.113.9, 10.1.2.3", "203.0.113.9:51234", "[2001:db8::7]:443", "10.9.9.9,10.1.2.3", ",", "", "\n", "a\nb",
		`for="[2001:db8::7]:443";host="a,b", for=10.1.2.3`, `for="`, `"\"`, "fe80::1%eth0", "::ffff:10.0.0.1", "unknown, 10.0.0.1",
	} {
		f.Add("10.0.0.5:80", seed)
	}
	f.Add("10.0.0.10", "::%\"0")
	f.Add("@", "203.0.113.9")
	f.Add("[2001:db8::1]:80", "203.0.113.9")
	o := trusting(f, "10.0.0.0/8", "unix")
	list := resolver(f, o)
	o.Header = "Forwarded"
	forwarded := resolver(f, o)
	f.Fuzz(func(t *testing.T, remote, value string) {
		header := strings.Split(value, "\n")
		for _, r := range []*Resolver{list, forwarded} {
			got := r.Client(remote, header)
			if got.Is4In6() || got.Zone() != "" {
				t.Fatalf("Client(%q, %q) = %v, mapped or with a zone", remote, header, got)
			}
			if !r.Trusts(remote) && got != r.Client(remote, nil) {
				t.Fatalf("Client(%q, %q) = %v, though the peer is not trusted", remote, header, got)
			}
		}
		if got, want := list.Client(remote, header), reference(list, remote, header); got != want {
			t.Fatalf("Client(%q, %q) = %v, want %v", remote, header, got, want)
		}
		if !forwarded.Trusts(remote) {
			return
		}
		appended := slices.Concat(header, []string{"for=203.0.113.9"})
		if got := forwarded.Client(remote, appended); got != netip.MustParseAddr("203.0.113.9") {
			t.Fatalf("Client(%q, %q) = %v, want the proxy's word", remote, appended, got)
		}
	})
}

// reference walks a list of addresses the obvious way, with net/netip.
func reference(r *Resolver, remote string, header []string) netip.Addr {
	last := r.Client(remote, nil)
	if !r.Trusts(remote) {
		return last
	}
	elements := strings.Split(strings.Join(header, ","), ",")
	for n := range min(len(elements), maxElements) {
		element := elements[len(elements)-1-n]
		addr, ok := referenceHost(unquote(strings.Trim(element, " \t")))
		if len(element) > maxElementBytes || !ok || openQuote(element) {
			return last
		}
		last = addr
		if !netip.MustParsePrefix("10.0.0.0/8").Contains(addr) {
			return last
		}
	}
	return last
}

// openQuote says whether a quoted string begins in an element and does not end.
func openQuote(element string) bool {
	quotes := 0
	for i := range len(element) {
		if isQuote(element, i) {
			quotes++
		}
	}
	return quotes%2 != 0
}

// FuzzParseHost compares the parser with that of net/netip.
func FuzzParseHost(f *testing.F) {
	for _, seed := range []string{
		"203.0.113.9", "203.0.113.9:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443", "::", "::1", "1::", "::ffff:192.0.2.1",
		"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4:5:6:192.0.2.1", "1::192.0.2.1", "fe80::1%eth0", "[::1%a]:1",
		"0.0.0.0", "00.0.0.0", "1.2.3.256", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3", "::%", "1:2:3:4:5:6:7:8::", ":::", "1:", ":1",
		"::%a]", "[::%a]]", "[::%a]b]:1", "12345::", "1:2:3:4:5:6:7:8:1.2.3.4",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseHost(s, isPort)
		want, wantOK := referenceHost(s)
		if got != want || ok != wantOK {
			t.Fatalf("parseHost(%q) = %v, %v; want %v, %v", s, got, ok, want, wantOK)
		}
	})
}

func referenceHost(s string) (netip.Addr, bool) {
	bracketed := strings.HasPrefix(s, "[")
	host := s
	if i := strings.LastIndexByte(s, ':'); i > 0 && isPort(s[i+1:]) && (bracketed && s[i-1] == ']' || !bracketed && strings.Count(s, ":") == 1) {
		host = s[:i]
	}
	if bracketed {
		if !strings.HasSuffix(host, "]") {
			return netip.Addr{}, false
		}
		host = host[1 : len(host)-1]
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || bracketed && (addr.Is4() || strings.Contains(host, "]")) {
		return netip.Addr{}, false
	}
	return addr.WithZone("").Unmap(), true
}

// FuzzTrust checks that an entry which is accepted makes a Resolver that trusts
// the entry's own address.
func FuzzTrust(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "10.0.0.5", "private", "unix", "10.0.0.0/33", "::ffff:10.0.0.0/104", "fe80::1%a", "::/0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		var o Options
		if o.Trust(entry) != nil {
			return
		}
		r, err := New(o)
		if err != nil {
			t.Fatalf("Trust(%q) took what New refuses: %v", entry, err)
		}
		if entry == "unix" || entry == "private" {
			return
		}
		host, _, _ := strings.Cut(entry, "/")
		short := strings.HasPrefix(r.trusted[0].Addr().String(), "::") // A short prefix may reach over the mapped range without holding it.
		if !r.Trusts(host) && !short {
			t.Fatalf("Trust(%q) made a resolver that does not trust %s", entry, host)
		}
	})
}
