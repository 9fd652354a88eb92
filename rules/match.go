package rules

import (
	"net/netip"
	"slices"
	"strings"
)

// match is the conditions of a rule, compiled.
type match struct {
	methods []string
	hosts   []host
	ranges  []addrRange // sorted, apart from each other
	paths   []pattern
	plans   []int // their numbers; sorted
	values  []condition
	has     []int // keys
	lacks   []int
	written *written // never nil
}

// written is what stands in messages as it was written.
type written struct {
	plan, host []string
	ip         []netip.Prefix
}

// host is a name, or all names below one.
type host struct {
	name  string
	below bool // name starts with a dot
}

func (h host) match(name string) bool {
	if h.below {
		return len(name) > len(h.name) && strings.HasSuffix(name, h.name)
	}
	return name == h.name
}

func (h host) covers(o host) bool {
	if o.below {
		return h.below && strings.HasSuffix(o.name, h.name)
	}
	return h.match(o.name)
}

// apart says that no name fits both.
func (h host) apart(o host) bool {
	if h.below && o.below {
		return !strings.HasSuffix(h.name, o.name) && !strings.HasSuffix(o.name, h.name)
	}
	return !h.covers(o) && !o.covers(h)
}

// condition is about one header, query parameter or cookie.
type condition struct {
	field int
	in    []string // its values; none means any
	words string   // header X-Team
}

// addrRange is all addresses from first to last.
type addrRange struct{ first, last netip.Addr }

// rangesOf returns the addresses of prefixes as ranges for a binary search.
func rangesOf(prefixes []netip.Prefix) []addrRange {
	all := make([]addrRange, len(prefixes))
	for i, p := range prefixes {
		all[i] = addrRange{p.Addr(), lastOf(p)}
	}
	slices.SortFunc(all, func(a, b addrRange) int { return a.first.Compare(b.first) })
	merged := all[:0]
	for _, r := range all {
		if n := len(merged); n > 0 && r.first.Compare(merged[n-1].last) <= 0 {
			if r.last.Compare(merged[n-1].last) > 0 {
				merged[n-1].last = r.last
			}
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// lastOf is the last address of a prefix, which is masked.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// inRanges says whether a is in one of the ranges.
func inRanges(ranges []addrRange, a netip.Addr) bool {
	low, high := 0, len(ranges)
	for low < high {
		mid := int(uint(low+high) / 2)
		if ranges[mid].last.Less(a) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low < len(ranges) && ranges[low].first.Compare(a) <= 0
}

// matches says whether the rule's conditions hold, the cheap ones first. The
// {names} of its path are captured then.
func (e *Evaluation) matches(m *match) outcome {
	if len(m.methods) > 0 {
		if method, _ := e.value(methodField); !slices.Contains(m.methods, method) {
			return otherMethod
		}
	}
	if len(m.hosts) > 0 && !e.hostIn(m.hosts) {
		return otherHost
	}
	if len(m.ranges) > 0 && !inRanges(m.ranges, e.address()) {
		return otherAddress
	}
	e.captureNames = nil
	if len(m.paths) > 0 {
		if o := e.pathIn(m.paths); o != charged {
			return o
		}
	}
	for i := range m.values {
		if !e.holds(&m.values[i]) {
			return otherValue
		}
	}
	if len(m.plans) > 0 {
		if _, ok := slices.BinarySearch(m.plans, e.planNumber()); !ok {
			return otherPlan
		}
	}
	for _, k := range m.has {
		if !e.present(k) {
			return hasNot
		}
	}
	if slices.ContainsFunc(m.lacks, e.present) {
		return lacksNot
	}
	return charged
}

func (e *Evaluation) hostIn(hosts []host) bool {
	name, ok := e.value(hostField)
	if !ok {
		return false
	}
	for _, h := range hosts {
		if h.match(name) {
			return true
		}
	}
	return false
}

func (e *Evaluation) pathIn(paths []pattern) outcome {
	path, ok := e.value(pathField)
	if len(path) > MaxValue {
		return pathTooLong
	}
	if !ok {
		return otherPath
	}
	for i := range paths {
		if paths[i].match(path, &e.captures) {
			e.captureNames = paths[i].names
			return charged
		}
	}
	return otherPath
}

// holds says whether a header, query parameter or cookie is as the rule wants it.
func (e *Evaluation) holds(c *condition) bool {
	v, ok := e.value(c.field)
	return ok && (len(c.in) == 0 || slices.Contains(c.in, v))
}
