package algo

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/stint-dev/stint"
)

// SlidingWindowCounter keeps the counts of this window and the one before, and
// takes the part of the previous one that a window ending now would still cover:
//
//	previous × (1 - elapsed/window) + current + cost ≤ limit
//
// with windows aligned to the Unix epoch and no rounding. It admits about the
// limit in any window.
var SlidingWindowCounter stint.CellAlgorithm = slidingWindow{}

// slidingWindow keeps
//
//	cell:   Used is the cost charged in the window of At, Prior that in the
//	        window before
//	params: limit, window in microseconds; tick, ticks
//
// A window has ticks of tick microseconds, so many that limit × ticks is at most
// 2^52. A tick is one microsecond but for limits above 52,000 a day and the like;
// elapsed time is rounded down to ticks, which never lets more through.
type slidingWindow struct{}

const (
	tick = window + 1 + iota
	ticks
)

func (slidingWindow) Name() string { return "sliding_window_counter" }

func (slidingWindow) Words() int { return 3 }

func (s slidingWindow) Compile(l stint.Limit) (stint.Params, error) {
	if err := checkLimit(l); err != nil {
		return stint.Params{}, err
	}
	if err := checkNoBurst(l, s.Name()); err != nil {
		return stint.Params{}, err
	}
	w := l.Window.Microseconds()
	most := stint.MaxUnits / max(l.Count, 1)
	t := ceilDiv(w, most)
	n := ceilDiv(w, t)
	if t > 1 && n < 1_000_000 {
		return stint.Params{}, fmt.Errorf("limit %v can not be kept to one in a million: "+
			"write a smaller limit, or use token_bucket", l)
	}
	return stint.Params{limit: l.Count, window: w, tick: t, ticks: n}, nil
}

func (slidingWindow) Capacity(p *stint.Params) int64 { return p[limit] }

func (s slidingWindow) Take(c stint.Cell, p *stint.Params, now stint.Micros, ask stint.Ask) (stint.Cell, stint.Verdict) {
	if p[limit] == 0 {
		return takeNothing(c, ask)
	}
	at, lag, moved := int64(now), int64(0), c
	if last := int64(c.At); last > at {
		if lag = last - at; c.Used+c.Prior > 0 && lag <= endOf(last, p)+p[window]-last {
			at = last
		} else {
			moved, lag = stint.Cell{At: now, Used: c.Used, Prior: c.Prior}, 0
		}
	}
	current, previous := s.counts(moved, p, at)
	room := p[limit] - current - s.weighed(previous, p, at)
	var after int64
	var ok bool
	switch cost := max(ask.Cost, 1); {
	case ask.Cost < 0:
		current, previous, ok = giveBack(current, previous, -max(ask.Cost, -stint.MaxUnits))
		after = current
	case ask.Forced:
		after, ok = min(current+min(cost, stint.MaxUnits), stint.MaxUnits), true
	default:
		after, ok = current+min(cost, stint.MaxUnits), cost <= room
	}
	switch {
	case ask.Cost == 0:
	case ok:
		current = after
		c = stint.Cell{At: stint.Micros(at), Used: current, Prior: previous}
		room = p[limit] - current - s.weighed(previous, p, at)
	default:
		c = moved
	}
	v := stint.Verdict{OK: ok, Remaining: max(0, room), ResetAfter: micros(lag + endOf(at, p) - at)}
	w := span{current, previous, at, p}
	if current+previous > 0 {
		v.NextAfter = w.until(v.Remaining+1, lag)
	}
	if !ok {
		v.RetryAfter = w.until(max(ask.Cost, 1), lag)
	}
	return c, v
}

// counts returns the counts of the window of at and of the one before.
func (slidingWindow) counts(c stint.Cell, p *stint.Params, at int64) (current, previous int64) {
	start := startOf(at, p)
	switch {
	case int64(c.At) >= start:
		return c.Used, c.Prior
	case int64(c.At) >= start-p[window]:
		return 0, c.Used
	}
	return 0, 0
}

// weighed is the part of previous that still counts at at, rounded up. A
// previous count above all that fits, left from a larger limit, counts as that.
func (slidingWindow) weighed(previous int64, p *stint.Params, at int64) int64 {
	if previous == 0 {
		return 0
	}
	left := p[ticks] - at%p[window]/p[tick]
	return ceilDiv(min(previous, stint.MaxUnits/p[ticks])*left, p[ticks])
}

// giveBack takes n off the current count, then off the previous one.
func giveBack(current, previous, n int64) (int64, int64, bool) {
	rest := max(0, n-current)
	return max(0, current-n), max(0, previous-rest), true
}

// span is a window at an instant.
type span struct {
	current, previous, at int64
	p                     *stint.Params
}

// until is the wait after which cost fits if nothing else comes.
func (w span) until(cost, lag int64) time.Duration {
	p := w.p
	if cost > p[limit] {
		return stint.Never
	}
	end := endOf(w.at, p)
	if n, ok := fitTick(w.previous, p[limit]-w.current-cost, p); ok {
		return micros(lag + end - p[window] + n*p[tick] - w.at)
	}
	if n, ok := fitTick(w.current, p[limit]-cost, p); ok {
		return micros(lag + end + n*p[tick] - w.at)
	}
	return micros(lag + end + p[window] - w.at)
}

// fitTick is the first tick of a window in which previous weighs at most room.
func fitTick(previous, room int64, p *stint.Params) (int64, bool) {
	if room < 0 {
		return 0, false
	}
	previous = min(previous, stint.MaxUnits/p[ticks])
	if previous <= room {
		return 0, true
	}
	left := room * p[ticks] / previous
	return p[ticks] - left, left > 0
}

func (slidingWindow) Expires(c stint.Cell, p *stint.Params) stint.Micros {
	if c.Used+c.Prior == 0 || p[limit] == 0 {
		return 0
	}
	end := endOf(int64(c.At), p)
	if c.Used > 0 {
		end += p[window]
	}
	return stint.Micros(end)
}

// Owes implements [stint.CellAlgorithm]: the estimate at the last charge.
func (s slidingWindow) Owes(c stint.Cell, p *stint.Params) stint.Debt {
	if c.Used+c.Prior == 0 || p[limit] == 0 {
		return stint.Debt{}
	}
	most := stint.MaxUnits / p[ticks]
	left := p[ticks] - int64(c.At)%p[window]/p[tick]
	owed := min(stint.MaxUnits, min(c.Used, most)*p[ticks]+min(c.Prior, most)*left)
	return stint.Debt{At: c.At, Owed: owed, Rate: stint.Rate{Gain: p[limit], Price: p[ticks], Tick: p[tick]}}
}

// Assume implements [stint.CellAlgorithm]: what is owed came evenly over the window
// that ends with the last charge, as the algorithm supposes of every window that it
// does not count itself. So it is gone a window after the last charge, but for a limit
// of 1, which forgets at the end of a window only. Both counts are rounded up: a
// conversion that lowered what is owed, by however little, would forgive that in each
// turn of two limits.
func (s slidingWindow) Assume(d stint.Debt, p *stint.Params) (stint.Cell, bool) {
	if d.Owed == 0 || p[limit] == 0 {
		return stint.Cell{}, d.Owed == 0
	}
	n := d.Units()
	used := min(n, p[limit])
	elapsed := int64(d.At) % p[window] / p[tick]
	current := ceilDiv(used*elapsed, p[ticks])
	before := ceilDiv((used-current)*p[ticks], p[ticks]-elapsed)
	return stint.Cell{At: d.At, Used: current, Prior: before}, n <= p[limit]
}

// Convert implements [stint.CellAlgorithm]. Counts of the same window stay if they
// are within the limit.
func (s slidingWindow) Convert(c stint.Cell, old, p *stint.Params) (stint.Cell, bool) {
	if old[window] == p[window] && old[limit] > 0 && c.Used <= p[limit]-s.weighed(c.Prior, p, int64(c.At)) {
		return c, true
	}
	return s.Assume(s.Owes(c, old), p)
}

// Apart implements [stint.WindowAlgorithm]. Of what has to wait at most the limit
// passes before the window ends; from then on room grows at most at the limit's rate,
// and what is weighed is rounded to a unit and a tick.
func (slidingWindow) Apart(p *stint.Params, units int64) time.Duration {
	if p[limit] == 0 || units <= p[limit]+1 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(units-p[limit]-1), uint64(p[window]))
	if hi >= uint64(p[limit]) {
		return stint.Never
	}
	us, _ := bits.Div64(hi, lo, uint64(p[limit]))
	return micros(max(0, int64(min(us, uint64(stint.MaxUnits)))-p[tick]))
}

func (slidingWindow) Explain(l stint.Limit) (string, []string) {
	if l.Count == 0 {
		return "refuses everything", nil
	}
	return fmt.Sprintf("about %d in any %s, all of them at once if they come so", l.Count, stint.WindowText(l.Window)), nil
}
