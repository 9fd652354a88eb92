package algo_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// rat is a whole number as a fraction.
func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// ceil rounds up.
func ceil(x *big.Rat) int64 {
	q := new(big.Int).Sub(x.Denom(), big.NewInt(1))
	return q.Div(q.Add(q, x.Num()), x.Denom()).Int64()
}

// floor rounds down.
func floor(x *big.Rat) int64 { return new(big.Int).Div(x.Num(), x.Denom()).Int64() }

// gcra is the generic cell rate algorithm in fractions: tat is the theoretical
// arrival time, unit the time that one unit is worth.
type gcra struct {
	tat, unit *big.Rat
	burst     int64
}

func (g *gcra) take(now, cost int64) (ok bool, left, retry, reset int64) {
	tat := g.tat
	if tat.Cmp(rat(now)) < 0 {
		tat = rat(now)
	}
	after := new(big.Rat).Add(tat, new(big.Rat).Mul(rat(cost), g.unit))
	most := new(big.Rat).Add(rat(now), new(big.Rat).Mul(rat(g.burst), g.unit))
	if ok = after.Cmp(most) <= 0; ok {
		tat = after
	} else {
		retry = ceil(new(big.Rat).Sub(after, most))
	}
	g.tat = tat
	room := new(big.Rat).Sub(most, tat)
	return ok, floor(room.Quo(room, g.unit)), retry, ceil(new(big.Rat).Sub(tat, rat(now)))
}

// TestBucketIsGCRA: the bucket decides as the schedule does, and names the same
// numbers, where its limit is kept exactly.
func TestBucketIsGCRA(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		unit := big.NewRat(m.window(), m.l.Count)
		if new(big.Int).Mul(unit.Num(), big.NewInt(m.capacity())).Cmp(big.NewInt(stint.MaxUnits)) > 0 {
			return
		}
		g := &gcra{tat: rat(0), unit: unit, burst: m.capacity()}
		now := start
		for range 40 {
			now += drawStep(t, m, now)
			ask := drawAsk(t, m, true)
			v := m.take(now, ask)
			ok, left, retry, reset := g.take(int64(now), ask.Cost)
			if v.OK != ok || v.Remaining != left || v.ResetAfter.Microseconds() != reset ||
				!ok && ask.Cost <= m.capacity() && v.RetryAfter.Microseconds() != retry {
				t.Fatalf("%s, limit %v, cost %d: %+v\nwant OK %v, %d left, retry %d, reset %d", m.a.Name(), m.l, ask.Cost, v, ok, left, retry, reset)
			}
		}
	}, algo.TokenBucket, algo.LeakyBucket)
}

// TestCounterIsItsFormula: the sliding counter admits exactly what the formula
// over real numbers does, where a tick is a microsecond.
func TestCounterIsItsFormula(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		if m.l.Count > stint.MaxUnits/m.window() {
			return
		}
		var all []entry
		now := start
		for range 40 {
			now += drawStep(t, m, now)
			ask := drawAsk(t, m, true)
			want := fits(m, append(all, entry{at: now, cost: ask.Cost}))
			if v := m.take(now, ask); v.OK != want {
				t.Fatalf("limit %v, cost %d at %d: %+v, want OK %v\n%v", m.l, ask.Cost, now, v, want, all)
			} else if v.OK {
				all = append(all, entry{at: now, cost: ask.Cost})
			}
		}
	}, algo.SlidingWindowCounter)
}

// TestLogIsASum: the log admits what a sum over all there ever was does.
func TestLogIsASum(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		var all []entry
		used := func(now stint.Micros) (sum int64) {
			for _, e := range all {
				if int64(now-e.at) < m.window() {
					sum += e.cost
				}
			}
			return sum
		}
		now := start
		for range 40 {
			now += drawStep(t, m, now)
			ask := drawAsk(t, m, true)
			want := used(now)+ask.Cost <= m.l.Count
			v := m.take(now, ask)
			if want {
				all = append(all, entry{at: now, cost: ask.Cost})
			}
			if v.OK != want || v.Remaining != m.l.Count-used(now) {
				t.Fatalf("limit %v, cost %d at %d: %+v, want OK %v, %d used\n%v", m.l, ask.Cost, now, v, want, used(now), all)
			}
			if len(m.list) > 2*int(m.l.Count) {
				t.Fatalf("a list of %d words for a limit of %d", len(m.list), m.l.Count)
			}
		}
	}, algo.SlidingWindowLog)
}

// TestQueueIsASchedule: each request leaves when those before it have, in
// fractions of a microsecond, rounded up.
func TestQueueIsASchedule(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		unit := big.NewRat(m.window(), m.l.Count)
		if new(big.Int).Mul(unit.Num(), big.NewInt(m.capacity())).Cmp(big.NewInt(stint.MaxUnits)) > 0 {
			return
		}
		burst := max(1, m.l.Burst)
		g := &gcra{tat: rat(0), unit: unit, burst: 1 << 60}
		now := start
		for range 40 {
			now += drawStep(t, m, now)
			ask := drawAsk(t, m, true)
			tat := g.tat
			v := m.take(now, ask)
			if v.OK {
				g.take(int64(now), ask.Cost)
			}
			room := new(big.Rat).Mul(unit, rat(burst-min(burst, ask.Cost)))
			early := max(0, ceil(new(big.Rat).Sub(tat, room.Add(room, rat(int64(now))))))
			if v.OK && v.Delay.Microseconds() != early {
				t.Fatalf("limit %v, cost %d: delay %v, want %d µs", m.l, ask.Cost, v.Delay, early)
			}
			if q := m.a.(algo.LeakyQueue); !v.OK && ask.Cost <= burst && ask.Cost <= m.capacity() &&
				(q.MaxWait == 0 || early <= q.MaxWait.Microseconds()) &&
				(q.MaxWaiting == 0 || new(big.Rat).Mul(unit, rat(q.MaxWaiting)).Cmp(rat(early)) >= 0) {
				t.Fatalf("limit %v, cost %d: refused though it would wait only %d µs: %+v", m.l, ask.Cost, early, v)
			}
		}
	}, every[len(algo.All):]...)
}

// TestC033WaitsAreExact: emptied, asked just before the promised instant and at
// it, ten thousand times.
func TestC033WaitsAreExact(t *testing.T) {
	for _, limit := range []string{"1 per 3600s, burst 1", "1 per 7s, burst 1", "3 per 11s, burst 1", "1 per 1000000s, burst 1", "999983 per 1s, burst 1"} {
		m, now := newMachine(t, algo.TokenBucket, limit), start
		for round := range 10_000 {
			now += stint.Micros(round * 7919 % 1009)
			if round > 0 && m.would(now, 1).OK != m.cost(now, 1).OK {
				t.Fatal("a look and a charge differ")
			}
			m.cost(now, 1)
			w := stint.Micros(m.cost(now, 1).RetryAfter.Microseconds())
			if w > 1 && m.would(now+w-1, 1).OK || !m.cost(now+w, 1).OK {
				t.Fatalf("%s, round %d: a wait of %d µs is not exact", limit, round, w)
			}
			now += w
		}
	}
}
