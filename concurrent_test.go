package stint_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

// slow is a store that takes a while on both ways.
func slow(trip time.Duration) stint.Store {
	store := storetest.NewReference()
	return takeFunc(func(ctx context.Context, now stint.Micros, c []stint.Charge, v []stint.Verdict) (stint.Micros, error) {
		time.Sleep(trip)
		defer time.Sleep(trip)
		return store.Take(ctx, now, c, v)
	})
}

// TestCallersWhoGiveUpWhileOthersBook: however the calls to the store overlap, those
// that go stay within the limit, no unit is lost and nothing is left.
func TestCallersWhoGiveUpWhileOthersBook(t *testing.T) {
	for _, trip := range []time.Duration{0, 3 * ms} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprint(trip, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { crowd(t, trip, seed) })
			})
		}
	}
}

func crowd(t *testing.T, trip time.Duration, seed uint64) {
	const count, burst, workers = 100, 2, 12
	l := newLine(t, fmt.Sprintf("%d per 1s, burst %d", count, burst), algo.TokenBucket)
	l.limiter.Store = slow(trip)
	var mu sync.Mutex
	var gone []*caller
	var all sync.WaitGroup
	for w := range uint64(workers) {
		r := rand.New(rand.NewPCG(seed, w))
		all.Go(func() {
			for time.Since(l.start) < 4*s {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+r.Int64N(int64(400*ms))))
				if r.IntN(2) == 0 {
					time.AfterFunc(time.Duration(r.Int64N(int64(100*ms))), cancel)
				}
				c := charge(l.policy, "k")
				c.Cost = 1 + r.Int64N(burst)
				if d, err := l.limiter.Wait(ctx, c); err == nil && d.Allowed {
					mu.Lock()
					gone = append(gone, &caller{cost: c.Cost, end: end{after: time.Since(l.start)}})
					mu.Unlock()
				}
				cancel()
				time.Sleep(time.Duration(r.Int64N(int64(5 * ms))))
			}
		})
	}
	all.Wait()
	neverAbove(t, gone, count, burst)
	sum := int64(0)
	for _, c := range gone {
		sum += c.cost
	}
	if sum < 4*count/2 {
		t.Errorf("only %d units went in 4 s", sum)
	}
	time.Sleep(time.Minute)
	if d, err := l.limiter.Peek(context.Background(), l.policy, "k"); err != nil || d.Remaining != burst {
		t.Errorf("%+v, %v: want nothing used", d, err)
	}
	l.empty()
}

// TestTheNextInLineMayBeCheaper: while it asks a slow store, nobody behind it is judged
// by the one that gave up before it.
func TestTheNextInLineMayBeCheaper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "3 per 1s", algo.FixedWindow)
		l.limiter.Store = slow(10 * ms)
		l.wait("first", 2)
		time.Sleep(50 * ms)
		dear := l.wait("dear", 3)
		l.wait("two", 2) // after the dear one: in 2s
		time.Sleep(50 * ms)
		dear()
		synctest.Wait()
		l.waitFor("last", 1500*ms)
		time.Sleep(3 * s)
		got := map[string]outcome{}
		for range 4 {
			o := <-l.done
			got[o.name] = o
		}
		if o := got["last"]; !o.allowed || o.err != nil || o.after > 1200*ms {
			t.Errorf("%+v, want it to pass in the next window", o)
		}
		l.empty()
	})
}
