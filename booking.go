package stint

import "context"

// booking keeps those who book in a bucket apart from those who give units back there:
// any number may book at once, from before they ask the store until they are in the
// queue, and one gives back alone. So it is known for each booking of [Limiter.Wait]
// whether it was made before or after the units came back, and whether it has to move.
// One that a door made by [Limiter.Decide] joins the queue a moment later; if units come
// back in between it waits longer than it needs. It is guarded by waitQueues.mu, which
// is not held while the store is asked.
type booking struct {
	booking   int  // calls under way that book
	returning bool // a call under way that gives back
	returns   int  // calls that give back, under way or about to; no booking begins
	changed   chan struct{}
}

// changes is closed when one of the calls under way has ended.
func (b *booking) changes() <-chan struct{} {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

func (b *booking) change() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// beginBooking waits until nothing is being given back. After an error, which is
// ctx.Err(), the caller must not call endBooking.
func (w *waitQueues) beginBooking(ctx context.Context, q *waitQueue) error {
	for {
		w.mu.Lock()
		if q.returns == 0 {
			q.booking.booking++
			w.mu.Unlock()
			return nil
		}
		changes := q.changes()
		w.mu.Unlock()
		select {
		case <-changes:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *waitQueues) endBooking(q *waitQueue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.booking.booking--
	q.change()
}

// beginReturn keeps new bookings out and waits for those under way.
func (w *waitQueues) beginReturn(q *waitQueue) {
	w.mu.Lock()
	q.returns++
	for q.booking.booking > 0 || q.returning {
		changes := q.changes()
		w.mu.Unlock()
		<-changes
		w.mu.Lock()
	}
	q.returning = true
	w.mu.Unlock()
}

func (w *waitQueues) endReturn(q *waitQueue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.returns--
	q.returning = false
	q.change()
}
