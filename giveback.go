package stint

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"
)

// taken is an enforced charge of a decision that has to wait. It is kept so that a
// request that gives up can give it back.
type taken struct {
	charge Charge // its key is the decision's own
	delay  time.Duration
	lasts  time.Duration // how long anything of it is used
	queue  *waitQueue    // while the request waits
	slot   *slot
}

// send notes when charges that can be delayed are sent to the store.
func (h *held) send() { h.sent = time.Now() }

// keepTaken notes what an admitted decision with a delay has charged: not what it only
// looked at or gave back, nor shadows, which only try a limit, nor what was not counted
// because the store could not tell.
func (d *Decision) keepTaken(l *Limiter, charges []Charge) {
	h := d.held
	h.limiter, h.received = l, time.Now()
	keys := h.takenKeys[:0]
	for i := range charges {
		c, r := charges[i], &d.Results[i]
		if c.Shadow || r.Unlimited || r.Unknown || c.Cost <= 0 {
			continue
		}
		keys = append(keys, c.Key...)
		c.Key = keys[len(keys)-len(c.Key):]
		h.taken = append(h.taken, taken{charge: c, delay: r.Delay, lasts: r.ResetAfter})
	}
	h.takenKeys = keys
}

// join puts the request into the queues of the buckets that delay it.
func (d *Decision) join() {
	if d.held == nil {
		return
	}
	for i := range d.held.taken {
		if t := &d.held.taken[i]; t.delay > 0 && t.slot == nil {
			w := &d.held.limiter.waits
			t.queue = w.enter(bucketName(&t.charge))
			t.slot = &slot{policy: t.charge.Policy, cost: t.charge.Cost, booked: true, due: d.held.received.Add(t.delay)}
			w.join(t.queue, t.slot)
		}
	}
}

// leave takes the request out of the queues.
func (h *held) leave() {
	for i := range h.taken {
		if t := &h.taken[i]; t.slot != nil {
			h.limiter.waits.leave(t.queue, t.slot)
		}
	}
	h.taken = h.taken[:0]
}

// Wait blocks until an allowed request may go on: for Delay, or shorter if
// requests before it in a queue give up. It returns at once when there is no
// delay. If ctx ends first the request gives back all that it was charged by enforced
// policies, in its queue and elsewhere, and Wait returns ctx.Err(); if ctx's deadline
// is too early it does so at once, with context.DeadlineExceeded. What a limit has
// forgiven meanwhile is not given back. A shadow charge stays: the policy is only tried,
// and shows what it would have counted.
//
// It is called at most once for a decision, soon after it was made. For a decision made
// by Clone, or one without Results such as that of Allow, Wait only waits.
func (d *Decision) Wait(ctx context.Context) error {
	if d.Delay <= 0 {
		return nil
	}
	h := d.held
	if h == nil || len(h.taken) == 0 {
		return sleep(ctx, d.Delay)
	}
	d.join()
	defer h.leave()
	if deadline, ok := ctx.Deadline(); ok && h.due().After(deadline) {
		h.giveBack(ctx)
		return context.DeadlineExceeded
	}
	for i := range h.taken {
		if t := &h.taken[i]; t.slot != nil {
			if err := h.limiter.waits.await(ctx, t.queue, t.slot); err != nil {
				h.giveBack(ctx)
				return err
			}
		}
	}
	return nil
}

// due is when the last of the queues lets the request go.
func (h *held) due() (last time.Time) {
	w := &h.limiter.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range h.taken {
		if s := h.taken[i].slot; s != nil && s.due.After(last) {
			last = s.due
		}
	}
	return last
}

// giveBack returns what was taken, in one request, and moves those forward that wait
// behind it.
func (h *held) giveBack(ctx context.Context) {
	l := h.limiter
	queues := h.lock()
	defer func() {
		for _, q := range queues {
			l.waits.endReturn(q)
			l.waits.leave(q, nil)
		}
	}()
	// What comes back reaches the store about as long after now as the charge did after
	// it was sent.
	now := time.Now()
	waited, elapsed := now.Sub(h.received), now.Sub(h.sent)
	var charges []Charge
	l.waits.mu.Lock()
	for i := range h.taken {
		t := &h.taken[i]
		if t.slot != nil {
			t.lasts, t.slot.moved = t.lasts-t.slot.moved, 0
		}
		behind := l.waits.of[bucketName(&t.charge)].behind(t.slot)
		advance(behind, t.worth(waited))
		if n := t.left(elapsed, len(behind) > 0); n > 0 {
			charges = append(charges, Charge{Policy: t.charge.Policy, Key: t.charge.Key, Ask: Ask{Cost: -n}})
		}
	}
	l.waits.mu.Unlock()
	if len(charges) == 0 {
		return
	}
	// A store that fails here keeps the units: the buckets stay too full for a while,
	// which is the safe side.
	_, _ = l.Store.Take(context.WithoutCancel(ctx), l.now(), charges, make([]Verdict, len(charges)))
}

// lock enters the queues of all that was taken, each once and in one order for
// everybody, and keeps others from booking there.
func (h *held) lock() []*waitQueue {
	var names []string
	for i := range h.taken {
		names = append(names, bucketName(&h.taken[i].charge))
	}
	slices.SortFunc(names, strings.Compare)
	var queues []*waitQueue
	for _, name := range slices.Compact(names) {
		q := h.limiter.waits.enter(name)
		h.limiter.waits.beginReturn(q)
		queues = append(queues, q)
	}
	return queues
}

// left is how many units of the charge the limit has not forgiven. A window forgives all
// of it at its end: what is counted then is the use of others. A bucket forgives
// steadily; a unit of which a part is left is given back, unless the request or others
// behind it were delayed: the next one would go earlier than the rate allows.
func (t *taken) left(elapsed time.Duration, delays bool) int64 {
	rest, c := t.lasts-elapsed, &t.charge
	if rest <= 0 || c.Forced && c.saturates() {
		return 0
	}
	b, ok := c.Policy.Algorithm.(BookingAlgorithm)
	if !ok || rest >= b.Worth(&c.Policy.Params, c.Cost) {
		return c.Cost
	}
	l := c.Policy.Limit
	n := float64(rest) / float64(l.Window) * float64(l.Count)
	if delays || t.slot != nil {
		return min(c.Cost, int64(n))
	}
	return min(c.Cost, int64(math.Ceil(n)))
}

// worth is the time by which those behind the charge can move forward: what the limit
// needs for it, as far as that has not passed.
func (t *taken) worth(waited time.Duration) time.Duration {
	if b, ok := t.charge.Policy.Algorithm.(BookingAlgorithm); ok {
		return max(0, min(t.lasts-waited, b.Worth(&t.charge.Policy.Params, t.charge.Cost)))
	}
	return 0
}

// saturates says whether a forced charge is so large that a bucket may have counted
// less than its cost. Then it is not known how much to give back.
func (c *Charge) saturates() bool {
	if b, ok := c.Policy.Algorithm.(BookingAlgorithm); ok {
		return b.Worth(&c.Policy.Params, c.Cost) >= b.Worth(&c.Policy.Params, MaxUnits)/2
	}
	return c.Cost >= MaxUnits/2
}

// sleep blocks for d or until ctx ends; it does not begin if ctx's deadline is earlier.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
