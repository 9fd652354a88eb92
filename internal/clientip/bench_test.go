package clientip

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

func BenchmarkClient(b *testing.B) {
	plain := resolver(b, Options{})
	private := resolver(b, trusting(b, "private"))
	o := trusting(b, "private")
	o.Header = "Forwarded"
	forwarded := resolver(b, o)
	many := resolver(b, Options{TrustedProxies: manyNetworks(200)})
	for _, c := range []struct {
		name, peer string
		r          *Resolver
		header     []string
	}{
		{"direct", "203.0.113.9:51234", plain, nil},
		{"direct IPv6", "[2001:db8:1:2::9]:51234", plain, nil},
		{"one proxy", "10.0.0.5:40000", private, []string{"203.0.113.9"}},
		{"three proxies", "10.0.0.5:40000", private, []string{"198.51.100.7, 203.0.113.9, 10.1.2.3, 10.1.2.4"}},
		{"forwarded", "10.0.0.5:40000", forwarded, []string{`for="[2001:db8::9]:443";proto=https;host=example.com`}},
		{"200 networks", "100.64.100.1:40000", many, []string{"203.0.113.9"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.r.Client(c.peer, c.header)
			}
		})
	}
}

// manyNetworks returns every other /24 from 100.64.0.0 on.
func manyNetworks(n int) []netip.Prefix {
	out := make([]netip.Prefix, n)
	for i := range out {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 100<<24|64<<16|uint32(i)<<9)
		out[i] = netip.PrefixFrom(netip.AddrFrom4(a), 24)
	}
	return out
}
