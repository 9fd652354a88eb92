// Package storetest holds what every store must do: ledgers of each algorithm,
// behaviours that no store may lack, and random charges that two stores must
// answer alike.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stint-dev/stint"
)

// Start is the instant that the tests count from: 2026-03-02T00:00:00Z, the start
// of a minute, an hour and a day.
const Start = stint.Micros(1_772_409_600_000_000)

// Run runs everything against stores made by open, which returns an empty one and
// sees to its end by t.Cleanup. The stores must use the instants they are given.
//
// A store that is also a [stint.OneStore] is tested both ways.
func Run(t *testing.T, open func(t *testing.T) stint.Store) {
	t.Helper()
	if _, ok := open(t).(stint.OneStore); !ok {
		runAll(t, open)
		return
	}
	t.Run("Take", func(t *testing.T) { runAll(t, open) })
	t.Run("TakeOne", func(t *testing.T) {
		runAll(t, func(t *testing.T) stint.Store { return oneByOne{open(t).(stint.OneStore)} })
	})
}

// oneByOne is a store whose single charges go through TakeOne.
type oneByOne struct{ stint.OneStore }

// Take implements [stint.Store].
func (s oneByOne) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if len(charges) != 1 || charges[0].Shadow {
		return s.OneStore.Take(ctx, now, charges, verdicts)
	}
	c := &charges[0]
	at, v, err := s.TakeOne(ctx, now, c.Policy, string(c.Key), c.Ask)
	verdicts[0] = v
	return at, err
}

// runAll runs everything on stores asked by Take.
func runAll(t *testing.T, open func(t *testing.T) stint.Store) {
	t.Helper()
	t.Run("vectors", func(t *testing.T) { runVectors(t, open) })
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) { b.run(t, &bench{T: t, store: open(t), now: Start}) })
	}
	t.Run("twin of the reference", func(t *testing.T) { Twins(t, NewReference(), open(t), 20_000) })
}

// behaviours are the tests that are stories, not ledgers.
var behaviours = concat(sharedFate, clocks, changes, buckets, crowds)

type behaviour struct {
	name string
	run  func(*testing.T, *bench)
}

func concat(groups ...[]behaviour) (all []behaviour) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// bench is a store under test and the time.
type bench struct {
	*testing.T
	store stint.Store
	now   stint.Micros
}

// policy makes a policy; the limit is a sentence.
func policy(t testing.TB, name, limit string, a stint.Algorithm) *stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// one is a charge of cost 1.
func one(p *stint.Policy, key string) stint.Charge { return of(p, key, 1) }

// of is a charge.
func of(p *stint.Policy, key string, cost int64) stint.Charge {
	return stint.Charge{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}
}

// shadow makes a charge one that is only tried.
func shadow(c stint.Charge) stint.Charge {
	c.Shadow = true
	return c
}

// forced makes a charge one that is taken whatever the limit says.
func forced(c stint.Charge) stint.Charge {
	c.Forced = true
	return c
}

// take settles charges now.
func (b *bench) take(charges ...stint.Charge) []stint.Verdict {
	b.Helper()
	verdicts := make([]stint.Verdict, len(charges))
	at, err := b.store.Take(context.Background(), b.now, charges, verdicts)
	if err != nil {
		b.Fatal(err)
	}
	if at != b.now {
		b.Fatalf("settled at %d, want %d, the instant that was given", at, b.now)
	}
	return verdicts
}

// allows settles charges that must all fit.
func (b *bench) allows(charges ...stint.Charge) []stint.Verdict {
	b.Helper()
	verdicts := b.take(charges...)
	for i, v := range verdicts {
		if !v.OK {
			b.Fatalf("charge %d: refused, want allowed: %+v", i, v)
		}
	}
	return verdicts
}

// refuses settles charges of which the one at index by is the only one that must
// not fit.
func (b *bench) refuses(by int, charges ...stint.Charge) []stint.Verdict {
	b.Helper()
	verdicts := b.take(charges...)
	for i, v := range verdicts {
		if v.OK != (i != by) {
			b.Fatalf("charge %d: OK %v, want only charge %d refused: %+v", i, v.OK, by, verdicts)
		}
	}
	return verdicts
}

// left demands what remains in a bucket.
func (b *bench) left(p *stint.Policy, key string, want int64) {
	b.Helper()
	if v := b.take(of(p, key, 0))[0]; v.Remaining != want {
		b.Fatalf("policy %q, key %.20q: %d remain, want %d", p.Name, key, v.Remaining, want)
	}
}

// passes counts how many of n requests, one after the other, pass.
func (b *bench) passes(n int, charges ...stint.Charge) (passed int) {
	b.Helper()
	for range n {
		ok := true
		for i, v := range b.take(charges...) {
			ok = ok && (v.OK || charges[i].Shadow)
		}
		if ok {
			passed++
		}
	}
	return passed
}

// after moves the clock.
func (b *bench) after(d time.Duration) { b.now += stint.Micros(d / time.Microsecond) }
