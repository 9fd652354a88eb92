package storetest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/stint-dev/stint"
)

// Reference is a store that is obviously right: a map, a lock, and copies of
// everything. It forgets nothing, so it is for tests only.
//
// Where the contract of [stint.Store] leaves room, it does this. A look writes
// nothing. A request that is refused writes nothing, but a bucket that refused stays
// moved if the clock was set back so far. Its verdicts tell of the buckets as they
// are, each asked for all that the request wants of it. A bucket that another limit
// counted last is seen as of its last charge, and what the new limit lets off is kept
// as debt.
type Reference struct {
	mu      sync.Mutex
	buckets map[name]bucket
}

var _ stint.Store = (*Reference)(nil)

// name is a bucket's.
type name struct{ policy, key string }

// NewReference returns an empty store.
func NewReference() *Reference { return &Reference{buckets: make(map[name]bucket)} }

// Take implements [stint.Store]. Its own clock is [time.Now].
func (r *Reference) Take(_ context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if len(charges) != len(verdicts) || len(charges) > stint.MaxCharges {
		return 0, fmt.Errorf("%d charges and %d verdicts: as many of each, at most %d",
			len(charges), len(verdicts), stint.MaxCharges)
	}
	for i := range charges {
		if n := len(charges[i].Key); n > stint.MaxKey {
			return 0, fmt.Errorf("key of %d bytes: at most %d", n, stint.MaxKey)
		}
	}
	if now == 0 {
		now = stint.MicrosOf(time.Now())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	charged, refused := make(map[name]bucket), false
	for i := range charges {
		c := &charges[i]
		n := nameOf(c)
		before, ok := charged[n]
		if !ok {
			before = r.buckets[n]
		}
		after, v := before.settle(c.Policy, now, c.Ask)
		verdicts[i] = v
		refused = refused || !v.OK && !c.Shadow
		charged[n] = after
	}
	if refused {
		r.refuse(now, charges, verdicts)
		return now, nil
	}
	maps.Copy(r.buckets, charged)
	return now, nil
}

// refuse ends a request that charges nothing.
func (r *Reference) refuse(now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) {
	seen := make(map[name]bool)
	for i := range charges {
		c, v := &charges[i], &verdicts[i]
		n := nameOf(c)
		b, first := r.buckets[n], !seen[n]
		seen[n] = true
		if v.OK {
			_, *v = b.settle(c.Policy, now, stint.Ask{})
			v.OK, v.RetryAfter = true, 0
			continue
		}
		after, said := b.settle(c.Policy, now, wanted(charges, i))
		if said.OK { // A refund before it gave back less than it names.
			continue
		}
		if *v = said; first && c.Cost != 0 {
			r.buckets[n] = after
		}
	}
}

// wanted is what the bucket of the i-th charge must have room for, before the charge
// passes: for what all enforced charges of the request want of the bucket together,
// and for its own if it is a shadow.
func wanted(charges []stint.Charge, i int) stint.Ask {
	c := &charges[i]
	var sum, most, run, worst int64
	add := func(cost int64) {
		sum, run = sum+cost, max(0, run+cost)
	}
	must := func() { most, worst = max(most, sum), max(worst, run) }
	for j := range charges {
		o := &charges[j]
		if nameOf(o) != nameOf(c) || o.Shadow && j != i {
			continue
		}
		cost := min(max(o.Cost, -stint.MaxUnits), stint.MaxUnits)
		switch add(cost); {
		case o.Cost == 0: // a look asks for room for one
			add(1)
			must()
			add(-1)
		case o.Cost > 0 && !o.Forced:
			must()
		}
		if c.Shadow && j == i {
			break
		}
	}
	if worst > c.Policy.Capacity() {
		most = worst // it never fits
	}
	return stint.Ask{Cost: max(most, 1), MaxDelay: c.MaxDelay}
}

func nameOf(c *stint.Charge) name { return name{c.Policy.Name, string(c.Key)} }
