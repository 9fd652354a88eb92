package shield_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/shield"
	"github.com/stint-dev/stint/storetest"
)

// shared is a store that counts how often it is asked and can be slow on both ways,
// or fail.
type shared struct {
	stint.Store
	asked  atomic.Int64
	before func()
	after  func()
	err    error
}

func (s *shared) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	s.asked.Add(1)
	if was, ok := ctx.Value(askedKey{}).(*bool); ok {
		*was = true
	}
	if s.before != nil {
		s.before()
	}
	at, err := s.Store.Take(ctx, now, charges, verdicts)
	if s.after != nil {
		s.after()
	}
	if s.err != nil {
		err = s.err
	}
	return at, err
}

// askedKey is the key of a context's *bool that says whether the request came to
// the shared store.
type askedKey struct{}

// story is a shield before a shared store.
type story struct {
	testing.TB
	shared *shared
	store  *shield.Store
}

// newStory begins one whose shared store is a reference.
func newStory(t testing.TB, o shield.Options) *story {
	t.Helper()
	s := &story{TB: t, shared: &shared{Store: storetest.NewReference()}}
	o.Store = s.shared
	s.store = newShield(t, o)
	return s
}

func newShield(t testing.TB, o shield.Options) *shield.Store {
	t.Helper()
	store, err := shield.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func newMemory(t testing.TB) *memstore.Store {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// tell runs a story on a clock of its own.
func tell(t *testing.T, o shield.Options, story func(*story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { story(newStory(t, o)) })
}

// trip makes the way to the shared store, and the way back, take a while.
func (s *story) trip(there, back time.Duration) {
	s.shared.before = func() { time.Sleep(there) }
	s.shared.after = func() { time.Sleep(back) }
}

// take sends charges through the shield.
func (s *story) take(charges ...stint.Charge) []stint.Verdict {
	s.Helper()
	return s.takeFrom(s.store, charges...)
}

// behind sends charges past the shield, as another server does.
func (s *story) behind(charges ...stint.Charge) []stint.Verdict {
	s.Helper()
	return s.takeFrom(s.shared.Store, charges...)
}

func (s *story) takeFrom(store stint.Store, charges ...stint.Charge) []stint.Verdict {
	s.Helper()
	verdicts := make([]stint.Verdict, len(charges))
	if _, err := store.Take(context.Background(), 0, charges, verdicts); err != nil {
		s.Fatal(err)
	}
	return verdicts
}

// passes demands that charges pass.
func (s *story) passes(charges ...stint.Charge) {
	s.Helper()
	if v := s.take(charges...); refused(charges, v) {
		s.Fatalf("refused, want it to pass: %+v", v)
	}
}

// refuses demands that charges are refused, and returns the verdict of the first.
func (s *story) refuses(charges ...stint.Charge) stint.Verdict {
	s.Helper()
	v := s.take(charges...)
	if !refused(charges, v) {
		s.Fatalf("passed, want it refused: %+v", v)
	}
	return v[0]
}

// asks demands how often the shared store is asked during what.
func (s *story) asks(want int64, what func()) {
	s.Helper()
	before := s.shared.asked.Load()
	what()
	if n := s.shared.asked.Load() - before; n != want {
		s.Fatalf("the shared store was asked %d times, want %d", n, want)
	}
}

func refused(charges []stint.Charge, verdicts []stint.Verdict) bool {
	for i := range verdicts {
		if !verdicts[i].OK && !charges[i].Shadow {
			return true
		}
	}
	return false
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

// algorithms are all, the queue too.
func algorithms() []stint.Algorithm {
	return append([]stint.Algorithm{algo.LeakyQueue{MaxWaiting: 2}}, algo.All...)
}

// one is a charge of cost 1.
func one(p *stint.Policy, key string) stint.Charge { return of(p, key, 1) }

// of is a charge.
func of(p *stint.Policy, key string, cost int64) stint.Charge {
	return stint.Charge{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}
}

// forced makes a charge one that is taken whatever the limit says.
func forced(c stint.Charge) stint.Charge {
	c.Forced = true
	return c
}

// shadow makes a charge one that is only tried.
func shadow(c stint.Charge) stint.Charge {
	c.Shadow = true
	return c
}

// exhaust takes all that p has for key.
func (s *story) exhaust(p *stint.Policy, key string) {
	s.Helper()
	s.passes(of(p, key, p.Capacity()))
}
