package stint

import (
	"context"
	"slices"
	"sync"
	"time"
)

// waitQueues are the requests of this process that wait, one queue for each bucket.
//
// Where several processes share a store each keeps its own queues: a booking given
// back is then free for any request that comes next, but does not move the requests
// that wait elsewhere.
type waitQueues struct {
	mu sync.Mutex
	of map[string]*waitQueue
	naps
}

// waitQueue holds the requests that wait for one bucket, in the order in which they
// go on.
type waitQueue struct {
	name  string
	users int // those who hold it; the last one removes it
	slots []*slot
	booking
}

// slot is a request in a queue. A slot that is booked has its units and waits until
// they are due. The others have none: the first of them asks the store when it may
// pass, and those behind wait for their turn. It is guarded by waitQueues.mu.
type slot struct {
	policy *Policy
	cost   int64
	booked bool
	// due is when a booked slot goes on, and when the first of the others asks.
	due time.Time
	// moved is by how much a booked slot was moved forward.
	moved time.Duration
	// earliest is a lower bound of the time at which a slot that is not booked passes.
	earliest time.Time
	// deadline is when the request gives up, if that is not the zero time.
	deadline time.Time
	hopeless bool          // taken out, because the earliest is past the deadline
	changed  chan struct{} // holds a token when the slot has to look again
}

// bucketName frames the policy and the key of a charge. A name is shorter than a
// byte can say.
func bucketName(c *Charge) string {
	return string(rune(len(c.Policy.Name))) + c.Policy.Name + string(c.Key)
}

// enter returns the queue of a bucket. The caller must call leave.
func (w *waitQueues) enter(name string) *waitQueue {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.of[name]
	if q == nil {
		if w.of == nil {
			w.of = make(map[string]*waitQueue)
		}
		q = &waitQueue{name: name}
		w.of[name] = q
	}
	q.users++
	return q
}

// leave removes s, if it is not nil, and the queue when nobody uses it any more.
func (w *waitQueues) leave(q *waitQueue, s *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(q.slots, s); i >= 0 {
		q.slots = slices.Delete(q.slots, i, i+1)
		if !s.booked && i == q.first() && i < len(q.slots) {
			next := q.slots[i] // It may be cheaper than the one before it was.
			next.earliest = time.Now()
			next.wake()
		}
	}
	if q.users--; q.users == 0 {
		delete(w.of, q.name)
	}
}

// first is the place of the first slot that is not booked.
func (q *waitQueue) first() int {
	i := 0
	for i < len(q.slots) && q.slots[i].booked {
		i++
	}
	return i
}

// join puts s into q: a booked one by its time, behind others of the same time, the
// others last.
func (w *waitQueues) join(q *waitQueue, s *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.changed = make(chan struct{}, 1)
	if s.booked {
		i := q.first()
		for i > 0 && q.slots[i-1].due.After(s.due) {
			i--
		}
		q.slots = slices.Insert(q.slots, i, s)
		return
	}
	s.earliest = s.due
	q.slots = append(q.slots, s)
	q.forecast()
}

// wake lets the request look at its slot again.
func (s *slot) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// behind are the booked slots behind s, or all of them if s is not in the queue. The
// caller holds waitQueues.mu.
func (q *waitQueue) behind(s *slot) []*slot {
	return q.slots[slices.Index(q.slots, s)+1 : q.first()]
}

// advance moves booked slots forward. The caller holds waitQueues.mu.
func advance(slots []*slot, by time.Duration) {
	for _, s := range slots {
		s.due = s.due.Add(-by)
		s.moved += by
		s.wake()
	}
}

// await blocks until the turn of s has come: until a booked slot is due, or until
// another one may ask the store. It returns ctx.Err(), or context.DeadlineExceeded as
// soon as the deadline of a slot that is not booked cannot be met.
func (w *waitQueues) await(ctx context.Context, q *waitQueue, s *slot) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	napped := false
	for {
		due, hopeless := w.turn(q, s)
		rest := time.Until(due)
		switch {
		case hopeless:
			return context.DeadlineExceeded
		case !due.IsZero() && rest <= 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case due.IsZero():
			timer.Stop()
		case !napped && w.nap(rest):
			napped = true // Where time is simulated it has not passed.
			continue
		default:
			timer.Reset(rest)
		}
		select {
		case <-timer.C:
		case <-s.changed:
			napped = false
		case <-ctx.Done():
		}
	}
}

// turn is when s may go on, the zero time for one that waits for those before it.
func (w *waitQueues) turn(q *waitQueue, s *slot) (due time.Time, hopeless bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := q.first(); s.booked || i < len(q.slots) && q.slots[i] == s {
		return s.due, false
	}
	return time.Time{}, s.hopeless
}
