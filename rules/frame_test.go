package rules

import (
	"bytes"
	"crypto/sha256"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKeyText(t *testing.T) {
	sum := digest{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{nil, "global"},
		{appendValue(nil, "k_acme"), "k_acme"},
		{appendValue(nil, "a b\n"), `"a b\n"`},
		{appendValue(nil, "hash:deadbeef"), `"hash:deadbeef"`},
		{appendHash(nil, &sum), "hash:deadbeef"},
		{appendValue(appendHash(nil, &sum), "/docs"), "hash:deadbeef + /docs"},
		{appendAddr(nil, partIPv4, netip.MustParsePrefix("192.0.2.1/32")), "192.0.2.1"},
		{appendAddr(nil, partIPv4, netip.MustParsePrefix("192.0.2.0/25")), "192.0.2.0/25"},
		{appendAddr(nil, partIPv4, netip.MustParsePrefix("2001:db8:1:2::/64")), "2001:db8:1:2::/64"},
		{appendAddr(nil, partIPv4, netip.MustParsePrefix("2001:db8::1/128")), "2001:db8::1"},
		{appendAddr(nil, insteadIPv4, netip.MustParsePrefix("2001:db8::/48")), "no key, from 2001:db8::/48"},
		{[]byte{insteadNothing, 0}, "no key, from nowhere known"},
		{[]byte{insteadShared, 0}, "no key"},
		{[]byte("someone's own"), "unknown key of 13 bytes"},
		{[]byte{partHash, 1, 2}, "unknown key of 3 bytes"},
		{[]byte{partIPv4, 2, 33, 1}, "unknown key of 4 bytes"},
		{[]byte{partValue, 200}, "unknown key of 2 bytes"},
	} {
		if got := KeyText(c.key); got != c.want {
			t.Errorf("%x: %s, want %s", c.key, got, c.want)
		}
	}
}

// The hash is part of the names of counters that servers share: it never changes.
func TestHashIsWhatItWas(t *testing.T) {
	for _, c := range []struct{ key, value string }{{"some key", "k_acme"}, {"", strings.Repeat("v", 1000)}} {
		key, err := newHashKey([]byte(c.key))
		if err != nil {
			t.Fatal(err)
		}
		if c.key == "" {
			c.key = defaultHashKey
		}
		want := sha256.Sum256([]byte(c.key + strings.Repeat("\x00", 64-len(c.key)) + c.value))
		if got := newHasher().hash(key, c.value); !bytes.Equal(got[:], want[:16]) {
			t.Errorf("%x, want %x", got, want[:16])
		}
	}
}

func TestHashIsKeyed(t *testing.T) {
	h := newHasher()
	seen := make(map[digest]string)
	for i, text := range []string{"", "one", "two", strings.Repeat("k", 64), strings.Repeat("k", 65)} {
		key, err := newHashKey([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []string{"", "a", "b", strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("a", 257), strings.Repeat("a", 60_000)} {
			d := h.hash(key, v)
			if at, twice := seen[d]; twice {
				t.Errorf("key %d with %d bytes hashes as %s", i, len(v), at)
			}
			seen[d] = v
			if again := h.hash(key, v); again != d {
				t.Errorf("key %d with %d bytes hashes differently twice", i, len(v))
			}
		}
	}
}

// FuzzKey frames two lists of values. They are the same bytes only if they are
// the same list.
func FuzzKey(f *testing.F) {
	f.Add("aa", "b", "a", "ab")
	f.Add("a\x01\x01b", "c", "a", "b\x01\x01c")
	f.Add("", "x", "x", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if max(len(a), len(b), len(c), len(d)) > maxPlain {
			return
		}
		one, two := appendValue(appendValue(nil, a), b), appendValue(appendValue(nil, c), d)
		if bytes.Equal(one, two) != (a == c && b == d) {
			t.Errorf("(%q, %q) is %x, (%q, %q) is %x", a, b, one, c, d, two)
		}
		if alone := appendValue(nil, a); bytes.Equal(alone, two) || bytes.HasPrefix(two, alone) != (a == c) {
			t.Errorf("(%q) is %x, (%q, %q) is %x", a, alone, c, d, two)
		}
		key, err := newHashKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := newHasher().hash(key, a)
		if bytes.Equal(appendHash(nil, &sum), appendValue(nil, string(sum[:]))) {
			t.Error("a hash is a value")
		}
	})
}

// FuzzKeyText reads bytes that no rule made.
func FuzzKeyText(f *testing.F) {
	f.Add([]byte{partIPv4, 5, 32, 192, 0, 2, 1})
	f.Add(appendValue([]byte{partHash, 16}, "0123456789abcd"))
	f.Add([]byte{partValue, 0})
	f.Add([]byte{partIPv6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, key []byte) {
		text := KeyText(key)
		if text == "" || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x00") {
			t.Errorf("%x: %q", key, text)
		}
	})
}

func TestRanges(t *testing.T) {
	prefixes := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("192.0.2.128/25"),
		netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("203.0.113.0/31"), netip.MustParsePrefix("203.0.113.2/31"),
	}
	ranges := rangesOf(prefixes)
	for _, text := range []string{
		"9.255.255.255", "10.0.0.0", "10.1.2.3", "10.255.255.255", "11.0.0.0", "192.0.2.6", "192.0.2.7", "192.0.2.8", "192.0.2.127",
		"192.0.2.128", "192.0.2.255", "192.0.3.0", "::", "::1", "::2", "2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::1", "2001:db9::",
		"203.0.112.255", "203.0.113.0", "203.0.113.3", "203.0.113.4", "0.0.0.0", "255.255.255.255",
	} {
		a := netip.MustParseAddr(text)
		want := slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
		if got := inRanges(ranges, a); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if inRanges(ranges, netip.Addr{}) || inRanges(nil, netip.MustParseAddr("::1")) {
		t.Error("no address, or no range, matches")
	}
	if inRanges(rangesOf([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}), netip.Addr{}) {
		t.Error("no address is in all addresses")
	}
}
