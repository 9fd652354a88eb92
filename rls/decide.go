package rls

import (
	"context"
	"time"

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
	if err := s.o.Limiter.Decide(ctx, c.charges[:c.n-c.late], d); err != nil {
		return err
	}
	c.rename()
	c.quotas(ctx, s)
	if c.late > 0 {
		c.giveBack(ctx, s)
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
	for j := range d.Results {
		d.Results[j].Shadow = d.Results[j].Shadow && !c.soft[j]
	}
	if d.Allowed {
		c.refund(ctx, s)
	} else if d.RetryAfter >= d.Results[best].RetryAfter {
		return // Another rule refuses for longer.
	}
	d.Refuse(reason(&d.Results[best]), d.Results[best])
}

// reason is why r refuses.
func reason(r *stint.Result) stint.Reason {
	switch {
	case r.Unknown:
		return stint.ReasonUnavailable
	case r.Capacity == 0:
		return stint.ReasonBlocked
	case r.RetryAfter == stint.Never:
		return stint.ReasonNever
	}
	return stint.ReasonLimit
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

// refund takes back what the rules beside the quotas were charged. Where it is not
// sure to take back the same, the charge stays: that is the safe side.
func (c *call) refund(ctx context.Context, s *Service) {
	if c.decision.Degraded {
		return // The counts that were charged may be others by now.
	}
	var back [stint.MaxCharges]stint.Charge
	var of [stint.MaxCharges]int
	n := 0
	for j := range c.decision.Results {
		r := &c.decision.Results[j]
		if c.soft[j] || !r.OK || r.Unknown || r.Unlimited || r.Cost == 0 || endsSoon(r) {
			continue
		}
		back[n], of[n] = c.charges[j], j
		back[n].Ask = stint.Ask{Cost: -r.Cost}
		n++
	}
	if n == 0 {
		return
	}
	d, err := s.o.Limiter.Take(context.WithoutCancel(ctx), back[:n]...)
	if err != nil {
		return
	}
	for i := range d.Results {
		c.decision.Results[of[i]].Verdict = d.Results[i].Verdict
	}
}

// endsSoon says whether the count that r was charged to may be gone before it can be
// given back: then the next window would give back what it was not charged.
func endsSoon(r *stint.Result) bool { return r.ResetAfter < min(time.Second, r.Limit.Window/16) }

// giveBack makes the charges below 0 of a request with several quotas, if the request
// passes. In a refused one nobody asks their buckets.
func (c *call) giveBack(ctx context.Context, s *Service) {
	from := c.n - c.late
	var d stint.Decision
	if c.decision.Allowed {
		d, _ = s.o.Limiter.Take(ctx, c.charges[from:c.n]...) // A store that fails here gives nothing back: the safe side.
	}
	for j := from; j < c.n; j++ {
		ch := &c.charges[j]
		r := stint.Result{
			Limit: ch.Policy.Limit, Capacity: ch.Policy.Capacity(), Key: ch.Key, Cost: ch.Cost,
			Shadow: ch.Shadow, Unknown: true, Verdict: stint.Verdict{OK: true},
		}
		if i := j - from; i < len(d.Results) {
			r = d.Results[i]
		}
		r.Policy = c.rules[j].Name
		c.decision.Results = append(c.decision.Results, r)
	}
}
