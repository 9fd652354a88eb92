package stint_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// waitFor lets name wait with a deadline.
func (l *line) waitFor(name string, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	l.Cleanup(cancel)
	l.waitIn(ctx, name, 1)
}

// TestWaitKnowsOnArrival: seven callers would wait for 1.2 s; the last one is told at
// once that this is not enough.
func TestWaitKnowsOnArrival(t *testing.T) {
	for _, c := range []struct {
		a     stint.Algorithm
		times [6]time.Duration
	}{
		{algo.TokenBucket, [6]time.Duration{0, 0, 0, 333334 * us, 666667 * us, 1 * s}},
		{algo.LeakyBucket, [6]time.Duration{0, 0, 0, 333334 * us, 666667 * us, 1 * s}},
		{algo.FixedWindow, [6]time.Duration{0, 0, 0, 1 * s, 1 * s, 1 * s}},
		{algo.SlidingWindowLog, [6]time.Duration{0, 0, 0, 1 * s, 1 * s, 1 * s}},
	} {
		t.Run(c.a.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine(t, "3 per 1s", c.a)
				for i := range 7 {
					l.waitFor(string(rune('a'+i)), 1200*ms)
				}
				want := []outcome{
					{"a", 0, true, nil},
					{"b", 0, true, nil},
					{"c", 0, true, nil},
					{"g", 0, false, context.DeadlineExceeded},
					{"d", c.times[3], true, nil},
					{"e", c.times[4], true, nil},
					{"f", c.times[5], true, nil},
				}
				l.ends(want[:4]...)
				l.endsInAnyOrder(want[4:]...)
				l.empty()
			})
		})
	}
}

// endsInAnyOrder demands that these are done, at these times: requests of one instant
// go on in the order in which the machine wakes them.
func (l *line) endsInAnyOrder(want ...outcome) {
	l.Helper()
	open := map[outcome]bool{}
	for _, w := range want {
		open[w] = true
	}
	for range want {
		if got := <-l.done; !open[got] {
			l.Errorf("ended %+v, want one of %+v", got, want)
		}
	}
}

// empty demands that no queue is left.
func (l *line) empty() {
	l.Helper()
	synctest.Wait()
	if n := l.limiter.Waiting(); n != 0 {
		l.Errorf("%d queues are left", n)
	}
}

// TestWakingLateLosesNoRate: each worker is as late as it can be without letting the
// bucket fill up, because it has something else to do or the store is slow.
func TestWakingLateLosesNoRate(t *testing.T) {
	for _, c := range []struct {
		workers    int
		late, trip time.Duration
	}{{1, 0, 0}, {1, 9999 * us, 0}, {8, 79999 * us, 0}, {8, 0, 20 * ms}} {
		t.Run(fmt.Sprint(c.workers, c.late, c.trip), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine(t, "100 per 1s, burst 1", algo.TokenBucket)
				if c.trip > 0 {
					l.limiter.Store = slow(c.trip)
				}
				done := make(chan int)
				for range c.workers {
					go func() {
						n := 0
						for ; time.Since(l.start) < 20*s; n++ {
							if d, err := l.limiter.Wait(context.Background(), charge(l.policy, "k")); err != nil || !d.Allowed {
								t.Errorf("%+v, %v", d, err)
							}
							time.Sleep(c.late)
						}
						done <- n
					}()
				}
				sum := 0
				for range c.workers {
					sum += <-done
				}
				if sum < 1996 || sum > 2001+c.workers {
					t.Errorf("%d in 20 s, want 2000", sum)
				}
				l.empty()
			})
		})
	}
}

func TestWaitWithoutAPolicyIsAnError(t *testing.T) {
	l := &stint.Limiter{Store: storetest.NewReference()}
	if d, err := l.Wait(t.Context(), stint.Charge{Ask: stint.Ask{Cost: 1}}); err == nil || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestWaitWithoutADeadlineMayTakeYears, and the booking is neither lost nor cut.
func TestWaitWithoutADeadlineMayTakeYears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const year = 365 * 24 * time.Hour
		l := newLine(t, "1 per 8760h", algo.TokenBucket)
		for _, name := range []string{"a", "b", "c"} {
			l.wait(name, 1)
		}
		gone := l.wait("d", 1)
		l.wait("e", 1)
		time.Sleep(year / 2)
		gone()
		l.ends(
			outcome{"a", 0, true, nil}, outcome{"d", year / 2, false, context.Canceled}, outcome{"b", year, true, nil},
			outcome{"c", 2 * year, true, nil}, outcome{"e", 3 * year, true, nil},
		)
		l.empty()
	})
}

// TestBookingsCountForOthers: who only asks is refused while the bucket owes, and told
// when it does not any more.
func TestBookingsCountForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "2 per 2s", algo.TokenBucket)
		for _, name := range []string{"a", "b", "c", "d"} {
			l.wait(name, 1)
		}
		ask := func() stint.Decision {
			d, err := l.limiter.Allow(context.Background(), l.policy, "k")
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		if d := ask(); d.Allowed || d.Remaining != 0 || d.RetryAfter != 3*s || d.ResetAfter != 4*s {
			t.Errorf("%+v, want a refusal for 3s", d)
		}
		if d, err := l.limiter.Peek(context.Background(), l.policy, "k"); err != nil || d.Allowed || d.RetryAfter != 3*s {
			t.Errorf("a peek: %+v, %v", d, err)
		}
		time.Sleep(3*s - us)
		if d := ask(); d.Allowed || d.RetryAfter != us {
			t.Errorf("%+v, want a refusal for 1µs", d)
		}
		time.Sleep(us)
		if d := ask(); !d.Allowed {
			t.Errorf("%+v, want it allowed after the wait that was told", d)
		}
	})
}

// TestWaitHeedsTheMaxDelayOfTheCharge, which is no error.
func TestWaitHeedsTheMaxDelayOfTheCharge(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.LeakyQueue{MaxWaiting: 9}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLine(t, "1 per 1s, burst 1", a)
			for i, want := range []bool{true, true, false} {
				c := charge(l.policy, "k")
				c.MaxDelay = 1500 * ms
				d, err := l.limiter.Take(context.Background(), c)
				if err != nil || d.Allowed != want {
					t.Errorf("%d: %+v, %v", i, d, err)
				}
			}
			c := charge(l.policy, "k")
			c.MaxDelay = 1500 * ms
			if d, err := l.limiter.Wait(context.Background(), c); err != nil || d.Allowed || d.RetryAfter != 500*ms || time.Since(l.start) != 0 {
				t.Errorf("%+v, %v after %v", d, err, time.Since(l.start))
			}
		})
	}
}

// TestADearCallerDoesNotPassUnnoticed: behind the first caller of a window one that
// would take too long is told, and does not stand in the way of the next.
func TestADearCallerDoesNotPassUnnoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "3 per 1s", algo.FixedWindow)
		l.wait("all", 3)
		l.wait("two", 2)
		ctx, cancel := context.WithTimeout(context.Background(), 1500*ms)
		defer cancel()
		l.waitIn(ctx, "late", 2)
		l.wait("one", 1)
		l.wait("never", 4)
		l.ends(
			outcome{"all", 0, true, nil}, outcome{"late", 0, false, context.DeadlineExceeded}, outcome{"never", 0, false, nil},
		)
		l.endsInAnyOrder(outcome{"two", 1 * s, true, nil}, outcome{"one", 1 * s, true, nil})
		l.empty()
	})
}
