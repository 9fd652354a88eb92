package clientip

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
)

func TestTrustReadsNetworksAndAddresses(t *testing.T) {
	for entry, want := range map[string]string{
		"10.0.0.0/8":               "10.0.0.0/8",
		"0.0.0.0/0":                "0.0.0.0/0",
		"10.0.0.5":                 "10.0.0.5/32",
		"10.0.0.5/32":              "10.0.0.5/32",
		"2001:db8:ff::/48":         "2001:db8:ff::/48",
		"2001:db8::1":              "2001:db8::1/128",
		"::ffff:10.0.0.0/104":      "10.0.0.0/8",
		"::ffff:0:0/96":            "0.0.0.0/0",
		"::ffff:10.0.0.5":          "10.0.0.5/32",
		"2001:0DB8:00FF:0000::/48": "2001:db8:ff::/48",
	} {
		r := resolver(t, trusting(t, entry))
		if want := netip.MustParsePrefix(want); !slices.Equal(r.trusted, networks{want}) {
			t.Errorf("trusting %q trusts %v, want %v", entry, r.trusted, want)
		}
	}
}

func TestTrustPrivate(t *testing.T) {
	r := resolver(t, trusting(t, "private"))
	for peer, want := range map[string]bool{
		"10.255.0.1": true, "172.16.0.1": true, "172.31.255.255": true, "192.168.1.1": true, "127.0.0.1": true, "169.254.1.1": true,
		"::1": true, "fd00::1": true, "fc00::1": true, "fe80::1": true, "febf::1": true, "::ffff:127.0.0.1": true,
		"11.0.0.1": false, "172.32.0.1": false, "192.169.0.1": false, "128.0.0.1": false, "100.64.0.1": false,
		"::2": false, "fe00::1": false, "fec0::1": false, "2001:db8::1": false, "@": false,
	} {
		if got := r.Trusts(peer); got != want {
			t.Errorf("Trusts(%q) = %v, want %v", peer, got, want)
		}
	}
}

func TestTrustSaysWhatToWriteInstead(t *testing.T) {
	const generic = `write a network such as "10.0.0.0/8", an address such as "10.0.0.5", "private" or "unix"`
	for _, c := range []struct{ entry, want string }{
		{"10.0.0.0/33", "prefix too long: write /0 to /32"},
		{"2001:db8::/129", "prefix too long: write /0 to /128"},
		{"10.0.0.5/8", "more than a network: write 10.0.0.0/8 for the network or 10.0.0.5 for the one address"},
		{"2001:db8::1/32", "more than a network: write 2001:db8::/32 for the network or 2001:db8::1 for the one address"},
		{"10.0.0.0/", "no prefix length: write /0 to /32 behind the address"},
		{"10.0.0.0/-1", "no prefix length: write /0 to /32 behind the address"},
		{"10.0.0.0/08", "no prefix length: write /0 to /32 behind the address"},
		{"10.0.0.0/255.0.0.0", "no prefix length: write /0 to /32 behind the address"},
		{"10.0.0.0/99999999999999999999", "no prefix length: write /0 to /32 behind the address"},
		{"10.0.0.5:8080", "write the address alone: 10.0.0.5"},
		{"[2001:db8::1]:80", "write the address alone: 2001:db8::1"},
		{"fe80::1%eth0", "a zone cannot be trusted by name: leave out what follows the %"},
		{"", generic},
		{"10.0.0", generic},
		{"10.0.0.*", generic},
		{"proxy.example.com", generic},
		{"Private", generic},
		{" 10.0.0.5", generic},
	} {
		var o Options
		err := o.Trust(c.entry)
		var fault *FieldError
		if !errors.As(err, &fault) || fault.Field != "trusted_proxies" || fault.Hint != c.want {
			t.Errorf("trusting %q: error %v, want %s", c.entry, err, c.want)
		}
		if len(o.TrustedProxies) != 0 || o.TrustUnix {
			t.Errorf("trusting %q failed and added something", c.entry)
		}
	}
}

func TestNetworksHoldWhatTheirPrefixesHold(t *testing.T) {
	prefixes := []netip.Prefix{
		netip.MustParsePrefix("10.1.0.0/16"),
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("10.1.2.3/32"),
		netip.MustParsePrefix("10.0.0.0/24"),
		netip.MustParsePrefix("9.9.9.9/16"),
		netip.MustParsePrefix("192.0.2.0/25"),
		netip.MustParsePrefix("192.0.2.128/25"),
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2001:db8:1::/48"),
	}
	set, err := newNetworks(prefixes)
	if err != nil {
		t.Fatal(err)
	}
	if len(set) != 5 {
		t.Errorf("%v: want the five networks that are in no other", set)
	}
	for _, addr := range []string{
		"10.0.0.0", "10.1.2.3", "10.255.255.255", "9.255.255.255", "11.0.0.0", "9.9.0.0", "9.9.255.255", "9.8.255.255", "9.10.0.0",
		"192.0.1.255", "192.0.2.127", "192.0.2.128", "192.0.2.255", "192.0.3.0", "0.0.0.0", "255.255.255.255",
		"::", "2001:db7:ffff::", "2001:db8::", "2001:db8:1::5", "2001:db8:ffff::", "2001:db9::", "ffff::",
	} {
		a := netip.MustParseAddr(addr)
		want := slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
		if got := set.contain(a); got != want {
			t.Errorf("contain(%s) = %v, want %v", addr, got, want)
		}
	}
	if set.contain(netip.Addr{}) || networks(nil).contain(netip.MustParseAddr("10.0.0.1")) {
		t.Error("a set holds no address, or the empty set holds one")
	}
}
