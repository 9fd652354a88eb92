package clientip

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Trust adds one entry, as an operator writes it, to the trusted proxies:
//
//   - a network, "10.0.0.0/8" or "2001:db8:ff::/48", without host bits: for
//     "10.0.0.5/8" the error asks which of the network and the address is meant;
//   - an address, "10.0.0.5" or "2001:db8::1";
//   - "private", the networks that no public client calls from: RFC 1918,
//     loopback, link-local and IPv6 unique local;
//   - "unix", peers on Unix sockets.
//
// An error is a *FieldError, and then nothing is added.
func (o *Options) Trust(entry string) error {
	switch entry {
	case "unix":
		o.TrustUnix = true
		return nil
	case "private":
		o.TrustedProxies = append(o.TrustedProxies, privateNetworks()...)
		return nil
	}
	network, hint := parseNetwork(entry)
	if hint != "" {
		return &FieldError{"trusted_proxies", strconv.Quote(entry), hint}
	}
	o.TrustedProxies = append(o.TrustedProxies, network)
	return nil
}

func privateNetworks() []netip.Prefix {
	return []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom4([4]byte{10}), 8),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16}), 12),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168}), 16),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{169, 254}), 16),
		netip.PrefixFrom(netip.IPv6Loopback(), 128),
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfc}), 7),
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfe, 0x80}), 10),
	}
}

// parseNetwork reads a network or a single address; hint is empty unless it is
// neither.
func parseNetwork(entry string) (network netip.Prefix, hint string) {
	host, length, sliced := strings.Cut(entry, "/")
	addr, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return network, hintForHost(host)
	case addr.Zone() != "":
		return network, "a zone cannot be trusted by name: leave out what follows the %"
	case !sliced:
		return netip.PrefixFrom(addr, addr.BitLen()), ""
	}
	bits, ok := parseLength(length)
	if !ok {
		return network, fmt.Sprintf("no prefix length: write /0 to /%d behind the address", addr.BitLen())
	}
	if bits > addr.BitLen() {
		return network, fmt.Sprintf("prefix too long: write /0 to /%d", addr.BitLen())
	}
	network = netip.PrefixFrom(addr, bits)
	if masked := network.Masked(); masked.Addr() != addr {
		return network, fmt.Sprintf("more than a network: write %s for the network or %s for the one address", masked, addr)
	}
	return network, ""
}

// parseLength reads a prefix length: up to three digits, no sign, no leading
// zero.
func parseLength(s string) (int, bool) {
	if len(s) > 3 || !isDigits(s) || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// hintForHost says what to write instead of host, which is no address.
func hintForHost(host string) string {
	if addr, ok := parseHost(host, isPort); ok {
		return fmt.Sprintf("write the address alone: %s", addr)
	}
	return `write a network such as "10.0.0.0/8", an address such as "10.0.0.5", "private" or "unix"`
}
