package stint_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

// line is a limiter on the real clock, in a bubble of fake time, and what became
// of those that waited.
type line struct {
	*testing.T
	limiter *stint.Limiter
	policy  *stint.Policy
	start   time.Time
	done    chan outcome
}

// outcome is how a wait ended.
type outcome struct {
	name    string
	after   time.Duration
	allowed bool
	err     error
}

func newLine(t *testing.T, limit string, a stint.Algorithm) *line {
	t.Helper()
	return &line{
		T: t, limiter: &stint.Limiter{Store: storetest.NewReference()},
		policy: newPolicy(t, "p", limit, a), start: time.Now(), done: make(chan outcome, 100),
	}
}

// wait lets somebody called name wait, and returns once they do.
func (l *line) wait(name string, cost int64) context.CancelFunc {
	ctx, cancel := context.WithCancel(context.Background())
	l.waitIn(ctx, name, cost)
	return cancel
}

func (l *line) waitIn(ctx context.Context, name string, cost int64) {
	c := charge(l.policy, "k")
	c.Cost = cost
	go func() {
		d, err := l.limiter.Wait(ctx, c)
		l.done <- outcome{name, time.Since(l.start), d.Allowed, err}
	}()
	synctest.Wait()
}

// ends demands that everybody is done, in this order.
func (l *line) ends(want ...outcome) {
	l.Helper()
	var got []outcome
	for range want {
		got = append(got, <-l.done)
	}
	if !slices.EqualFunc(got, want, func(a, b outcome) bool {
		return a.name == b.name && a.after == b.after && a.allowed == b.allowed && errors.Is(a.err, b.err)
	}) {
		l.Errorf("ended\n%+v\nwant\n%+v", got, want)
	}
}

// left demands what remains in the bucket.
func (l *line) left(want int64) {
	l.Helper()
	if d, err := l.limiter.Peek(context.Background(), l.policy, "k"); err != nil || d.Remaining != want {
		l.Errorf("%d remain, %v; want %d", d.Remaining, err, want)
	}
}

const s = time.Second

func TestC028QueuedRequestsLeaveAtTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 1s", algo.LeakyQueue{MaxWaiting: 100})
		var want []outcome
		for i := range 25 {
			name := string(rune('a' + i))
			l.wait(name, 1)
			want = append(want, outcome{name, time.Duration(i) * s, true, nil})
		}
		l.ends(want...)
	})
}

func TestC138CancelledWaitersGiveTheirPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 1s", algo.LeakyQueue{MaxWaiting: 2})
		l.wait("r1", 1)
		cancel := l.wait("r2", 1)
		l.wait("r3", 1)
		l.wait("r4", 1)
		time.Sleep(200 * time.Millisecond)
		cancel()
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		l.wait("r5", 1)
		l.ends(
			outcome{"r1", 0, true, nil},
			outcome{"r4", 0, false, nil},
			outcome{"r2", 200 * time.Millisecond, false, context.Canceled},
			outcome{"r3", 1 * s, true, nil},
			outcome{"r5", 2 * s, true, nil},
		)
		l.left(2) // r5 has left just now
	})
}

// TestLastInLineGivesUp: nobody is behind, but the place is free again.
func TestLastInLineGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 1s", algo.LeakyQueue{MaxWaiting: 2})
		l.wait("a", 1)
		l.wait("b", 1)
		cancel := l.wait("c", 1)
		l.left(0)
		cancel()
		synctest.Wait()
		l.left(1)
		l.wait("d", 1)
		l.ends(
			outcome{"a", 0, true, nil}, outcome{"c", 0, false, context.Canceled},
			outcome{"b", 1 * s, true, nil}, outcome{"d", 2 * s, true, nil},
		)
	})
}

// TestEverybodyGivesUp: the queue is as new, but for what has left it.
func TestEverybodyGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 1s", algo.LeakyQueue{MaxWaiting: 5})
		l.wait("a", 1)
		var cancels []context.CancelFunc
		for _, name := range []string{"b", "c", "d", "e", "f"} {
			cancels = append(cancels, l.wait(name, 1))
		}
		l.left(0)
		for _, i := range []int{2, 0, 4, 1, 3} {
			cancels[i]()
			synctest.Wait()
		}
		l.left(5)
		l.wait("g", 1)
		l.ends(
			outcome{"a", 0, true, nil}, outcome{"d", 0, false, context.Canceled}, outcome{"b", 0, false, context.Canceled},
			outcome{"f", 0, false, context.Canceled}, outcome{"c", 0, false, context.Canceled}, outcome{"e", 0, false, context.Canceled},
			outcome{"g", 1 * s, true, nil},
		)
	})
}

// TestQueueDeadline: a deadline before one's turn is known at once, and charges
// nothing.
func TestQueueDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 1s", algo.LeakyQueue{MaxWaiting: 5})
		l.wait("a", 1)
		l.wait("b", 1)
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		defer cancel()
		l.waitIn(ctx, "c", 1)
		l.waitIn(ctx, "d", 1)
		l.wait("e", 1)
		l.ends(
			outcome{"a", 0, true, nil},
			outcome{"c", 0, false, context.DeadlineExceeded},
			outcome{"d", 0, false, context.DeadlineExceeded},
			outcome{"b", 1 * s, true, nil},
			outcome{"e", 2 * s, true, nil},
		)
	})
}

// TestDecisionWait: a request under several policies waits for the last of its
// turns, and gives all of them back.
func TestDecisionWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &stint.Limiter{Store: storetest.NewReference()}
		fast := newPolicy(t, "fast", "2 per 1s", algo.LeakyQueue{MaxWaiting: 10})
		slow := newPolicy(t, "slow", "1 per 1s", algo.LeakyQueue{MaxWaiting: 10})
		start := time.Now()
		take := func() stint.Decision {
			d, err := l.Take(context.Background(), charge(fast, "k"), charge(slow, "k"))
			if err != nil || !d.Allowed {
				t.Fatalf("%+v, %v", d, err)
			}
			return d
		}
		first, second, third := take(), take(), take()
		if first.Delay != 0 || second.Delay != s || third.Delay != 2*s {
			t.Fatalf("delays %v, %v, %v", first.Delay, second.Delay, third.Delay)
		}
		if err := first.Wait(context.Background()); err != nil || time.Since(start) != 0 {
			t.Errorf("the first waited %v, %v", time.Since(start), err)
		}
		served := make(chan error, 1)
		go func() { served <- third.Wait(context.Background()) }()
		synctest.Wait()
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		if err := second.Wait(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("the second: %v", err)
		}
		if err := <-served; err != nil || time.Since(start) != s {
			t.Errorf("the third waited %v, %v; want 1s", time.Since(start), err)
		}
		for _, p := range []*stint.Policy{fast, slow} {
			want := map[*stint.Policy]int64{fast: 11, slow: 10}[p]
			if d, err := l.Peek(context.Background(), p, "k"); err != nil || d.Remaining != want {
				t.Errorf("%s: %d remain, %v; want %d", p.Name, d.Remaining, err, want)
			}
		}
	})
}

func TestWaitOnABucketIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "2 per 2s", algo.TokenBucket)
		for _, name := range []string{"a", "b", "c"} {
			l.wait(name, 1)
		}
		cancel := l.wait("d", 1)
		l.wait("e", 2)
		l.wait("f", 1)
		time.Sleep(1500 * time.Millisecond)
		cancel()
		l.ends(
			outcome{"a", 0, true, nil}, outcome{"b", 0, true, nil}, outcome{"c", 1 * s, true, nil},
			outcome{"d", 1500 * time.Millisecond, false, context.Canceled},
			outcome{"e", 3 * s, true, nil}, outcome{"f", 4 * s, true, nil},
		)
	})
}

// TestWaitersOfOtherKeysDoNotWait for each other.
func TestWaitersOfOtherKeysDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 60s", algo.TokenBucket)
		l.wait("a", 1)
		cancel := l.wait("b", 1)
		d, err := l.limiter.Wait(context.Background(), charge(l.policy, "other"))
		if err != nil || !d.Allowed || time.Since(l.start) != 0 {
			t.Errorf("%+v, %v after %v", d, err, time.Since(l.start))
		}
		cancel()
		l.ends(outcome{"a", 0, true, nil}, outcome{"b", 0, false, context.Canceled})
	})
}

func TestC140AFailedReservationChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "5 per 1s", algo.TokenBucket)
		l.wait("all", 5)
		l.ends(outcome{"all", 0, true, nil})
		time.Sleep(500 * time.Millisecond)
		for range 100 {
			l.wait("too dear", 6)
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			l.waitIn(ctx, "too long", 5)
			cancel()
			l.ends(
				outcome{"too dear", 500 * time.Millisecond, false, nil},
				outcome{"too long", 500 * time.Millisecond, false, context.DeadlineExceeded},
			)
		}
		l.left(2)
		time.Sleep(500 * time.Millisecond)
		for i := range 6 {
			if d, err := l.limiter.Allow(context.Background(), l.policy, "k"); err != nil || d.Allowed != (i < 5) {
				t.Errorf("request %d: %+v, %v", i, d, err)
			}
		}
	})
}

// TestWaitOfTheGone: who has gone already charges nothing.
func TestWaitOfTheGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		for _, a := range []stint.Algorithm{algo.TokenBucket, algo.LeakyQueue{MaxWaiting: 1}} {
			l := newLine(t, "2 per 1s", a)
			l.waitIn(gone, "gone", 1)
			l.ends(outcome{"gone", 0, false, context.Canceled})
			l.left(2)
		}
	})
}

// TestWaitForUnlimited does not wait, and for what is blocked neither.
func TestWaitForUnlimited(t *testing.T) {
	l := newClock().limiter()
	if d, err := l.Wait(t.Context(), charge(stint.Unlimited("free"), "k")); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	blocked := newPolicy(t, "blocked", "0 per 1s", algo.TokenBucket)
	if d, err := l.Wait(t.Context(), charge(blocked, "k")); err != nil || d.Allowed || d.Reason != stint.ReasonBlocked {
		t.Errorf("%+v, %v", d, err)
	}
}
