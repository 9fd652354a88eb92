package memstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

func open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// askOne takes a single charge.
func askOne(t testing.TB, s *Store, p *stint.Policy, key string, now stint.Micros, cost int64) stint.Verdict {
	t.Helper()
	_, v, err := s.TakeOne(context.Background(), now, p, key, stint.Ask{Cost: cost})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Each key has a limit of its own, and there are more limits than a table has numbers
// for, while sweeps take numbers away and give them out again. Each key passes exactly
// as often as its limit says.
func TestMoreLimitsThanNumbersUnderLoad(t *testing.T) {
	const limits, workers = maxVariants + 100, 4
	for _, a := range []stint.Algorithm{algo.FixedWindow, algo.SlidingWindowCounter, algo.TokenBucket, algo.SlidingWindowLog} {
		s := open(t, Options{})
		var passed [limits]atomic.Int64
		var work, sweeps sync.WaitGroup
		stop := make(chan struct{})
		sweeps.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.Sweep(start)
				}
			}
		})
		for w := range workers {
			work.Go(func() {
				for round := range 3 {
					for i := range limits {
						i = (i*7 + w*limits/workers + round) % limits
						p := named(t, "p", stint.Limit{Count: int64(i%9 + 1), Window: time.Duration(24+i) * time.Hour}, a)
						if askOne(t, s, p, fmt.Sprint(i), start, 1).OK {
							passed[i].Add(1)
						}
						if i%5 == 0 { // a bucket that is worth nothing a moment later
							askOne(t, s, named(t, "p", stint.Limit{Count: int64(i + 1), Window: time.Microsecond}, a), fmt.Sprint("short", i), start-1000, 1)
						}
					}
				}
			})
		}
		work.Wait()
		close(stop)
		sweeps.Wait()
		checkStructure(t, s)
		for i := range limits {
			if n, want := passed[i].Load(), min(int64(i%9+1), 3*workers); n != want {
				t.Errorf("%s: key %d passed %d times, want %d", a.Name(), i, n, want)
			}
		}
	}
}

// TestNumbersAreUsedAgain lets a table meet more limits than it has numbers for, again
// and again. What no bucket is counted under loses its number with the second sweep.
func TestNumbersAreUsedAgain(t *testing.T) {
	for _, a := range algorithms() {
		s, model := open(t, Options{}), storetest.NewReference()
		now := start
		held := named(t, "p", stint.Limit{Count: 3, Window: 100 * time.Hour}, a)
		both := func(p *stint.Policy, key string, cost int64) {
			t.Helper()
			var want [1]stint.Verdict
			charge := []stint.Charge{{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}}
			if _, err := model.Take(context.Background(), now, charge, want[:]); err != nil {
				t.Fatal(err)
			}
			if got := askOne(t, s, p, key, now, cost); got != want[0] {
				t.Fatalf("%s: key %s, limit %v:\ngot  %+v\nwant %+v", a.Name(), key, p.Limit, got, want[0])
			}
		}
		both(held, "held", 2)
		for round := range 4 {
			var without *stint.Policy
			for i := range maxVariants + 20 {
				p := named(t, "p", stint.Limit{Count: int64(2 + i), Window: time.Duration(1+round) * time.Second}, a)
				both(p, fmt.Sprint("k", i), 1)
				both(held, fmt.Sprint("k", i), 0)
				without = p
			}
			if s.variant(without).tag != numberless {
				t.Errorf("%s, round %d: limit %d has a number", a.Name(), round, maxVariants+20)
			}
			both(without, "k1", 1)
			now += 10_000_000
			s.Sweep(now)
			both(held, "held", 0)
			s.Sweep(now)
			if both(without, "again", 1); s.variant(without).tag == numberless {
				t.Errorf("%s, round %d: no number became free", a.Name(), round)
			}
			both(held, "held", 0)
			checkStructure(t, s)
		}
		if v := s.variant(held); v.tag == numberless || v.stale() {
			t.Errorf("%s: a limit in use has lost its number", a.Name())
		}
	}
}
