package stint

import (
	"context"
	"time"
)

// forever is the MaxDelay of a request without a deadline.
const forever = time.Duration(MaxUnits) * time.Microsecond

// Wait blocks until the charge passes, in the order in which callers came to its
// bucket in this process. It knows on arrival whether it can: it returns at once if
// the policy is unlimited or no wait helps.
//
// On a bucket or a queue it books ahead: the units are taken on arrival, and the
// caller waits until they are due, so that waking late costs no rate as long as the
// bucket is not full by then. Waits below a millisecond, for which the timers of the
// runtime are too coarse, block a thread on Linux and end by yielding: some 35 µs of
// processor time each. A window counter
// or a log books nothing ahead: there the first caller asks again when the store has
// said so, the others wait behind it.
//
// The decision is allowed if the charge passed. It is refused, without an error, if no
// wait helps: the cost is above the capacity, the policy is a queue and the queue is
// full, the store could not tell, or the delay would be longer than the charge's own
// MaxDelay. With an error it is not allowed either. That is ctx.Err() when ctx
// ends, or context.DeadlineExceeded as soon as the wait is known to go past ctx's
// deadline: at once on a bucket or a queue, and on a window when the callers before
// this one already take too long. A caller that gives up has charged nothing, and those
// behind it move up; it returns when the store has answered that, so a store that may
// hang belongs behind one that bounds the wait, such as package failover's.
//
// What is booked ahead counts as used for all others: until it is due, the bucket has
// nothing left for [Limiter.Allow], whose RetryAfter is when it has.
//
// Limiter.Clock, if set, is only read; the waiting itself is done in real time.
func (l *Limiter) Wait(ctx context.Context, c Charge) (Decision, error) {
	p := c.Policy
	if err := ctx.Err(); err != nil && p != nil {
		return Decision{}, err
	}
	if p == nil || p.Algorithm == nil || c.Shadow || c.Forced || c.Cost < 0 {
		return l.Take(ctx, c) // There is nothing to wait for.
	}
	d, err := l.wait(ctx, &c)
	if err != nil {
		d.Allowed, d.OK = false, false
	}
	return d, err
}

func (l *Limiter) wait(ctx context.Context, c *Charge) (Decision, error) {
	a, ok := c.Policy.Algorithm.(BookingAlgorithm)
	if !ok || c.Cost <= 0 {
		return l.waitInTurn(ctx, l.waits.enter(bucketName(c)), c)
	}
	_, queue := a.(QueueAlgorithm)
	_, limited := ctx.Deadline()
	limited = limited || c.MaxDelay > 0
	for {
		d, err := l.waitBooked(ctx, l.waits.enter(bucketName(c)), c, a)
		if err != nil || queue || limited || d.Reason != ReasonLimit || d.RetryAfter == Never {
			return d, err
		}
		// While two limits take turns on a bucket, nothing is booked ahead there.
		if err := sleep(ctx, d.RetryAfter); err != nil {
			return d, err
		}
	}
}

// waitBooked takes the units now and waits until they are due.
func (l *Limiter) waitBooked(ctx context.Context, q *waitQueue, c *Charge, a BookingAlgorithm) (Decision, error) {
	defer l.waits.leave(q, nil)
	most := forever
	if c.MaxDelay > 0 {
		most = min(c.MaxDelay, most)
	}
	if err := l.waits.beginBooking(ctx, q); err != nil {
		return Decision{}, err
	}
	patience := untilDeadline(ctx, most)
	c.MaxDelay = patience
	d, err := l.Take(ctx, *c)
	d.join()
	l.waits.endBooking(q)
	switch {
	case err != nil:
	case d.Allowed:
		err = d.Wait(ctx)
	case d.Reason != ReasonLimit || patience == most:
	default:
		// A queue that is full would have refused any deadline.
		if full, ok := a.(QueueAlgorithm); !ok || patience < full.MaxDelay(&c.Policy.Params) {
			err = context.DeadlineExceeded
		}
	}
	return d, err
}

// waitInTurn asks when those before it have passed, until the charge passes too.
func (l *Limiter) waitInTurn(ctx context.Context, q *waitQueue, c *Charge) (Decision, error) {
	now := time.Now()
	s := &slot{policy: c.Policy, cost: c.Cost, due: now}
	s.deadline, _ = ctx.Deadline()
	if most := c.MaxDelay; most > 0 && (s.deadline.IsZero() || now.Add(most).Before(s.deadline)) {
		s.deadline = now.Add(most)
	}
	if c.Cost > c.Policy.Capacity() {
		defer l.waits.leave(q, nil)
		return l.Take(ctx, *c) // It never passes, so it need not be in its turn.
	}
	l.waits.join(q, s)
	defer l.waits.leave(q, s)
	var d Decision
	for {
		if err := l.waits.await(ctx, q, s); err != nil {
			return l.lateInTurn(s, c, d), err
		}
		sent := time.Now()
		var err error
		d, err = l.Take(ctx, *c)
		if err != nil || d.Allowed || d.Reason != ReasonLimit {
			return d, err
		}
		if !l.waits.postpone(q, s, sent, d.RetryAfter) {
			return d, context.DeadlineExceeded
		}
	}
}

// lateInTurn is the decision for a request that could not wait for its turn. One that
// has not asked the store is told when its turn comes at the earliest.
func (l *Limiter) lateInTurn(s *slot, c *Charge, d Decision) Decision {
	if d.Policy == "" {
		p := c.Policy
		retry := max(time.Microsecond, time.Until(s.earliest).Truncate(time.Microsecond))
		d.Refuse(ReasonLimit, Result{
			Policy: p.Name, Limit: p.Limit, Capacity: p.Capacity(), Key: c.Key, Cost: c.Cost,
			Verdict: Verdict{RetryAfter: retry},
		})
	}
	return d
}

// BoundDelays lets queues delay the charges of a request no longer than it would wait.
// A Decider calls it before it decides, so that a request whose turn would come too
// late is refused without being charged, here or by the other policies.
func BoundDelays(src Source, charges []Charge) {
	for i := range charges {
		c := &charges[i]
		if c.Policy == nil || !c.Policy.queues {
			continue
		}
		w, ok := src.(WaitingSource)
		if !ok {
			return
		}
		deadline, ok := w.Deadline()
		if !ok {
			return
		}
		most := wholeMicros(time.Until(deadline))
		if c.MaxDelay == 0 || most < c.MaxDelay {
			c.MaxDelay = most
		}
	}
}

// untilDeadline is the time until ctx's deadline, at most most.
func untilDeadline(ctx context.Context, most time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline))
	}
	return wholeMicros(most)
}

// wholeMicros is d as a MaxDelay: in whole microseconds, and at least one, since none
// would mean another thing.
func wholeMicros(d time.Duration) time.Duration {
	return max(d.Truncate(time.Microsecond), time.Microsecond)
}
