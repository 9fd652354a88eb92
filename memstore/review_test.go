package memstore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/storetest"
)

// named makes a policy; the limit is a sentence.
func named(t testing.TB, name, limit string, a stint.Algorithm) *stint.Policy {
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

func charge(p *stint.Policy, key string, cost int64) stint.Charge {
	return stint.Charge{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}
}

// settle takes several charges together, at t0.
func settle(t testing.TB, s stint.Store, charges ...stint.Charge) []stint.Verdict {
	t.Helper()
	v := make([]stint.Verdict, len(charges))
	if _, err := s.Take(context.Background(), t0, charges, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// within fails the test if f has not ended after a generous time.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("did not end: the calls wait for each other")
	}
}

// TestCrowdedSegmentsOfOneRequest lets requests of many new keys fill segments
// that other requests split at the same time.
func TestCrowdedSegmentsOfOneRequest(t *testing.T) {
	s := newStore(t, memstore.Options{})
	p := newPolicy(t, "5 per hour", algo.SlidingWindowLog)
	within(t, func() {
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				charges := make([]stint.Charge, stint.MaxCharges)
				v := make([]stint.Verdict, stint.MaxCharges)
				for i := range 600 {
					for j := range charges {
						charges[j] = charge(p, fmt.Sprint(w, "/", i, "/", j), 1)
					}
					if _, err := s.Take(context.Background(), t0, charges, v); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
	if n := s.Stats().Buckets; n != 8*600*stint.MaxCharges {
		t.Errorf("%d buckets, want %d", n, 8*600*stint.MaxCharges)
	}
}

// TestTwoAlgorithmsOfOneNameInOneRequest charges one bucket by two algorithms.
func TestTwoAlgorithmsOfOneNameInOneRequest(t *testing.T) {
	for _, a := range algorithms() {
		for _, b := range algorithms() {
			s, model := newStore(t, memstore.Options{}), storetest.NewReference()
			few, many := newPolicy(t, "5 per minute", a), newPolicy(t, "50 per hour", b)
			for _, request := range [][]stint.Charge{
				{charge(few, "k", 1), charge(many, "k", 1)},
				{charge(many, "k", 30), charge(few, "k", 1)},
				{charge(many, "k", 1), charge(few, "k", 2), charge(many, "k", 3)},
				{charge(few, "k", 0)},
				{charge(many, "k", 0)},
			} {
				got, want := settle(t, s, request...), settle(t, model, request...)
				if !slices.Equal(got, want) {
					t.Errorf("%s and %s:\ngot  %+v\nwant %+v", a.Name(), b.Name(), got, want)
				}
			}
		}
	}
}

// TestTwoLimitsOfOneNameInOneRequest charges one bucket under two limits.
func TestTwoLimitsOfOneNameInOneRequest(t *testing.T) {
	for _, a := range algo.All {
		s, r := newStore(t, memstore.Options{}), storetest.NewReference()
		few, many := newPolicy(t, "7 per minute", a), newPolicy(t, "50 per hour", a)
		for _, request := range [][]stint.Charge{
			{charge(few, "k", 2), charge(many, "k", 3)},
			{charge(many, "k", 1), charge(few, "k", 1), charge(many, "k", 0)},
			{charge(few, "k", 1), charge(many, "k", 1000)},
			{charge(many, "k", 1), charge(few, "k", 8)},
			{charge(few, "k", 0)},
			{charge(many, "k", 0)},
		} {
			got, want := settle(t, s, request...), settle(t, r, request...)
			if !slices.Equal(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v", a.Name(), got, want)
			}
		}
	}
}

// TestInstantsThatNoBucketCanKeep are errors, and harm nothing.
func TestInstantsThatNoBucketCanKeep(t *testing.T) {
	ctx := context.Background()
	for _, a := range algorithms() {
		s := newStore(t, memstore.Options{})
		p := newPolicy(t, "5 per hour", a)
		for _, now := range []stint.Micros{-1, -1 << 63, 1 << 53, 1<<63 - 1} {
			for range 2 {
				if _, _, err := s.TakeOne(ctx, now, p, "k", stint.Ask{Cost: 1}); err == nil {
					t.Errorf("%s: TakeOne at %d: no error", a.Name(), now)
				}
				if _, err := s.Take(ctx, now, []stint.Charge{charge(p, "k", 1)}, make([]stint.Verdict, 1)); err == nil {
					t.Errorf("%s: Take at %d: no error", a.Name(), now)
				}
			}
		}
		if s.Stats().Buckets != 0 {
			t.Errorf("%s: a bucket was made", a.Name())
		}
		for _, now := range []stint.Micros{1, 1<<53 - 1, 1, 1<<53 - 1} {
			if v := take(t, s, p, "k", now, 1); !v.OK {
				t.Errorf("%s: at %d: %+v", a.Name(), now, v)
			}
		}
	}
}

// almostFull is a store for ten buckets that refuses new keys, with room for one more.
func almostFull(t *testing.T, p *stint.Policy) *memstore.Store {
	s := newStore(t, memstore.Options{MaxBuckets: 10, WhenFull: memstore.RefuseNew})
	for i := range 9 {
		take(t, s, p, fmt.Sprint("k", i), t0, 1)
	}
	return s
}

func TestRefuseNewEvictsNobody(t *testing.T) {
	for _, a := range algorithms() {
		p := newPolicy(t, "5 per hour", a)
		s := almostFull(t, p)
		if v := settle(t, s, charge(p, "a", 1), charge(p, "b", 1), charge(p, "a", 1)); !v[0].OK || v[1].OK || !v[2].OK {
			t.Errorf("%s: two new keys where there is room for one: %+v, want the second refused", a.Name(), v)
		}
		settle(t, s, charge(p, "a", 1))
		shadow := charge(p, "d", 1)
		shadow.Shadow = true
		if v := settle(t, s, shadow, shadow, charge(p, "d", 1)); v[2].OK {
			t.Errorf("%s: a new key passed behind its shadow in a full store", a.Name())
		}
		if st := s.Stats(); st.Evicted != 0 || st.Buckets != 10 {
			t.Errorf("%s: %+v, want no evictions and ten buckets", a.Name(), st)
		}
	}
}

func TestRefuseNewTellsThoseWhoLook(t *testing.T) {
	for _, a := range algorithms() {
		p := newPolicy(t, "5 per hour", a)
		s := almostFull(t, p)
		take(t, s, p, "last", t0, 1)
		look := take(t, s, p, "new", t0, 0)
		if asked := take(t, s, p, "new", t0, 1); look != asked || look.OK {
			t.Errorf("%s: a look sees %+v, a request gets %+v", a.Name(), look, asked)
		}
		if n := s.Stats().RefusedNew; n != 1 {
			t.Errorf("%s: %d refusals counted, want 1: nobody asked when somebody looked", a.Name(), n)
		}
	}
}

// TestReturnsToItsBound lets requests of 32 new keys push a small store over its
// bound.
func TestReturnsToItsBound(t *testing.T) {
	for _, most := range []int64{1, 2, 8} {
		s := newStore(t, memstore.Options{MaxBuckets: most})
		p := newPolicy(t, "5 per hour", algo.TokenBucket)
		var request []stint.Charge
		for i := range stint.MaxCharges {
			request = append(request, charge(p, fmt.Sprint("k", i), 1))
		}
		for i, v := range settle(t, s, request...) {
			if v.Remaining != 4 {
				t.Errorf("charge %d: %+v", i, v)
			}
		}
		for i := range 100 {
			take(t, s, p, fmt.Sprint("one", i), t0, 1)
		}
		if n := s.Stats().Buckets; n > most {
			t.Errorf("%d buckets, at most %d", n, most)
		}
	}
}

// TestASmallTableInAFullStore: a flood under one policy fills the store with
// buckets near their reset; those of another one, far from theirs, must stay.
func TestASmallTableInAFullStore(t *testing.T) {
	s := newStore(t, memstore.Options{MaxBuckets: 5000})
	flood, login := named(t, "flood", "5 per second", algo.TokenBucket), named(t, "login", "5 per hour", algo.TokenBucket)
	for i := range 5000 {
		take(t, s, flood, fmt.Sprint("k", i), t0, 1)
	}
	for i := range 200 {
		take(t, s, login, fmt.Sprint("k", i), t0, 3)
	}
	lost := 0
	for i := range 200 {
		if take(t, s, login, fmt.Sprint("k", i), t0, 0).Remaining != 2 {
			lost++
		}
	}
	if lost > 20 {
		t.Errorf("%d of 200 buckets were lost though 5000 others are nearer their reset", lost)
	}
}

// TestEmptiedTableDoesNotHideTheOthers sweeps a large table, and then fills the
// store under other policies.
func TestEmptiedTableDoesNotHideTheOthers(t *testing.T) {
	const most = 100_000
	s := newStore(t, memstore.Options{MaxBuckets: most})
	short := named(t, "short", "5 per second", algo.SlidingWindowLog)
	for i := range most {
		take(t, s, short, fmt.Sprint("k", i), t0, 1)
	}
	s.Sweep(t0 + 10_000_000)
	long := named(t, "long", "5 per hour", algo.TokenBucket)
	for i := range most {
		take(t, s, long, fmt.Sprint("k", i), t0+10_000_000, 1)
	}
	for i := range 40 {
		p := named(t, fmt.Sprint("other", i), "5 per hour", algo.TokenBucket)
		for j := range 100 {
			take(t, s, p, fmt.Sprint("k", j), t0+10_000_000, 1)
		}
	}
	if n := s.Stats().Buckets; n > most {
		t.Errorf("%d buckets, at most %d", n, most)
	}
}

// TestAChangeOfAlgorithmEvictsNobody changes the algorithm of a rule in a full
// store while others ask.
func TestAChangeOfAlgorithmEvictsNobody(t *testing.T) {
	const most = 1500
	s := newStore(t, memstore.Options{MaxBuckets: most + 16})
	algorithms := []stint.Algorithm{algo.TokenBucket, algo.FixedWindow}
	for i := range most {
		take(t, s, named(t, "p", "5 per hour", algo.TokenBucket), fmt.Sprint("k", i), t0, 1)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		other := named(t, "other", "1 per second", algo.TokenBucket)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				take(t, s, other, fmt.Sprint(i%4), t0, 1)
				take(t, s, other, fmt.Sprint(i%4), t0, -1)
			}
		}
	})
	for i := range 300 {
		take(t, s, named(t, "p", "5 per hour", algorithms[i%2]), "k0", t0, 0)
	}
	close(stop)
	wg.Wait()
	if st := s.Stats(); st.Evicted > 0 {
		t.Errorf("%+v, want no evictions", st)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ctx, key := context.Background(), "a key of more bytes than a small buffer has"
	for _, full := range []memstore.Full{memstore.EvictNearestReset, memstore.RefuseNew} {
		for _, a := range algorithms() {
			s := newStore(t, memstore.Options{WhenFull: full})
			p := newPolicy(t, "5 per hour", a)
			request := []stint.Charge{charge(p, key, 1), charge(p, "b", 1), charge(p, key, 1)}
			v := make([]stint.Verdict, len(request))
			for name, f := range map[string]func(){
				"TakeOne": func() { _, _, _ = s.TakeOne(ctx, 0, p, key, stint.Ask{Cost: 1}) },
				"Take":    func() { _, _ = s.Take(ctx, 0, request, v) },
			} {
				if n := testing.AllocsPerRun(200, f); n != 0 {
					t.Errorf("%s, %s: %v allocations", a.Name(), name, n)
				}
			}
		}
	}
}

// TestAPolicyOfTwoStores counts in each store apart, while both look for its home.
func TestAPolicyOfTwoStores(t *testing.T) {
	p := newPolicy(t, "1000 per day", algo.TokenBucket)
	stores := []*memstore.Store{newStore(t, memstore.Options{}), newStore(t, memstore.Options{}), newStore(t, memstore.Options{})}
	var wg sync.WaitGroup
	for i := range 9 {
		wg.Go(func() {
			for range 50 {
				take(t, stores[i%3], p, "k", t0, 1)
				take(t, stores[i%3], newPolicy(t, "1000 per day", algo.TokenBucket), "k", t0, 1)
			}
		})
	}
	wg.Wait()
	for i, s := range stores {
		if n := take(t, s, p, "k", t0, 0).Remaining; n != 700 {
			t.Errorf("store %d: %d left, want 700", i, n)
		}
	}
}
