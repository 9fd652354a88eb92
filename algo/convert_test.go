package algo_test

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// convert makes to the bucket of m as the limit of to counts it, where it is worth
// anything at now.
func (m *machine) convert(to *machine, now stint.Micros) {
	to.forget()
	if m.expires() <= now {
		return
	}
	if a, ok := m.a.(stint.CellAlgorithm); ok {
		to.cell, _ = a.Convert(m.cell, &m.p, &to.p)
		return
	}
	to.list = m.copy().list
}

// drawUsed draws a bucket that has been asked for a while, and the instant.
func drawUsed(t *rapid.T, m *machine, plain bool) stint.Micros {
	now := start
	for range rapid.IntRange(1, 12).Draw(t, "requests") {
		now += drawStep(t, m, now)
		m.take(now, drawAsk(t, m, plain || rapid.IntRange(0, 3).Draw(t, "plain") > 0))
	}
	return now + drawStep(t, m, now)
}

// TestConvertOfTheSameLimitChangesNothing, but for debt above a full bucket, which
// is let off.
func TestConvertOfTheSameLimitChangesNothing(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		now := drawUsed(t, m, true)
		before := m.would(now, 0)
		to := m.copy()
		m.convert(to, now)
		if v := to.would(now, 0); v != before {
			t.Fatalf("%s, limit %v: %+v, converted %+v", m.a.Name(), m.l, before, v)
		}
	}, every...)
}

// TestConvertOfAWorthlessBucketIsWorthless, so that it does not matter whether a
// store had forgotten it.
func TestConvertOfAWorthlessBucketIsWorthless(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		drawUsed(t, m, false)
		now := max(m.expires(), start) + stint.Micros(rapid.Int64Range(0, 10).Draw(t, "later"))
		to := drawMachine(t, m.a)
		m.convert(to, now)
		if v, fresh := to.would(now, 0), to.fresh(now); v != fresh {
			t.Fatalf("%s, limit %v to %v: %+v, want %+v", m.a.Name(), m.l, to.l, v, fresh)
		}
	}, every[:4]...) // a log keeps its instants whatever the window
}

// fresh is what a look at a bucket never seen says.
func (m *machine) fresh(now stint.Micros) stint.Verdict {
	c := m.copy()
	c.forget()
	return c.cost(now, 0)
}

// TestConvertLocksNobodyOut: after a change the verdicts are those of the new limit,
// and a request of cost 1 passes within what the new limit needs to be as new.
func TestConvertLocksNobodyOut(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		now := drawUsed(t, m, false)
		to := drawMachine(t, m.a)
		m.convert(to, now)
		v := to.cost(now, 1)
		checkRemaining(t, to, now, v)
		checkRetry(t, to, now, stint.Ask{Cost: 1}, v)
		checkNext(t, to, now, v)
		checkReset(t, to, now, v)
		longest := 2 * to.l.Window
		if _, ok := to.a.(stint.ListAlgorithm); ok {
			longest = to.l.Window
		}
		if to.a == algo.TokenBucket || to.a == algo.LeakyBucket || to.a.Name() == "leaky_queue" {
			c := *to
			c.forget()
			longest = c.take(now, stint.Ask{Cost: 1, Forced: true}).ResetAfter + time.Microsecond
		}
		if v.RetryAfter > longest || t.Failed() {
			t.Fatalf("%s, limit %v to %v: %v %v became %v %v\n%+v, want a wait of at most %v",
				m.a.Name(), m.l, to.l, m.cell, m.list, to.cell, to.list, v, longest)
		}
	}, every...)
}

// TestConvertEarnsNothing: what is left after a change is at most the new capacity
// less what would still be owed now, whether the limit changed just now or right
// after the last charge.
func TestConvertEarnsNothing(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		cost := rapid.Int64Range(1, m.capacity()).Draw(t, "cost")
		m.cost(start, cost)
		now := start + drawStep(t, m, start)
		to := drawMachine(t, m.a)
		m.convert(to, now)
		owed := rat(min(cost, to.capacity()))
		for _, c := range []*machine{m, to} {
			gone := big.NewRat(c.l.Count, c.window())
			left := rat(min(cost, c.capacity()))
			left.Sub(left, gone.Mul(gone, rat(int64(now-start))))
			if left.Cmp(owed) < 0 {
				owed = left
			}
		}
		if owed.Sign() < 0 {
			owed = rat(0)
		}
		most := floor(owed.Sub(rat(to.capacity()), owed))
		if v := to.would(now, 0); v.Remaining > most {
			t.Fatalf("%s, limit %v to %v after %d µs: %d of %d left with %d used, want at most %d",
				m.a.Name(), m.l, to.l, now-start, v.Remaining, to.capacity(), cost, most)
		}
	}, algo.TokenBucket, algo.LeakyBucket)
}

// TestConvertKeepsTheCount: with another limit and the same window, counts stay.
func TestConvertKeepsTheCount(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		cost := rapid.Int64Range(1, m.capacity()).Draw(t, "cost")
		m.cost(start, cost)
		to := drawMachine(t, m.a)
		to.l.Window = m.l.Window
		p, err := to.a.Compile(to.l)
		if err != nil {
			return
		}
		to.p = p
		m.convert(to, start)
		if v := to.would(start, 0); v.Remaining != max(0, to.capacity()-cost) {
			t.Fatalf("%s, limit %v to %v: %d left of %d with %d used", m.a.Name(), m.l, to.l, v.Remaining, to.capacity(), cost)
		}
	}, algo.TokenBucket, algo.LeakyBucket, algo.FixedWindow, algo.SlidingWindowCounter, algo.SlidingWindowLog)
}

// TestC126ShorterPeriodOfAnIdleKey asks far after the entry has expired.
func TestC126ShorterPeriodOfAnIdleKey(t *testing.T) {
	for _, a := range every {
		m := newMachine(t, a, "10 per 60s")
		m.cost(start, 1)
		to := newMachine(t, a, "10 per 1s")
		m.convert(to, start+5_000_000)
		v := to.cost(start+5_000_000, 1)
		if !v.OK || v.Remaining != to.capacity()-1 || v.ResetAfter > time.Second {
			t.Errorf("%s: %+v, want all but one of %d left and a reset within 1s", a.Name(), v, to.capacity())
		}
	}
}
