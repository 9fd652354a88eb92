package clientip

import (
	"errors"
	"net/netip"
	"slices"
)

// networks is a set of addresses: masked prefixes in order, none inside
// another. Two prefixes are nested or have nothing in common, so the only one
// that can hold an address is the last that does not begin behind it.
type networks []netip.Prefix

// newNetworks returns the union of prefixes.
func newNetworks(prefixes []netip.Prefix) (networks, error) {
	var errs []error
	sorted := make([]netip.Prefix, 0, len(prefixes))
	for _, p := range prefixes {
		if !p.IsValid() {
			errs = append(errs, &FieldError{"trusted_proxies", p.String(), "not a network: write one such as 10.0.0.0/8"})
			continue
		}
		sorted = append(sorted, unmap(p).Masked())
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortFunc(sorted, compareNetworks)
	var set networks
	for _, p := range sorted {
		if !set.contain(p.Addr()) {
			set = append(set, p)
		}
	}
	return set, nil
}

// contain reports whether one of n holds addr, which is unmapped.
func (n networks) contain(addr netip.Addr) bool {
	low, high := 0, len(n)
	for low < high {
		mid := int(uint(low+high) / 2)
		if n[mid].Addr().Compare(addr) <= 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low > 0 && n[low-1].Contains(addr)
}

// compareNetworks orders by first address, the wider network first.
func compareNetworks(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return a.Bits() - b.Bits()
}

// unmap returns the IPv4 network that an IPv4-mapped one stands for.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
