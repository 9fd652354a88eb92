package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) stint.Store { return newStore(t, memstore.Options{}) })
}

func TestTwinOfTheReference(t *testing.T) {
	n := storetest.Size(200_000)
	if raceEnabled {
		n = min(n, 20_000)
	}
	storetest.Twins(t, newStore(t, memstore.Options{}), storetest.NewReference(), n)
}

// TestCountsSurviveSplits fills a table far beyond one segment and looks at each
// bucket again.
func TestCountsSurviveSplits(t *testing.T) {
	n := 300_000
	if raceEnabled {
		n = 150_000
	}
	for _, a := range algorithms() {
		t.Run(a.Name(), func(t *testing.T) {
			s := newStore(t, memstore.Options{})
			p := newPolicy(t, "3 per hour", a)
			free := take(t, s, p, "untouched", t0, 0).Remaining
			for i := range n {
				take(t, s, p, fmt.Sprint("k", i), t0, 1)
			}
			for i := range n {
				if v := take(t, s, p, fmt.Sprint("k", i), t0, 0); v.Remaining != free-1 {
					t.Fatalf("key %d has %d left, want %d", i, v.Remaining, free-1)
				}
			}
			if got := s.Stats().Buckets; got != int64(n) {
				t.Errorf("%d buckets, want %d", got, n)
			}
		})
	}
}

// TestAnotherAlgorithmCarriesUseOver changes the algorithm of a rule as a reload
// does.
func TestAnotherAlgorithmCarriesUseOver(t *testing.T) {
	for _, from := range algorithms() {
		for _, to := range algorithms() {
			s := newStore(t, memstore.Options{})
			before, after := newPolicy(t, "10 per hour", from), newPolicy(t, "10 per hour", to)
			for i := range 5000 {
				take(t, s, before, fmt.Sprint("k", i), t0, 1)
			}
			spent := int64(0)
			for take(t, s, before, "spent", t0, 1).OK {
				spent++
			}
			fresh := take(t, s, after, "fresh", t0, 0).Remaining
			if v := take(t, s, after, "spent", t0, 0); v.Remaining > max(0, fresh-spent) {
				t.Errorf("from %s to %s: %d left of a spent bucket", from.Name(), to.Name(), v.Remaining)
			}
			for i := range 5000 {
				if v := take(t, s, after, fmt.Sprint("k", i), t0, 0); v.Remaining != fresh-1 {
					t.Fatalf("from %s to %s: key %d has %d left of %d", from.Name(), to.Name(), i, v.Remaining, fresh)
				}
			}
			if got := s.Stats().Buckets; got != 5001 {
				t.Errorf("from %s to %s: %d buckets, want 5001", from.Name(), to.Name(), got)
			}
		}
	}
}

// TestMoreLimitsThanVariants changes the limit of one counter more often than a
// table can remember.
func TestMoreLimitsThanVariants(t *testing.T) {
	s := newStore(t, memstore.Options{})
	for i := range 1200 {
		p := newPolicy(t, fmt.Sprintf("%d per hour", 5000+i), algo.FixedWindow)
		if v := take(t, s, p, "k", t0, 1); v.Remaining != 4999 {
			t.Fatalf("limit %d: %d left, want 4999", i, v.Remaining)
		}
		take(t, s, p, "k", t0, 1)
		take(t, s, p, "k", t0, -1)
	}
}

// TestNothingIsLostUnderLoad charges from many goroutines, in lists and alone,
// while limits and algorithms change, the store is swept and segments split.
func TestNothingIsLostUnderLoad(t *testing.T) {
	s := newStore(t, memstore.Options{})
	const workers, rounds, keys = 8, 3000, 40
	algorithms := []stint.Algorithm{algo.FixedWindow, algo.SlidingWindowLog, algo.SlidingWindowCounter}
	var policies [8]*stint.Policy
	for i := range policies {
		policies[i] = newPolicy(t, fmt.Sprintf("%d per day", 9000+i), algorithms[i/3])
	}
	var sum [keys]int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			var mine [keys]int64
			for i := range rounds {
				p := policies[0]
				if w == 0 && i%500 == 0 {
					p = policies[i/500%len(policies)]
				}
				k := r.IntN(keys)
				other := stint.Charge{Policy: newSecond(t, w), Key: fmt.Append(nil, i), Ask: stint.Ask{Cost: 1}}
				charges := []stint.Charge{other, {Policy: p, Key: fmt.Append(nil, k), Ask: stint.Ask{Cost: 1}}}
				var v [2]stint.Verdict
				if _, err := s.Take(context.Background(), t0, charges[i%2:], v[i%2:]); err != nil {
					t.Error(err)
				}
				if v[1].OK && v[0].OK || i%2 == 1 && v[1].OK {
					mine[k]++
				}
				if i%700 == 0 {
					s.Sweep(t0)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for k := range mine {
				sum[k] += mine[k]
			}
		})
	}
	wg.Wait()
	for k := range keys {
		v := take(t, s, policies[0], fmt.Sprint(k), t0, 0)
		if v.Remaining != 9000-sum[k] {
			t.Errorf("key %d: %d left after %d charges of 9000", k, v.Remaining, sum[k])
		}
	}
}

func newSecond(t testing.TB, w int) *stint.Policy {
	p, err := stint.NewPolicy(fmt.Sprint("second", w%3), stint.Limit{Count: 1 << 30, Window: time.Hour}, algo.TokenBucket)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestC043ManyGoroutinesOnTheStoresClock runs on the real clock for a moment: a
// preempted goroutine's old reading must create no tokens.
func TestC043ManyGoroutinesOnTheStoresClock(t *testing.T) {
	s := newStore(t, memstore.Options{})
	p, err := stint.NewPolicy("p", stint.Limit{Count: 1000, Window: time.Second, Burst: 1}, algo.TokenBucket)
	if err != nil {
		t.Fatal(err)
	}
	var first, last stint.Micros
	passed := 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 5000 {
				at, v, err := s.TakeOne(context.Background(), 0, p, "k", stint.Ask{Cost: 1})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				if first == 0 || at < first {
					first = at
				}
				last = max(last, at)
				if v.OK {
					passed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if most := int64(last-first)/1000 + 1; int64(passed) > most {
		t.Errorf("%d passed in %d µs, at most %d are due", passed, last-first, most)
	}
}
