package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stint-dev/stint"
)

// Reference is a store that is obviously right: a map, a lock, and copies of
// everything. It forgets nothing, so it is for tests only.
//
// Where the contract of [stint.Store] leaves room, it does this. A look writes
// nothing. A request that is refused charges nothing, but a bucket that refused
// stays moved if the clock was set back so far, and carried over to a limit that is
// newer than its last charge, unless a charge before it in the request was for the
// same bucket. The verdict of a charge that would have fitted
// then tells of the bucket as it is, not as it would have been. A limit is in force
// from the first use of its policy.
type Reference struct {
	mu      sync.Mutex
	buckets map[name]bucket
	since   map[*stint.Policy]stint.Micros
}

var _ stint.Store = (*Reference)(nil)

// name is a bucket's. Another algorithm counts in other buckets.
type name struct{ policy, algorithm, key string }

// bucket is a cell or a list, and the params it was counted under.
type bucket struct {
	params stint.Params
	cell   stint.Cell
	list   []int64
}

// NewReference returns an empty store.
func NewReference() *Reference {
	return &Reference{buckets: make(map[name]bucket), since: make(map[*stint.Policy]stint.Micros)}
}

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
		if _, known := r.since[c.Policy]; !known {
			r.since[c.Policy] = now
		}
		n := nameOf(c)
		before, ok := charged[n]
		if !ok {
			before = r.buckets[n]
		}
		after, v := r.take(before, c, now, c.Ask)
		verdicts[i] = v
		refused = refused || !v.OK && !c.Shadow
		other := before.params != c.Policy.Params && before.cell != (stint.Cell{})
		if after.isOther(r.under(before, c.Policy, now)) || c.Cost != 0 && other && (v.OK || r.isNewer(before, c.Policy, now)) {
			charged[n] = after
		}
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
			_, *v = r.take(b, c, now, stint.Ask{})
			v.OK, v.RetryAfter = true, 0
			continue
		}
		under := r.under(b, c.Policy, now)
		if moved, _ := r.take(under, c, now, c.Ask); first && (moved.isOther(under) || c.Cost != 0 && r.isNewer(b, c.Policy, now)) {
			r.buckets[n] = moved
		}
	}
}

func nameOf(c *stint.Charge) name {
	return name{c.Policy.Name, c.Policy.Algorithm.Name(), string(c.Key)}
}

// under is b counted under p.
func (r *Reference) under(b bucket, p *stint.Policy, now stint.Micros) bucket {
	if a, ok := p.Algorithm.(stint.CellAlgorithm); ok && b.params != p.Params && b.cell != (stint.Cell{}) {
		b.cell = a.Carry(b.cell, &b.params, &p.Params, max(min(r.since[p], now), b.cell.At))
	}
	b.params = p.Params
	return b
}

// isNewer says whether p came into force after the last charge of b, which was
// under another limit. Then a refusal keeps the bucket carried over, since what it
// promises counts from there.
func (r *Reference) isNewer(b bucket, p *stint.Policy, now stint.Micros) bool {
	_, isCell := p.Algorithm.(stint.CellAlgorithm)
	return isCell && b.params != p.Params && b.cell != (stint.Cell{}) && min(r.since[p], now) > b.cell.At
}

// take asks a copy of b and returns the bucket afterwards.
func (r *Reference) take(b bucket, c *stint.Charge, now stint.Micros, ask stint.Ask) (bucket, stint.Verdict) {
	after := r.under(b, c.Policy, now)
	var v stint.Verdict
	switch a := c.Policy.Algorithm.(type) {
	case stint.ListAlgorithm:
		after.list, v = a.TakeList(slices.Clone(b.list), &c.Policy.Params, now, ask)
	case stint.CellAlgorithm:
		after.cell, v = a.Take(after.cell, &c.Policy.Params, now, ask)
	}
	if ask.Cost == 0 {
		return b, v
	}
	return after, v
}

// isOther says whether b is to be written where a was.
func (b bucket) isOther(a bucket) bool {
	return b.params != a.params || b.cell != a.cell || !slices.Equal(b.list, a.list)
}

// expires is the instant from which b, of the algorithm of p, is worth nothing.
func (b bucket) expires(p *stint.Policy) stint.Micros {
	switch a := p.Algorithm.(type) {
	case stint.ListAlgorithm:
		return a.ExpiresList(b.list, &b.params)
	case stint.CellAlgorithm:
		if b.cell != (stint.Cell{}) {
			return a.Expires(b.cell, &b.params)
		}
	}
	return 0
}
