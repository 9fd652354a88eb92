package rls

import (
	"slices"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
)

// collect finds the rules of a request and makes their charges.
func (c *call) collect(s *Service, domain *descriptors.Domain, req *pb.RateLimitRequest) error {
	c.n, c.late, c.keys = 0, 0, c.keys[:0]
	replaces := false
	for i, d := range req.GetDescriptors() {
		from := len(c.keys)
		r, err := c.match(s, domain, d, i)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if c.n == stint.MaxCharges {
			return s.refuse("more than %d descriptors of this request have a limit", stint.MaxCharges)
		}
		cost, err := s.cost(req, d, i)
		if err != nil {
			return err
		}
		c.rules[c.n], c.at[c.n], c.soft[c.n] = r, i, false
		c.charges[c.n] = stint.Charge{Policy: r.Policy, Key: c.keys[from:len(c.keys):len(c.keys)], Ask: stint.Ask{Cost: cost}, Shadow: r.Shadow || s.o.Shadow}
		c.n++
		replaces = replaces || len(r.Replaces) > 0
	}
	if replaces {
		c.replace()
	}
	c.soften()
	return nil
}

// match finds the rule of one descriptor and appends its key to c.keys.
func (c *call) match(s *Service, domain *descriptors.Domain, d *ratelimit.RateLimitDescriptor, i int) (r *descriptors.Rule, err error) {
	if d.GetLimit() == nil {
		r, c.keys = descriptors.Match(domain, d.GetEntries(), c.keys)
		return r, nil
	}
	window, ok := windowOf(d.GetLimit())
	if !ok {
		return nil, s.refuse("the limit of descriptor %d has the unit %v times %d: send SECOND, MINUTE, HOUR, DAY, MONTH or YEAR, at least once and for at most 100 years",
			i, d.GetLimit().GetUnit(), multiplier(d.GetLimit()))
	}
	limit := stint.Limit{Count: int64(d.GetLimit().GetRequestsPerUnit()), Window: window}
	r, c.keys, err = descriptors.Override(domain, d.GetEntries(), limit, c.keys)
	if err != nil {
		return nil, s.refuse("the limit of descriptor %d: %v", i, err)
	}
	return r, nil
}

// day is the length of a day here, always.
const day = 24 * time.Hour

// longest is the longest window of a limit in a request.
const longest = 100 * 365 * day

// windowOf is the window of a limit in a request. It is false for a unit that does
// not exist.
func windowOf(l *ratelimit.RateLimitDescriptor_RateLimitOverride) (time.Duration, bool) {
	var unit time.Duration
	switch l.GetUnit() {
	case typev3.RateLimitUnit_SECOND:
		unit = time.Second
	case typev3.RateLimitUnit_MINUTE:
		unit = time.Minute
	case typev3.RateLimitUnit_HOUR:
		unit = time.Hour
	case typev3.RateLimitUnit_DAY:
		unit = day
	case typev3.RateLimitUnit_MONTH:
		unit = 30 * day
	case typev3.RateLimitUnit_YEAR:
		unit = 365 * day
	default:
		return 0, false
	}
	n := multiplier(l)
	if n == 0 || n > int64(longest/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

func multiplier(l *ratelimit.RateLimitDescriptor_RateLimitOverride) int64 {
	if m := l.GetUnitMultiplier(); m != nil {
		return int64(m.GetValue())
	}
	return 1
}

// cost is what a descriptor asks for: its own hits_addend, else the request's, of
// which 0 is 1. Below 0 it gives back.
func (s *Service) cost(req *pb.RateLimitRequest, d *ratelimit.RateLimitDescriptor, i int) (int64, error) {
	hits := max(uint64(req.GetHitsAddend()), 1)
	if own := d.GetHitsAddend(); own != nil {
		hits = own.GetValue()
	}
	if hits > uint64(stint.MaxUnits) {
		return 0, s.refuse("hits_addend %d of descriptor %d: at most %d; to give back, send is_negative_hits", hits, i, stint.MaxUnits)
	}
	if d.GetIsNegativeHits() {
		return -int64(hits), nil
	}
	return int64(hits), nil
}

// replace drops the charges of rules that another rule of the request replaces.
func (c *call) replace() {
	var drop [stint.MaxCharges]bool
	for j := range c.n {
		drop[j] = c.replaced(c.rules[j].Label)
	}
	kept := 0
	for j := range c.n {
		if !drop[j] {
			c.rules[kept], c.at[kept], c.charges[kept] = c.rules[j], c.at[j], c.charges[j]
			kept++
		}
	}
	clear(c.rules[kept:c.n])
	clear(c.charges[kept:c.n])
	c.n = kept
}

// replaced says whether a rule of the request replaces those called label.
func (c *call) replaced(label string) bool {
	return label != "" && slices.ContainsFunc(c.rules[:c.n], func(r *descriptors.Rule) bool {
		return slices.Contains(r.Replaces, label)
	})
}

// soften makes shadows of several quotas: they refuse only together. A single one is
// a limit like others.
func (c *call) soften() {
	quotas := 0
	for j, r := range c.rules[:c.n] {
		if r.Quota && !c.charges[j].Shadow && !r.Unlimited() {
			c.soft[j] = true
			quotas++
		}
	}
	if quotas < 2 {
		clear(c.soft[:c.n])
		return
	}
	for j := range c.rules[:c.n] {
		c.charges[j].Shadow = c.charges[j].Shadow || c.soft[j]
	}
	c.postpone()
}

// postpone moves the charges that give back behind the others. They can not be taken
// back, since nobody knows how much of them had an effect, so they come when the
// quotas have let the request pass.
func (c *call) postpone() {
	for j := c.n - 1; j >= 0; j-- {
		if c.charges[j].Cost >= 0 || c.soft[j] {
			continue
		}
		last := c.n - 1 - c.late
		rule, at, charge := c.rules[j], c.at[j], c.charges[j]
		copy(c.rules[j:last], c.rules[j+1:last+1])
		copy(c.at[j:last], c.at[j+1:last+1])
		copy(c.soft[j:last], c.soft[j+1:last+1])
		copy(c.charges[j:last], c.charges[j+1:last+1])
		c.rules[last], c.at[last], c.soft[last], c.charges[last] = rule, at, false, charge
		c.late++
	}
}
