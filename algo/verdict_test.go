package algo_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// TestVerdictsAreTrue asks random things at random times, also backwards, and
// demands that every word of every verdict is so.
func TestVerdictsAreTrue(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		now := start
		for range 40 {
			if rapid.IntRange(0, 5).Draw(t, "way") == 0 {
				now -= drawBack(t, m)
			} else {
				now += drawStep(t, m, now)
			}
			ask := drawAsk(t, m, false)
			before := m.copy()
			v := m.take(now, ask)
			checkChange(t, before, m, now, ask, v)
			checkRemaining(t, m, now, v)
			checkRetry(t, m, now, ask, v)
			checkNext(t, m, now, v)
			checkReset(t, m, now, v)
			if t.Failed() {
				t.Fatalf("%s, limit %v, params %v, now %d\nbefore %v %v\nafter  %v %v\nask %+v\nsaid %+v",
					m.a.Name(), m.l, m.p, now, before.cell, before.list, m.cell, m.list, ask, v)
			}
		}
	}, every...)
}

// checkChange: a look changes nothing, and a refusal nothing unless the clock was
// set back.
func checkChange(t *rapid.T, before, m *machine, now stint.Micros, ask stint.Ask, v stint.Verdict) {
	if v.OK && v.RetryAfter != 0 || !v.OK && (v.Delay != 0 || v.RetryAfter == 0) {
		t.Errorf("OK %v with delay %v and wait %v", v.OK, v.Delay, v.RetryAfter)
	}
	if min(v.Delay, v.RetryAfter, v.ResetAfter, v.NextAfter) < 0 {
		t.Error("a duration is negative")
	}
	if q, ok := m.a.(stint.QueueAlgorithm); ok && v.Delay > q.MaxDelay(&m.p) {
		t.Errorf("a delay of %v, above the longest, %v", v.Delay, q.MaxDelay(&m.p))
	}
	if ask.Cost > 0 && !ask.Forced && v.RetryAfter == stint.Never != (ask.Cost > m.capacity()) {
		t.Errorf("a wait of %v for a cost of %d of %d", v.RetryAfter, ask.Cost, m.capacity())
	}
	if v.OK && ask.Cost != 0 || before.cell == m.cell && slices.Equal(before.list, m.list) {
		return
	}
	if ask.Cost == 0 {
		t.Error("a look changed the bucket")
	}
	ahead := int64(before.cell.At) > int64(now)
	if n := len(before.list); n > 0 {
		ahead = before.list[n-2] > int64(now)
	}
	if !ahead {
		t.Error("a refusal changed the bucket though the clock was not set back")
	}
}

// checkRemaining: so many pass at this instant, and no more.
func checkRemaining(t *rapid.T, m *machine, now stint.Micros, v stint.Verdict) {
	if v.Remaining < 0 || v.Remaining > m.capacity() {
		t.Errorf("%d remain of %d", v.Remaining, m.capacity())
	}
	if v.Remaining > 0 && !m.would(now, v.Remaining).OK {
		t.Errorf("a charge of all that remains is refused")
	}
	if m.would(now, v.Remaining+1).OK {
		t.Errorf("a charge of more than remains is allowed")
	}
	if v.Remaining > 60 {
		return
	}
	c := m.copy()
	for i := range v.Remaining {
		if !c.cost(now, 1).OK {
			t.Errorf("%d remain, but request %d is refused", v.Remaining, i+1)
		}
	}
	if c.cost(now, 1).OK {
		t.Error("one more than remains is allowed")
	}
}

// checkRetry: at the promised instant the charge passes, a microsecond before it
// does not.
func checkRetry(t *rapid.T, m *machine, now stint.Micros, ask stint.Ask, v stint.Verdict) {
	if v.OK || v.RetryAfter == stint.Never || ask.Cost == 0 && isAhead(m, now) {
		return
	}
	cost := max(ask.Cost, 1)
	then := now + stint.Micros(v.RetryAfter.Microseconds())
	if !m.would(then, cost).OK {
		t.Errorf("refused at the promised instant: %+v", m.would(then, cost))
	}
	if then-1 > now && m.would(then-1, cost).OK {
		t.Error("allowed a microsecond before the promised instant")
	}
}

// isAhead: a look under a clock set back does not move the bucket, so what it
// promises holds only if the bucket is charged.
func isAhead(m *machine, now stint.Micros) bool {
	if n := len(m.list); n > 0 {
		return m.list[n-2] > int64(now)
	}
	return int64(m.cell.At) > int64(now)
}

// checkNext: what remains grows at that instant and not before.
func checkNext(t *rapid.T, m *machine, now stint.Micros, v stint.Verdict) {
	if v.NextAfter == 0 {
		if v.Remaining != m.capacity() {
			t.Errorf("%d of %d remain and more never comes", v.Remaining, m.capacity())
		}
		return
	}
	if isAhead(m, now) && !isCharged(m, now) {
		return
	}
	then := now + stint.Micros(v.NextAfter.Microseconds())
	if got := m.would(then, 0).Remaining; got <= v.Remaining {
		t.Errorf("%d remain when there should be more than %d", got, v.Remaining)
	}
	if got := m.would(then-1, 0).Remaining; got > v.Remaining {
		t.Errorf("%d remain, more than %d, before there should be more", got, v.Remaining)
	}
}

// isCharged says that a reading as old as now counts as the bucket's last, that
// is, a refused charge leaves the bucket where it is.
func isCharged(m *machine, now stint.Micros) bool {
	c := m.copy()
	c.cost(now, 1<<62)
	return c.cell == m.cell && slices.Equal(c.list, m.list)
}

// checkReset: from that instant on nothing is used; or a window ends.
func checkReset(t *rapid.T, m *machine, now stint.Micros, v stint.Verdict) {
	if isAhead(m, now) && !isCharged(m, now) {
		return
	}
	then := now + stint.Micros(v.ResetAfter.Microseconds())
	at := m.would(then, 0)
	switch m.a {
	case algo.FixedWindow, algo.SlidingWindowCounter:
		if int64(then)%m.window() != 0 || then <= now {
			t.Errorf("reset at %d, which is no end of a window", then)
		}
		if m.a == algo.FixedWindow && at.Remaining != m.capacity() {
			t.Errorf("%d of %d remain in a new window", at.Remaining, m.capacity())
		}
		return
	}
	if at.ResetAfter != 0 || at.NextAfter != 0 || at.Remaining != m.capacity() {
		t.Errorf("not as new at the reset: %+v", at)
	}
	if then > now && m.would(then-1, 0).ResetAfter != time.Microsecond {
		t.Errorf("a microsecond before the reset: %+v", m.would(then-1, 0))
	}
}

// TestForgettingChangesNothing: a bucket that is forgotten once it is worth
// nothing gets the verdicts of one that is kept.
func TestForgettingChangesNothing(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		other, now := m.copy(), start
		for range 40 {
			now += drawStep(t, m, now)
			if other.expires() <= now {
				other.forget()
			}
			ask := drawAsk(t, m, false)
			v, w := m.take(now, ask), other.take(now, ask)
			if v != w {
				t.Fatalf("%s, limit %v, now %d, ask %+v:\nkept   %v %v %+v\nforgot %v %v %+v",
					m.a.Name(), m.l, now, ask, m.cell, m.list, v, other.cell, other.list, w)
			}
		}
	}, every...)
}

// TestExpiryIsNotTooLate: at its expiry a bucket is worth nothing; a bucket that
// is charged once does not expire before then.
func TestExpiryIsNotTooLate(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		now := start + stint.Micros(rapid.Int64Range(0, years).Draw(t, "start"))
		m.cost(now, rapid.Int64Range(1, m.capacity()).Draw(t, "cost"))
		at := m.expires()
		if at <= now || int64(at-now) > 2*m.window()+int64(m.would(now, 0).ResetAfter/time.Microsecond) {
			t.Fatalf("%s, limit %v: charged at %d, expires at %d", m.a.Name(), m.l, now, at)
		}
		if v := m.would(at, 0); v.Remaining != m.capacity() || v.NextAfter != 0 {
			t.Fatalf("%s, limit %v: at the expiry %+v", m.a.Name(), m.l, v)
		}
	}, every...)
}
