package algo_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// doubles repeats an algorithm in IEEE doubles, as another language would have to,
// and notes any number beyond 2^53.
type doubles struct {
	p     [6]float64
	cell  [4]float64
	wrong []float64
}

const (
	maxUnits = float64(stint.MaxUnits)
	never    = -1.0
)

// n notes a number that doubles may not hold exactly.
func (d *doubles) n(x float64) float64 {
	if math.Abs(x) > 1<<53 {
		d.wrong = append(d.wrong, x)
	}
	return x
}

func (d *doubles) add(a, b float64) float64 { return d.n(d.n(a) + d.n(b)) }
func (d *doubles) sub(a, b float64) float64 { return d.n(d.n(a) - d.n(b)) }
func (d *doubles) mul(a, b float64) float64 { return d.n(d.n(a) * d.n(b)) }
func (d *doubles) div(a, b float64) float64 { return math.Floor(d.n(a) / d.n(b)) }
func (d *doubles) up(a, b float64) float64  { return d.div(d.sub(d.add(a, b), 1), b) }

// verdict is a stint.Verdict in doubles; a wait of never is below 0.
type verdict struct {
	ok                              bool
	left, retry, reset, next, delay float64
}

// same compares with the verdict of an algorithm.
func (v verdict) same(w stint.Verdict) bool {
	retry := float64(w.RetryAfter / time.Microsecond)
	if w.RetryAfter == stint.Never {
		retry = never
	}
	return v.ok == w.OK && v.left == float64(w.Remaining) && v.retry == retry && v.delay == float64(w.Delay/time.Microsecond) &&
		v.reset == float64(w.ResetAfter/time.Microsecond) && v.next == float64(w.NextAfter/time.Microsecond)
}

// bucket is the token bucket. Params: gain, price, burst, full.
func (d *doubles) bucket(now, cost float64, forced bool) (v verdict) {
	gain, price, burst, full := d.p[0], d.p[1], d.p[2], d.p[3]
	at, debt := d.cell[0], d.cell[1]
	most := d.mul(burst, price)
	forgiven := func(x float64) float64 { return d.up(x, gain) }
	moved := d.cell
	lag := 0.0
	switch {
	case at > now && debt > 0 && d.sub(at, now) <= full:
		lag = d.sub(at, now)
	case at > now:
		moved = [4]float64{now, debt}
	default:
		elapsed := d.sub(now, at)
		if elapsed >= full && elapsed >= forgiven(debt) {
			debt = 0
		} else {
			debt = max(0, d.sub(debt, d.mul(elapsed, gain)))
		}
	}
	after, ok := debt, false
	switch {
	case cost < 0:
		ok, after = true, 0
		if cost >= -d.div(maxUnits, price) {
			after = max(0, d.sub(debt, d.mul(-cost, price)))
		}
	case forced:
		ok, after = true, maxUnits
		if cost <= d.div(maxUnits, price) {
			after = min(d.add(debt, d.mul(cost, price)), maxUnits)
		}
	case cost <= burst:
		after = d.add(debt, d.mul(max(cost, 1), price))
		ok = after <= most
	}
	if cost != 0 {
		d.cell = moved
		if ok {
			d.cell, debt = [4]float64{d.add(now, lag), after}, after
		}
	}
	v.ok, v.left = ok, burst
	if debt > 0 {
		v.left = max(0, d.div(d.sub(most, debt), price))
		v.reset = d.add(lag, forgiven(debt))
		v.next = d.add(lag, forgiven(d.add(d.sub(debt, most), d.mul(d.add(v.left, 1), price))))
	}
	if !ok {
		v.retry = never
		if c := max(cost, 1); c <= burst {
			v.retry = d.add(lag, forgiven(d.sub(d.add(debt, d.mul(c, price)), most)))
		}
	}
	return v
}

// counter is the sliding window counter. Params: limit, window, tick, ticks.
func (d *doubles) counter(now, cost float64, forced bool) (v verdict) {
	limit, window, tick, ticks := d.p[0], d.p[1], d.p[2], d.p[3]
	startOf := func(t float64) float64 { return d.mul(d.div(t, window), window) }
	endOf := func(t float64) float64 { return d.add(startOf(t), window) }
	c, at, lag := d.cell, now, 0.0
	if c[0] > now {
		if back := d.sub(c[0], now); d.add(c[1], c[2]) > 0 && back <= d.sub(d.add(endOf(c[0]), window), c[0]) {
			at, lag = c[0], back
		} else {
			c[0] = now
		}
	}
	var current, previous float64
	switch {
	case c[0] >= startOf(at):
		current, previous = c[1], c[2]
	case c[0] >= d.sub(startOf(at), window):
		previous = c[1]
	}
	clamp := func(x float64) float64 { return min(x, d.div(maxUnits, ticks)) }
	weighed := func() float64 {
		if previous == 0 {
			return 0
		}
		left := d.sub(ticks, d.div(d.sub(at, startOf(at)), tick))
		return d.up(d.mul(clamp(previous), left), ticks)
	}
	room := d.sub(d.sub(limit, current), weighed())
	ok := true
	switch {
	case cost < 0:
		n := -max(cost, -maxUnits)
		current, previous = max(0, d.sub(current, n)), max(0, d.sub(previous, max(0, d.sub(n, current))))
	case forced:
		if cost > 0 {
			current = min(d.add(current, min(cost, maxUnits)), maxUnits)
		}
	case cost == 0:
		ok = room >= 1
	default:
		if ok = cost <= room; ok {
			current = d.add(current, cost)
		}
	}
	if cost != 0 {
		d.cell = c
		if ok {
			d.cell = [4]float64{at, current, previous}
			room = d.sub(d.sub(limit, current), weighed())
		}
	}
	fitTick := func(previous, room float64) (float64, bool) {
		if previous = clamp(previous); room < 0 || previous <= room {
			return 0, room >= 0
		}
		left := d.div(d.mul(room, ticks), previous)
		return d.sub(ticks, left), left > 0
	}
	until := func(cost float64) float64 {
		end := endOf(at)
		if cost > limit {
			return never
		}
		if n, ok := fitTick(previous, d.sub(d.sub(limit, current), cost)); ok {
			return d.add(lag, d.sub(d.add(d.sub(end, window), d.mul(n, tick)), at))
		}
		if n, ok := fitTick(current, d.sub(limit, cost)); ok {
			return d.add(lag, d.sub(d.add(end, d.mul(n, tick)), at))
		}
		return d.add(lag, d.sub(d.add(end, window), at))
	}
	v.ok, v.left, v.reset = ok, max(0, room), d.add(lag, d.sub(endOf(at), at))
	if d.add(current, previous) > 0 {
		v.next = until(d.add(v.left, 1))
	}
	if !ok {
		v.retry = until(max(cost, 1))
	}
	return v
}

// TestDoublesAgree: the algorithms and their repetition in doubles give the same
// cells and verdicts, up to the largest limits, and no number on the way is beyond
// 2^53.
func TestDoublesAgree(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.SlidingWindowCounter} {
		t.Run(a.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := drawExtreme(t, a)
				var d doubles
				for i, x := range m.p {
					d.p[i] = float64(x)
				}
				now := start
				for range 30 {
					if rapid.IntRange(0, 5).Draw(t, "way") == 0 {
						now -= drawBack(t, m)
					} else {
						now += drawStep(t, m, now)
					}
					ask := drawAsk(t, m, false)
					if math.Abs(float64(ask.Cost)) > float64(stint.MaxUnits)+1 {
						ask.Cost %= stint.MaxUnits // what doubles do not hold never reaches them
					}
					v := m.take(now, ask)
					repeat := d.bucket
					if a == algo.SlidingWindowCounter {
						repeat = d.counter
					}
					got := repeat(float64(now), float64(ask.Cost), ask.Forced)
					var cell [4]float64
					for i, x := range []int64{int64(m.cell.At), m.cell.Used, m.cell.Prior} {
						cell[i] = float64(x)
					}
					if !got.same(v) || cell != d.cell || d.wrong != nil {
						t.Fatalf("%s, limit %v, params %v, now %d, ask %+v\nint64   %v %+v\ndoubles %v %+v\nbeyond 2^53: %v",
							a.Name(), m.l, m.p, now, ask, m.cell, v, d.cell, got, d.wrong)
					}
				}
			})
		})
	}
}

// drawExtreme draws limits up to the edge of what compiles.
func drawExtreme(t *rapid.T, a stint.Algorithm) *machine {
	if rapid.Bool().Draw(t, "usual") {
		return drawMachine(t, a)
	}
	power := rapid.Custom(func(t *rapid.T) int64 {
		return rapid.Int64Range(1, 1<<rapid.IntRange(1, 52).Draw(t, "bits")).Draw(t, "number")
	})
	l := stint.Limit{Count: power.Draw(t, "count")}
	l.Window = min(time.Duration(power.Draw(t, "window")), 25_000*24*3_600_000_000) * time.Microsecond
	if a == algo.TokenBucket && rapid.Bool().Draw(t, "burst") {
		l.Burst = power.Draw(t, "burst")
	}
	p, err := a.Compile(l)
	if err != nil {
		return drawMachine(t, a)
	}
	return &machine{a: a, l: l, p: p}
}
