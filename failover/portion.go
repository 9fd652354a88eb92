package failover

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/stint-dev/stint"
)

// owing are the names of policies of which a cost above the share has taken windows
// in advance, and until when something is owed, on the clock of the store. A request
// that is settled in several calls holds mu alone, the others hold it together.
type owing struct {
	mu    sync.RWMutex
	until map[string]time.Duration
	most  int // names from which those that owe nothing any more are dropped
}

// add notes that a policy owes until then; mu is held alone.
func (o *owing) add(name string, now, until time.Duration) {
	if o.until == nil {
		o.until, o.most = make(map[string]time.Duration), maxShares
	}
	o.until[name] = max(o.until[name], until)
	if len(o.until) < o.most {
		return
	}
	maps.DeleteFunc(o.until, func(_ string, until time.Duration) bool { return until <= now })
	o.most = max(maxShares, 2*len(o.until))
}

// portion is a charge of a request as the local store is asked.
//
// A cost above the share passes where nothing of the share is used: it asks for all
// of the share, and the rest is taken by force once the whole request was admitted.
// A bucket keeps that as debt. A window would forget it at its end, so the server
// gives up as many windows as the cost is worth: they are owed in a bucket of
// windows, and while that owes anything, no charge passes.
type portion struct {
	charge stint.Charge // of the share
	of     int          // the index of the request's charge
	first  int          // the portion that asks for this one too, -1 if it asks itself
	ahead  *stint.Policy
	looks  bool         // nothing may be owed
	rest   stint.Charge // settled once all was admitted; none without a policy

	verdict, owed, after stint.Verdict
}

// request is the part of a request that the local store decides.
type request struct {
	store    *Store
	now      stint.Micros
	portions []portion
}

// owes says whether a cost above the share of p has taken windows in advance;
// s.owing.mu is held.
func (s *Store) owes(p *stint.Policy, part share) bool {
	return part.ahead != nil && len(s.owing.until) > 0 && s.owing.until[p.Name] > s.clock()
}

// isLarge says whether the i-th charge, or what passes only together with it, is
// above the share and within the limit.
func isLarge(charges []stint.Charge, i int, part share) bool {
	wants := wanted(charges, i)
	return wants > part.policy.Capacity() && wants <= charges[i].Policy.Capacity()
}

// localRequest returns what the local store is asked about charges in several calls;
// s.owing.mu is held alone.
func (s *Store) localRequest(charges []stint.Charge) *request {
	r := &request{store: s}
	servers := s.servers()
	for i := range charges {
		if !isLocal(&charges[i]) {
			continue
		}
		part := s.share(charges[i].Policy, servers)
		p := portion{charge: charges[i], of: i, first: -1, ahead: part.ahead}
		p.charge.Policy = part.policy
		if part.policy != charges[i].Policy {
			r.adapt(&p, charges, part)
		}
		r.portions = append(r.portions, p)
	}
	return r
}

// adapt finds what a portion needs besides its own charge.
func (r *request) adapt(p *portion, charges []stint.Charge, part share) {
	c, most := &charges[p.of], part.policy.Capacity()
	owes := r.store.owes(c.Policy, part)
	switch {
	case c.Forced:
	case c.Cost < 0:
		if windows := max(c.Cost, -stint.MaxUnits) / most; owes && windows < 0 {
			p.rest = stint.Charge{Policy: p.ahead, Key: c.Key, Ask: stint.Ask{Cost: windows}}
		}
	case !isLarge(charges, p.of, part):
		p.looks = owes
	case r.join(p, charges):
	default:
		wants := wanted(charges, p.of)
		p.charge.Cost, p.looks = most, p.ahead != nil
		p.rest = stint.Charge{Policy: part.policy, Key: c.Key, Ask: stint.Ask{Cost: wants - most, Forced: true}}
		if p.looks {
			p.rest.Policy, p.rest.Cost = p.ahead, (wants+most-1)/most
		}
	}
}

// join lets the portion before p that is for the same bucket ask for both.
func (r *request) join(p *portion, charges []stint.Charge) bool {
	for j := range r.portions {
		if of := r.portions[j].of; r.portions[j].first < 0 && together(charges, of, p.of) {
			p.first = j
			return true
		}
	}
	return false
}

// wanted is what the charges that pass only together with the i-th want of its
// bucket.
func wanted(charges []stint.Charge, i int) int64 {
	sum := min(charges[i].Cost, stint.MaxUnits)
	for j := range charges {
		if j != i && together(charges, i, j) {
			sum += min(charges[j].Cost, stint.MaxUnits)
		}
	}
	return sum
}

// together says whether two charges want the same bucket to have room for both.
func together(charges []stint.Charge, i, j int) bool {
	a, b := &charges[i], &charges[j]
	return a.Policy == b.Policy && a.Cost > 0 && b.Cost > 0 && !a.Forced && !b.Forced && !a.Shadow && !b.Shadow &&
		bytes.Equal(a.Key, b.Key)
}

// settle asks the local store, and puts its answers into the verdicts of the
// request.
func (r *request) settle(ctx context.Context, now stint.Micros, verdicts []stint.Verdict) (stint.Micros, error) {
	r.now = now
	if err := r.run(ctx); err != nil {
		return 0, err
	}
	for i := range r.portions {
		p := &r.portions[i]
		if p.first < 0 {
			p.fold()
		} else {
			p.verdict = r.portions[p.first].verdict
		}
		verdicts[p.of] = p.verdict
	}
	return r.now, nil
}

// run settles the portions, all or none.
func (r *request) run(ctx context.Context) error {
	if blocked, err := r.look(ctx); blocked || err != nil {
		return err
	}
	var main call
	for i := range r.portions {
		if p := &r.portions[i]; p.first < 0 && !p.blocked() {
			main.add(p.charge, &p.verdict)
		}
	}
	if err := r.take(ctx, &main); err != nil || main.refused() {
		return err
	}
	var rests call
	for i := range r.portions {
		p := &r.portions[i]
		if p.rest.Policy == nil || !p.verdict.OK || p.blocked() {
			continue
		}
		rests.add(p.rest, &p.after)
	}
	err := r.take(context.WithoutCancel(ctx), &rests)
	now := r.store.clock()
	for i := range r.portions {
		if p := &r.portions[i]; p.looks && p.after != (stint.Verdict{}) {
			r.store.owing.add(p.charge.Policy.Name, now, now+p.after.ResetAfter)
		}
	}
	return err
}

// look finds out who owes windows. Where that refuses the request, or a shadow
// charge, it also asks what else would have been said, and charges nothing.
func (r *request) look(ctx context.Context) (blocked bool, err error) {
	var looks call
	for i := range r.portions {
		if p := &r.portions[i]; p.looks {
			look := p.look()
			look.Shadow = true
			looks.add(look, &p.owed)
		}
	}
	if err := r.take(ctx, &looks); err != nil {
		return false, err
	}
	for i := range r.portions {
		if p := &r.portions[i]; p.blocked() && !p.charge.Shadow {
			return true, r.refuse(ctx, p, r.portions)
		}
	}
	for i := range r.portions {
		if p := &r.portions[i]; p.blocked() {
			if err := r.refuse(ctx, p, r.portions[i:i+1]); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// refuse asks for portions beside the look that is refused for what p owes, so that
// nothing is charged.
func (r *request) refuse(ctx context.Context, p *portion, portions []portion) error {
	const most = stint.MaxCharges - 1
	for len(portions) > 0 {
		var one call
		var ignored stint.Verdict
		one.add(p.look(), &ignored)
		n := min(len(portions), most)
		for i := range portions[:n] {
			if q := &portions[i]; q.first < 0 {
				one.add(q.charge, &q.verdict)
			}
		}
		if err := r.take(ctx, &one); err != nil {
			return err
		}
		portions = portions[n:]
	}
	return nil
}

// look is a charge that is refused while p owes windows.
func (p *portion) look() stint.Charge { return stint.Charge{Policy: p.ahead, Key: p.charge.Key} }

// blocked says that what is owed refuses p.
func (p *portion) blocked() bool { return p.looks && !p.owed.OK }

// fold makes one verdict of what the share, its debt and the owed windows say.
func (p *portion) fold() {
	v, owed := &p.verdict, p.owed
	if p.after != (stint.Verdict{}) {
		if p.rest.Policy != p.ahead {
			v.Remaining, v.ResetAfter, v.NextAfter = p.after.Remaining, p.after.ResetAfter, p.after.NextAfter
			return
		}
		owed = p.after
	}
	if owed.ResetAfter == 0 {
		return
	}
	if v.Remaining > 0 {
		v.NextAfter = 0
	}
	v.Remaining, v.NextAfter, v.ResetAfter = 0, max(v.NextAfter, owed.ResetAfter), max(v.ResetAfter, owed.ResetAfter)
	if p.blocked() {
		v.OK, v.RetryAfter = false, max(v.RetryAfter, owed.RetryAfter)
	}
}

// call is what the local store is asked at once, and where the answers go.
type call struct {
	charges  []stint.Charge
	verdicts []*stint.Verdict
}

func (c *call) add(charge stint.Charge, verdict *stint.Verdict) {
	c.charges, c.verdicts = append(c.charges, charge), append(c.verdicts, verdict)
}

// refused says whether a charge that is no shadow was refused.
func (c *call) refused() bool {
	for i := range c.charges {
		if !c.charges[i].Shadow && !c.verdicts[i].OK {
			return true
		}
	}
	return false
}

// take makes a call at the instant of the request.
func (r *request) take(ctx context.Context, c *call) error {
	said, at, err := r.store.askLocal(ctx, r.now, c.charges)
	if err != nil {
		return err
	}
	r.now = at
	for i, v := range said {
		*c.verdicts[i] = v
	}
	return nil
}
