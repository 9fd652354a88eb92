package stint_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

// desk is a limiter whose store keeps what it was asked.
type desk struct {
	*testing.T
	limiter *stint.Limiter

	mu    sync.Mutex
	asked [][]stint.Charge
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t}
	store := storetest.NewReference()
	d.limiter = &stint.Limiter{Store: takeFunc(func(ctx context.Context, now stint.Micros, c []stint.Charge, v []stint.Verdict) (stint.Micros, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked = append(d.asked, append([]stint.Charge(nil), c...))
		return store.Take(ctx, now, c, v)
	})}
	return d
}

// takeFunc is a store of one function.
type takeFunc func(context.Context, stint.Micros, []stint.Charge, []stint.Verdict) (stint.Micros, error)

func (f takeFunc) Take(ctx context.Context, now stint.Micros, c []stint.Charge, v []stint.Verdict) (stint.Micros, error) {
	return f(ctx, now, c, v)
}

// take demands an allowed decision.
func (d *desk) take(charges ...stint.Charge) *stint.Decision {
	d.Helper()
	got, err := d.limiter.Take(context.Background(), charges...)
	if err != nil || !got.Allowed {
		d.Fatalf("%+v, %v", got, err)
	}
	return &got
}

// giveUp waits in vain for so long.
func (d *desk) giveUp(got *stint.Decision, after time.Duration) {
	d.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(after, cancel)
	if err := got.Wait(ctx); !errors.Is(err, context.Canceled) {
		d.Errorf("%v, want it cancelled", err)
	}
}

// left demands what remains of each policy.
func (d *desk) left(want map[*stint.Policy]int64) {
	d.Helper()
	for p, n := range want {
		if got, err := d.limiter.Peek(context.Background(), p, "k"); err != nil || got.Remaining != n {
			d.Errorf("%s: %d remain, %v; want %d", p.Name, got.Remaining, err, n)
		}
	}
	if n := d.limiter.Waiting(); n != 0 {
		d.Errorf("%d queues are left", n)
	}
}

func TestGivingUpInAQueueReturnsWhatWasTakenElsewhere(t *testing.T) {
	for _, a := range algo.All {
		t.Run(a.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				perKey, queue := newPolicy(t, "per-key", "10 per 60s", a), newPolicy(t, "queue", "1 per 1s", algo.LeakyQueue{MaxWaiting: 9})
				d.take(charge(perKey, "k"), charge(queue, "k"))
				for range 4 {
					d.giveUp(d.take(charge(perKey, "k"), charge(queue, "k")), 100*ms)
				}
				d.left(map[*stint.Policy]int64{perKey: 9, queue: 9})
				if n := len(d.asked); n != 1+4+4+2 {
					t.Errorf("the store was asked %d times: want once for each that gave up", n)
				}
			})
		})
	}
}

// TestALateDeadlineReturnsEverything: the deadline is known too late to be refused.
func TestALateDeadlineReturnsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		perKey, queue := newPolicy(t, "per-key", "10 per 60s", algo.TokenBucket), newPolicy(t, "queue", "1 per 1s", algo.LeakyQueue{MaxWaiting: 9})
		d.take(charge(perKey, "k"), charge(queue, "k"))
		got := d.take(charge(perKey, "k"), charge(queue, "k"))
		ctx, cancel := context.WithTimeout(context.Background(), 999*ms)
		defer cancel()
		begun := time.Now()
		if err := got.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		d.left(map[*stint.Policy]int64{perKey: 9, queue: 9})
	})
}

// TestGivingUpOneOfSeveralQueues: the turn in the fast one has come already.
func TestGivingUpOneOfSeveralQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		key := newPolicy(t, "key", "5 per 3600s", algo.FixedWindow)
		fast, slow := newPolicy(t, "fast", "1 per 1s", algo.LeakyQueue{MaxWaiting: 9}), newPolicy(t, "slow", "1 per 10s", algo.LeakyQueue{MaxWaiting: 9})
		all := []stint.Charge{charge(key, "k"), charge(fast, "k"), charge(slow, "k")}
		d.take(all...)
		second := d.take(all...) // fast after 1s, slow after 10s
		third := d.take(all...)  // fast after 2s, slow after 20s
		begun, served := time.Now(), make(chan time.Duration)
		go func() {
			if err := third.Wait(context.Background()); err != nil {
				t.Error(err)
			}
			served <- time.Since(begun)
		}()
		synctest.Wait()
		d.giveUp(second, 1500*ms)
		if got := <-served; got != 10*s {
			t.Errorf("the third waited %v, want the second's turn after 10s", got)
		}
		d.left(map[*stint.Policy]int64{key: 3, fast: 10, slow: 9})
	})
}

// TestOnlyEnforcedChargesAreReturned, those forced among them.
func TestOnlyEnforcedChargesAreReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		named := func(name string) *stint.Policy { return newPolicy(t, name, "9 per 3600s", algo.FixedWindow) }
		queue := newPolicy(t, "queue", "1 per 1s", algo.LeakyQueue{MaxWaiting: 9})
		plain, forced, refunded, looked, shadow, huge := named("plain"), named("forced"), named("refunded"), named("looked"), named("shadow"), named("huge")
		for _, p := range []*stint.Policy{forced, refunded, huge} {
			d.take(stint.Charge{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 5}})
		}
		d.take(charge(queue, "k"))
		c := func(p *stint.Policy, a stint.Ask) stint.Charge {
			return stint.Charge{Policy: p, Key: []byte("k"), Ask: a}
		}
		tried := charge(shadow, "k")
		tried.Shadow = true
		got := d.take(
			charge(stint.Unlimited("free"), "k"), c(plain, stint.Ask{Cost: 3}), c(plain, stint.Ask{Cost: 1}),
			c(forced, stint.Ask{Cost: 20, Forced: true}), c(refunded, stint.Ask{Cost: -4}), c(looked, stint.Ask{}), tried,
			c(huge, stint.Ask{Cost: stint.MaxUnits, Forced: true}), charge(queue, "k"),
		)
		before := len(d.asked)
		d.giveUp(got, 200*ms)
		if got := fmt.Sprint(names(d.asked[before:])); got != "[[plain -3 plain -1 forced -20 queue -1]]" {
			t.Errorf("given back: %v", got)
		}
		d.left(map[*stint.Policy]int64{plain: 9, forced: 4, refunded: 8, looked: 9, shadow: 8, huge: 0, queue: 9})
	})
}

func names(asked [][]stint.Charge) (all [][]string) {
	for _, charges := range asked {
		var one []string
		for _, c := range charges {
			one = append(one, fmt.Sprint(c.Policy.Name, " ", c.Cost))
		}
		all = append(all, one)
	}
	return all
}

// TestNothingIsReturnedAfterTheWindow: what is counted in the new one is the use of
// others.
func TestNothingIsReturnedAfterTheWindow(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.FixedWindow, algo.SlidingWindowCounter, algo.SlidingWindowLog, algo.TokenBucket} {
		t.Run(a.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				perKey, queue := newPolicy(t, "per-key", "10 per 1s", a), newPolicy(t, "queue", "1 per 10s", algo.LeakyQueue{MaxWaiting: 9})
				d.take(charge(queue, "k"))
				got := d.take(charge(queue, "k"), charge(perKey, "k"), charge(perKey, "k"))
				time.AfterFunc(2500*ms, func() { d.take(charge(perKey, "k"), charge(perKey, "k"), charge(perKey, "k")) })
				d.giveUp(got, 2500*ms+us)
				d.left(map[*stint.Policy]int64{perKey: 7, queue: 9})
			})
		})
	}
}

// TestABucketReturnsWhatItHasNotForgiven, to the unit.
func TestABucketReturnsWhatItHasNotForgiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		perKey, queue := newPolicy(t, "per-key", "10 per 10s", algo.TokenBucket), newPolicy(t, "queue", "1 per 10s", algo.LeakyQueue{MaxWaiting: 9})
		d.take(charge(queue, "k"))
		five := charge(perKey, "k")
		five.Cost = 5
		got := d.take(charge(queue, "k"), five)
		time.AfterFunc(3*s, func() { d.take(five) }) // 7 owed, 5 would be without the first
		d.giveUp(got, 3*s+us)
		d.left(map[*stint.Policy]int64{perKey: 5})
	})
}

// TestAWaitThatEndsReturnsNothing, and what gave up is given back once.
func TestAWaitThatEndsReturnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		perKey, queue := newPolicy(t, "per-key", "10 per 3600s", algo.FixedWindow), newPolicy(t, "queue", "1 per 1s", algo.LeakyQueue{MaxWaiting: 9})
		var got stint.Decision
		charges := []stint.Charge{charge(perKey, "k"), charge(queue, "k")}
		for i := range 6 {
			if err := d.limiter.Decide(context.Background(), charges, &got); err != nil || !got.Allowed {
				t.Fatalf("%+v, %v", got, err)
			}
			if i%2 == 1 {
				d.giveUp(&got, ms)
				continue
			}
			if err := got.Wait(context.Background()); err != nil {
				t.Error(err)
			}
		}
		d.left(map[*stint.Policy]int64{perKey: 7})
	})
}

// TestWaitersMoveUpByWhatIsReturned: the charge that is given back was
// not delayed itself.
func TestWaitersMoveUpByWhatIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		perKey, queue := newPolicy(t, "per-key", "1 per 2s", algo.TokenBucket), newPolicy(t, "queue", "1 per 10s", algo.LeakyQueue{MaxWaiting: 9})
		d.take(charge(queue, "k"))
		got := d.take(charge(queue, "k"), charge(perKey, "k"))
		begun, served := time.Now(), make(chan time.Duration)
		for range 2 {
			go func() {
				if _, err := d.limiter.Wait(context.Background(), charge(perKey, "k")); err != nil {
					t.Error(err)
				}
				served <- time.Since(begun)
			}()
			synctest.Wait()
		}
		d.giveUp(got, 500*ms)
		if first, second := <-served, <-served; first != 500*ms || second != 2500*ms {
			t.Errorf("served after %v and %v, want 500ms and 2.5s", first, second)
		}
	})
}
