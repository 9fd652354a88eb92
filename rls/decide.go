package rls

import (
	"context"

	"github.com/stint-dev/stint"
)

// decide settles the charges, and what several quotas mean for them.
func (c *call) decide(ctx context.Context, s *Service) error {
	d := &c.decision
	if c.n == 0 {
		d.Clear()
		d.Allowed = true
		return nil
	}
	if err := s.o.Limiter.Decide(ctx, c.charges[:c.n], d); err != nil {
		return err
	}
	c.rename()
	if d.Allowed {
		c.quotas(ctx, s)
	}
	if d.Reason == stint.ReasonUnavailable {
		s.unavailable.Add(1)
	}
	if s.o.Observe != nil {
		s.o.Observe(d)
	}
	return nil
}

// rename gives the results the names of the rules, which share names of counters.
func (c *call) rename() {
	d := &c.decision
	for j := range d.Results {
		r := &d.Results[j]
		if d.Policy == r.Policy && len(d.Key) > 0 && len(r.Key) > 0 && &d.Key[0] == &r.Key[0] {
			d.Policy = c.rules[j].Name
		}
		r.Policy = c.rules[j].Name
	}
}

// quotas refuses a request of which all quotas are over, and gives back what the
// other rules were charged. Otherwise, where no other rule has a say, the quota that
// has most left is the one to name.
func (c *call) quotas(ctx context.Context, s *Service) {
	d := &c.decision
	best := -1
	for j := range d.Results {
		if !c.soft[j] {
			continue
		}
		if r := &d.Results[j]; best < 0 || better(r, &d.Results[best]) {
			best = j
		}
	}
	switch {
	case best < 0:
		return
	case d.Results[best].OK:
		if d.Policy == "" {
			d.Result = d.Results[best]
		}
		return
	}
	c.refund(ctx, s)
	for j := range d.Results {
		d.Results[j].Shadow = d.Results[j].Shadow && !c.soft[j]
	}
	d.Result = d.Results[best]
	d.Allowed, d.Reason = false, stint.ReasonLimit
	if d.Unknown {
		d.Reason = stint.ReasonUnavailable
	}
}

// better says whether quota r is to be named rather than b: one that lets through,
// then one with more left, or the one to wait for least.
func better(r, b *stint.Result) bool {
	switch {
	case r.OK != b.OK:
		return r.OK
	case r.OK:
		return r.Remaining > b.Remaining
	}
	return r.RetryAfter < b.RetryAfter
}

// refund takes back what the rules beside the quotas were charged.
func (c *call) refund(ctx context.Context, s *Service) {
	var back [stint.MaxCharges]stint.Charge
	var of [stint.MaxCharges]int
	n := 0
	for j := range c.decision.Results {
		r := &c.decision.Results[j]
		if c.soft[j] || !r.OK || r.Unknown || r.Unlimited || r.Cost == 0 {
			continue
		}
		back[n], of[n] = c.charges[j], j
		back[n].Ask = stint.Ask{Cost: -r.Cost, Forced: r.Cost < 0}
		n++
	}
	if n == 0 {
		return
	}
	// A store that fails here keeps the charge: the safe side.
	d, err := s.o.Limiter.Take(context.WithoutCancel(ctx), back[:n]...)
	for i := range d.Results {
		if err == nil {
			c.decision.Results[of[i]].Verdict = d.Results[i].Verdict
		}
	}
}
