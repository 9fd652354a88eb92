package algo

import (
	"fmt"
	"time"

	"github.com/stint-dev/stint"
)

// FixedWindow counts the cost in each window; windows are aligned to the Unix
// epoch. Its weakness is the edge: the whole limit at the end of one window and
// again at the start of the next, so twice the limit within an instant.
var FixedWindow stint.CellAlgorithm = fixedWindow{}

// fixedWindow keeps
//
//	cell:   Used is the cost charged in the window of At
//	params: limit, window in microseconds
type fixedWindow struct{}

const (
	limit = iota
	window
)

func (fixedWindow) Name() string { return "fixed_window" }

func (fixedWindow) Words() int { return 2 }

func (f fixedWindow) Compile(l stint.Limit) (stint.Params, error) {
	if err := checkLimit(l); err != nil {
		return stint.Params{}, err
	}
	return stint.Params{limit: l.Count, window: l.Window.Microseconds()}, checkNoBurst(l, f.Name())
}

func (fixedWindow) Capacity(p *stint.Params) int64 { return p[limit] }

func (fixedWindow) Take(c stint.Cell, p *stint.Params, now stint.Micros, ask stint.Ask) (stint.Cell, stint.Verdict) {
	if p[limit] == 0 {
		return takeNothing(c, ask)
	}
	last, count, lag := int64(c.At), c.Used, int64(0)
	at, moved := int64(now), c
	if last > at {
		if lag = last - at; count > 0 && lag <= p[window] {
			at = last
		} else {
			moved, lag = stint.Cell{At: now, Used: count}, 0
		}
	} else if last < startOf(at, p) {
		count = 0
	}
	after, ok := countUp(count, p[limit], ask)
	switch {
	case ask.Cost == 0:
	case ok:
		c = stint.Cell{At: stint.Micros(at), Used: after}
		count = after
	default:
		c = moved
	}
	end := micros(lag + endOf(at, p) - at)
	v := stint.Verdict{OK: ok, Remaining: max(0, p[limit]-count), ResetAfter: end}
	if count > 0 {
		v.NextAfter = end
	}
	if !ok {
		v.RetryAfter = end
		if ask.Cost > p[limit] {
			v.RetryAfter = stint.Never
		}
	}
	return c, v
}

// countUp returns the count after the ask and whether it fits below most.
func countUp(count, most int64, ask stint.Ask) (int64, bool) {
	switch {
	case ask.Cost < 0:
		return max(0, count+max(ask.Cost, -stint.MaxUnits)), true
	case ask.Forced:
		return min(count+min(ask.Cost, stint.MaxUnits), stint.MaxUnits), true
	}
	cost := max(ask.Cost, 1)
	return count + min(cost, stint.MaxUnits), cost <= most-count
}

// startOf is the start of the window that t is in.
func startOf(t int64, p *stint.Params) int64 { return t - t%p[window] }

// endOf is the end of the window that t is in.
func endOf(t int64, p *stint.Params) int64 { return startOf(t, p) + p[window] }

func (fixedWindow) Expires(c stint.Cell, p *stint.Params) stint.Micros {
	if c.Used == 0 || p[limit] == 0 {
		return 0
	}
	return stint.Micros(endOf(int64(c.At), p))
}

// Owes implements [stint.CellAlgorithm].
func (fixedWindow) Owes(c stint.Cell, p *stint.Params) stint.Debt {
	return windowDebt(c.At, c.Used, p)
}

// windowDebt is a count of a window as debt: a limit in each window.
func windowDebt(at stint.Micros, used int64, p *stint.Params) stint.Debt {
	if used == 0 || p[limit] == 0 {
		return stint.Debt{}
	}
	r := windowRate(p)
	return stint.Debt{At: at, Owed: min(used, stint.MaxUnits/r.Price) * r.Price, Rate: r}
}

// windowRate cuts a window into ticks, so many that limit × ticks is at most
// [stint.MaxUnits]. Each tick forgives a limit's worth of what a window forgives.
func windowRate(p *stint.Params) stint.Rate {
	t := ceilDiv(p[window], stint.MaxUnits/p[limit])
	return stint.Rate{Gain: p[limit], Price: ceilDiv(p[window], t), Tick: t}
}

// Assume implements [stint.CellAlgorithm]: all was used in the window of the last
// charge. That is never whole, since at the end of its window the count is gone at
// once, and debt is not.
func (fixedWindow) Assume(d stint.Debt, p *stint.Params) (stint.Cell, bool) {
	if d.Owed == 0 || p[limit] == 0 {
		return stint.Cell{}, d.Owed == 0
	}
	return stint.Cell{At: d.At, Used: min(d.Units(), p[limit])}, false
}

// Convert implements [stint.CellAlgorithm]. A count stays, also above the limit: it
// ends with the window. It is whole unless the window that it came from ends later.
func (f fixedWindow) Convert(c stint.Cell, old, p *stint.Params) (stint.Cell, bool) {
	if c.Used == 0 || old[limit] == 0 || p[limit] == 0 {
		return stint.Cell{}, c.Used == 0 || old[limit] == 0
	}
	return c, p[window]%old[window] == 0
}

// Apart implements [stint.WindowAlgorithm].
func (fixedWindow) Apart(p *stint.Params, units int64) time.Duration {
	return oneWindowApart(p, units)
}

// oneWindowApart is the distance of charges that do not fit into one window.
func oneWindowApart(p *stint.Params, units int64) time.Duration {
	if units <= p[limit] {
		return 0
	}
	return micros(p[window])
}

func (fixedWindow) Explain(l stint.Limit) (string, []string) {
	if l.Count == 0 {
		return "refuses everything", nil
	}
	sentence := fmt.Sprintf("at most %d in each window of %s, all of them at once if they come so", l.Count, stint.WindowText(l.Window))
	return sentence, []string{fmt.Sprintf("a fixed window lets up to %d through within an instant at the edge of two windows: "+
		"sliding_window_counter or token_bucket do not", 2*l.Count)}
}
