package algo

import (
	"errors"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
)

// LeakyQueue is a leaky bucket as a queue: requests leave at the limit's rate,
// first in, first out, so the output has no bursts. A request that comes too
// early is admitted with a Delay; one that would wait too long, or find too many
// waiting, is refused. At least one of the two bounds must be set.
//
// With a Burst above 1 that many may leave at once before requests are delayed.
// A Limit without a Burst has a burst of 1.
type LeakyQueue struct {
	// MaxWait is the longest delay. 0 leaves it to MaxWaiting.
	MaxWait time.Duration
	// MaxWaiting is the most units that may wait. 0 leaves it to MaxWait.
	MaxWaiting int64
}

var _ stint.QueueAlgorithm = LeakyQueue{}

// The params of a queue are those of a bucket, whose debt may pass the burst by
// at most over; full pays off both.
const over = full + 1

// Name returns "leaky_queue". In a rules file it is a leaky_bucket with a queue.
func (q LeakyQueue) Name() string { return "leaky_queue" }

// Words implements [stint.CellAlgorithm].
func (q LeakyQueue) Words() int { return 2 }

// Compile implements [stint.Algorithm].
func (q LeakyQueue) Compile(l stint.Limit) (stint.Params, error) {
	if err := checkLimit(l); err != nil {
		return stint.Params{}, err
	}
	if q.MaxWait < 0 || q.MaxWaiting < 0 || q.MaxWait == 0 && q.MaxWaiting == 0 {
		return stint.Params{}, errors.New("a queue needs a bound: give max_wait, max_waiting or both, above 0")
	}
	if l.Count == 0 {
		return stint.Params{}, nil
	}
	l.Burst = max(l.Burst, 1)
	waiting := q.MaxWaiting
	if waiting == 0 {
		f := float64(l.Count) / float64(l.Window) * float64(q.MaxWait)
		waiting = int64(min(f, float64(stint.MaxUnits))) + 1
	}
	if waiting > stint.MaxUnits-l.Burst {
		return stint.Params{}, fmt.Errorf("a queue of %d is too long: at most %d less the burst", waiting, stint.MaxUnits)
	}
	p, err := compileBucket(l, l.Burst+waiting)
	if err != nil {
		return p, err
	}
	p[over] = waiting * p[price]
	if wait := q.MaxWait.Microseconds(); q.MaxWait > 0 && wait <= p[over]/p[gain] {
		p[over] = wait * p[gain]
	}
	p[full] = ceilDiv(p[burst]*p[price]+p[over], p[gain])
	return p, nil
}

// Capacity implements [stint.Algorithm]. It counts those that may leave at once
// and those that may wait.
func (q LeakyQueue) Capacity(p *stint.Params) int64 {
	if p[burst] == 0 {
		return 0
	}
	return p[burst] + p[over]/p[price]
}

// MaxDelay implements [stint.QueueAlgorithm].
func (q LeakyQueue) MaxDelay(p *stint.Params) time.Duration {
	if p[burst] == 0 {
		return 0
	}
	return micros(ceilDiv(p[over], p[gain]))
}

// Take implements [stint.CellAlgorithm]. A cost above the burst leaves when the
// bucket is empty, and the next one waits for all of it.
func (q LeakyQueue) Take(c stint.Cell, p *stint.Params, now stint.Micros, ask stint.Ask) (stint.Cell, stint.Verdict) {
	if p[burst] == 0 {
		return takeNothing(c, ask)
	}
	moved, debt, lag := owed(c, p, now)
	cost := max(ask.Cost, 1)
	possible := cost <= q.Capacity(p)
	var early, late int64
	if possible {
		early, late = tooMuch(debt, min(cost, p[burst]), p), tooMuch(debt, cost, p)
	}
	patience := stint.MaxUnits
	if ask.MaxDelay > 0 {
		patience = lent(ask, 0, p)
	}
	ok := ask.Forced || ask.Cost < 0 || possible && late <= spare(lag, p[over], p) && early <= spare(lag, patience, p)
	switch {
	case ask.Cost == 0:
	case ok:
		debt = queued(debt, p, ask)
		c = stint.Cell{At: now + stint.Micros(lag), Used: debt}
	default:
		c = moved
	}
	v := q.verdict(debt, lag, p)
	v.OK = ok
	switch {
	case !possible && !ok:
		v.RetryAfter = stint.Never
	case !ok:
		v.RetryAfter = micros(max(untilSpare(late, lag, p[over], p), untilSpare(early, lag, patience, p)))
	case ask.Cost > 0 && !ask.Forced && early > 0:
		v.Delay = micros(lag + forgiven(early, p))
	}
	return c, v
}

// queued is the debt after an admitted ask, whose cost may be above the burst.
func queued(debt int64, p *stint.Params, ask stint.Ask) int64 {
	if ask.Cost > 0 {
		ask.Forced = true
	}
	after, _ := charge(debt, p, ask)
	return after
}

// tooMuch is what debt and cost together are above the burst.
func tooMuch(debt, cost int64, p *stint.Params) int64 {
	return max(0, debt+(cost-p[burst])*p[price])
}

// verdict reads a debt.
func (q LeakyQueue) verdict(debt, lag int64, p *stint.Params) stint.Verdict {
	capacity := q.Capacity(p)
	if debt == 0 {
		return stint.Verdict{Remaining: capacity}
	}
	v := stint.Verdict{ResetAfter: micros(lag + forgiven(debt, p))}
	if room := spare(lag, p[over], p) + (p[burst]-1)*p[price] - debt; room >= 0 {
		v.Remaining = room/p[price] + 1
	}
	if v.Remaining < capacity {
		v.NextAfter = micros(untilSpare(tooMuch(debt, v.Remaining+1, p), lag, p[over], p))
	}
	return v
}

// Expires implements [stint.CellAlgorithm].
func (q LeakyQueue) Expires(c stint.Cell, p *stint.Params) stint.Micros {
	return (&bucket{}).Expires(c, p)
}

// Owes implements [stint.CellAlgorithm].
func (q LeakyQueue) Owes(c stint.Cell, p *stint.Params) stint.Debt {
	return (&bucket{}).Owes(c, p)
}

// Assume implements [stint.CellAlgorithm].
func (q LeakyQueue) Assume(d stint.Debt, p *stint.Params) (stint.Cell, bool) {
	return assume(d, p, p[burst]*p[price]+p[over])
}

// Worth implements [stint.BookingAlgorithm].
func (q LeakyQueue) Worth(p *stint.Params, units int64) time.Duration {
	return (&bucket{}).Worth(p, units)
}

// Convert implements [stint.CellAlgorithm].
func (q LeakyQueue) Convert(c stint.Cell, old, p *stint.Params) (stint.Cell, bool) {
	return q.Assume(q.Owes(c, old), p)
}

// Explain implements [stint.Algorithm].
func (q LeakyQueue) Explain(l stint.Limit) (string, []string) {
	if l.Count == 0 {
		return "refuses everything", nil
	}
	s := fmt.Sprintf("lets one through every %s", interval(l))
	if l.Burst > 1 {
		s = fmt.Sprintf("lets %d through at once, then one every %s", l.Burst, interval(l))
	}
	s += "; the others wait"
	if q.MaxWaiting > 0 {
		s += fmt.Sprintf(", at most %d of them", q.MaxWaiting)
	}
	if q.MaxWait > 0 {
		s += fmt.Sprintf(", at most %v", q.MaxWait)
	}
	return s, nil
}
