package algo

import (
	"fmt"
	"time"

	"github.com/stint-dev/stint"
)

// TokenBucket starts full, refills continuously at the limit's rate and holds at
// most Burst tokens; a request passes if its cost is there. Over any span of
// length t it admits at most Burst + rate × t.
//
// The same bucket seen as a schedule is the generic cell rate algorithm (ITU-T
// I.371), so its decisions are gcra's.
var TokenBucket stint.CellAlgorithm = &bucket{"token_bucket"}

// LeakyBucket is a leaky bucket as a meter: requests fill it, it leaks
// continuously at the limit's rate, and a request passes if its cost still fits
// below Burst. It decides as [TokenBucket] does, seen upside down.
var LeakyBucket stint.CellAlgorithm = &bucket{"leaky_bucket"}

// bucket keeps a debt in units shared by time and cost: each microsecond
// forgives gain, each unit of cost is worth price. Nothing is ever rounded.
//
//	cell:   Used is the debt at the instant of the last charge
//	params: gain, price, burst; full, the microseconds that forgive burst
type bucket struct{ name string }

const (
	gain = iota
	price
	burst
	full
)

func (b *bucket) Name() string { return b.name }

func (b *bucket) Words() int { return 2 }

func (b *bucket) Compile(l stint.Limit) (stint.Params, error) {
	if err := checkLimit(l); err != nil {
		return stint.Params{}, err
	}
	return compileBucket(l, l.Capacity())
}

// compileBucket finds the units in which capacity can be kept.
func compileBucket(l stint.Limit, capacity int64) (stint.Params, error) {
	if l.Count == 0 {
		return stint.Params{}, nil
	}
	g, p, ok := ratio(l.Count, l.Window.Microseconds(), capacity)
	if !ok {
		return stint.Params{}, fmt.Errorf("limit %v can not be kept to one in a million with room for %d: "+
			"a full bucket is worth %.3g years; write a smaller burst or a shorter window",
			l, capacity, l.Window.Hours()/8760*float64(capacity)/float64(l.Count))
	}
	return stint.Params{gain: g, price: p, burst: l.Capacity(), full: ceilDiv(capacity*p, g)}, nil
}

func (b *bucket) Capacity(p *stint.Params) int64 { return p[burst] }

func (b *bucket) Take(c stint.Cell, p *stint.Params, now stint.Micros, ask stint.Ask) (stint.Cell, stint.Verdict) {
	most := p[burst] * p[price]
	if most == 0 {
		return takeNothing(c, ask)
	}
	moved, debt, lag := owed(c, p, now)
	after, ok := charge(debt, p, ask)
	ahead := int64(0) // how far above most the caller would wait out
	if !ask.Forced && ask.Cost >= 0 {
		room := most
		if ask.MaxDelay > 0 {
			ahead = lent(ask, most, p)
			room += spare(lag, ahead, p)
		}
		ok = ok && after <= room
	}
	switch {
	case ask.Cost == 0:
	case ok:
		debt, c = after, stint.Cell{At: now + stint.Micros(lag), Used: after}
	default:
		c = moved
	}
	v := stint.Verdict{OK: ok, Remaining: p[burst]}
	if debt > 0 {
		v.Remaining = units(most-debt, p)
		v.ResetAfter = micros(lag + forgiven(debt, p))
		v.NextAfter = micros(lag + forgiven(debt-most+(v.Remaining+1)*p[price], p))
	}
	switch {
	case !ok:
		v.RetryAfter = stint.Never
		if cost := max(ask.Cost, 1); cost <= p[burst] {
			v.RetryAfter = micros(untilSpare(debt+cost*p[price]-most, lag, ahead, p))
		}
	case ahead > 0 && after > most && ask.Cost > 0:
		v.Delay = micros(lag + forgiven(after-most, p))
	}
	return c, v
}

// lent is how far above most the debt may go for a caller who waits for as long as
// the ask says.
func lent(ask stint.Ask, most int64, p *stint.Params) int64 {
	us := ask.MaxDelay.Microseconds()
	if us > (stint.MaxUnits-most)/p[gain] {
		return stint.MaxUnits - most
	}
	return us * p[gain]
}

// spare is how far above a full bucket the debt may go where over is lent. For a
// reading that is behind by lag it is less, because a delay counts from the reading.
func spare(lag, over int64, p *stint.Params) int64 {
	if lag > over/p[gain] {
		return 0
	}
	return over - lag*p[gain]
}

// untilSpare is the time until late, which is above a full bucket, is within what
// is lent.
func untilSpare(late, lag, over int64, p *stint.Params) int64 {
	if late > over {
		return lag + forgiven(late-over, p)
	}
	return lag - (over-late)/p[gain]
}

// takeNothing is Take under a limit of 0.
func takeNothing(c stint.Cell, ask stint.Ask) (stint.Cell, stint.Verdict) {
	if ask.Forced || ask.Cost < 0 {
		return c, stint.Verdict{OK: true}
	}
	return c, stint.Verdict{RetryAfter: stint.Never}
}

// owed returns the debt in c at now. lag is how far now is behind the cell; a
// cell that is further ahead than a full bucket needs to be paid off comes back
// moved to now.
func owed(c stint.Cell, p *stint.Params, now stint.Micros) (moved stint.Cell, debt, lag int64) {
	switch elapsed := int64(now - c.At); {
	case elapsed < 0:
		if -elapsed <= p[full] && c.Used > 0 {
			return c, c.Used, -elapsed
		}
		return stint.Cell{At: now, Used: c.Used}, c.Used, 0
	case elapsed < p[full] || elapsed < forgiven(c.Used, p):
		return c, max(0, c.Used-elapsed*p[gain]), 0
	}
	return c, 0, 0
}

// forgiven is the time that pays off debt. Most rates forgive one unit of debt in
// each microsecond, and most debts of the fastest ones less than that.
func forgiven(debt int64, p *stint.Params) int64 {
	if p[gain] == 1 || debt <= 0 {
		return debt
	}
	if debt <= p[gain] {
		return 1
	}
	return ceilDiv(debt, p[gain])
}

// units is how many units of cost fit into room, at least 0.
func units(room int64, p *stint.Params) int64 {
	if p[price] == 1 || room <= 0 {
		return max(0, room)
	}
	return room / p[price]
}

// charge returns the debt after the ask, as if it fitted; ok is false for a cost
// that no bucket has room for.
func charge(debt int64, p *stint.Params, ask stint.Ask) (after int64, ok bool) {
	if ask.Cost > 0 && !ask.Forced && ask.Cost <= p[burst] {
		return debt + ask.Cost*p[price], true
	}
	most := stint.MaxUnits / p[price]
	switch {
	case ask.Cost == 0:
		return debt + p[price], true
	case ask.Cost < -most:
		return 0, true
	case ask.Cost < 0:
		return max(0, debt+ask.Cost*p[price]), true
	case !ask.Forced:
		return debt, false
	case ask.Cost > most:
		return stint.MaxUnits, true
	}
	return min(debt+ask.Cost*p[price], stint.MaxUnits), true
}

func (b *bucket) Expires(c stint.Cell, p *stint.Params) stint.Micros {
	if c.Used == 0 || p[burst] == 0 {
		return 0
	}
	return c.At + stint.Micros(forgiven(c.Used, p))
}

// Owes implements [stint.CellAlgorithm]: a bucket is a debt already.
func (b *bucket) Owes(c stint.Cell, p *stint.Params) stint.Debt {
	if p[burst] == 0 || c.Used == 0 {
		return stint.Debt{}
	}
	return stint.Debt{At: c.At, Owed: c.Used, Rate: stint.Rate{Gain: p[gain], Price: p[price], Tick: 1}}
}

// Assume implements [stint.CellAlgorithm].
func (b *bucket) Assume(d stint.Debt, p *stint.Params) (stint.Cell, bool) {
	return assume(d, p, p[burst]*p[price])
}

// assume is the bucket that owes d, at most most.
func assume(d stint.Debt, p *stint.Params, most int64) (stint.Cell, bool) {
	if d.Owed == 0 || most == 0 {
		return stint.Cell{}, d.Owed == 0
	}
	owed := d.WorthAt(p[price])
	return stint.Cell{At: d.At, Used: min(owed, most)}, owed <= most
}

// Worth implements [stint.BookingAlgorithm].
func (b *bucket) Worth(p *stint.Params, units int64) time.Duration {
	if p[price] == 0 {
		return 0
	}
	return time.Duration(min(units, stint.MaxUnits/p[price]) * p[price] * 1000 / p[gain])
}

// Convert implements [stint.CellAlgorithm].
func (b *bucket) Convert(c stint.Cell, old, p *stint.Params) (stint.Cell, bool) {
	return b.Assume(b.Owes(c, old), p)
}

func (b *bucket) Explain(l stint.Limit) (string, []string) {
	if l.Count == 0 {
		return "refuses everything", nil
	}
	most := l.Capacity()
	return fmt.Sprintf("at most %d at once, then one every %s; at most %d in any %s",
		most, interval(l), most+l.Count, stint.WindowText(l.Window)), nil
}

// interval is the time between two units, rounded to the microsecond.
func interval(l stint.Limit) string {
	return stint.WindowText((l.Window / time.Duration(l.Count)).Round(time.Microsecond))
}
