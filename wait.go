package stint

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turns lets the callers of Wait on one bucket go one after the other, in the
// order in which they came.
type turns struct {
	mu sync.Mutex
	of map[string][]chan struct{}
}

// take waits for the caller's turn on name. The caller that got its turn must
// call next.
func (t *turns) take(ctx context.Context, name string) error {
	t.mu.Lock()
	if t.of == nil {
		t.of = make(map[string][]chan struct{})
	}
	mine := make(chan struct{}, 1)
	t.of[name] = append(t.of[name], mine)
	first := len(t.of[name]) == 1
	t.mu.Unlock()
	if first {
		return nil
	}
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		t.leave(name, mine)
		return ctx.Err()
	}
}

// next ends the turn of the first in the queue.
func (t *turns) next(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(name, 0)
}

// leave gives a place in the queue up; if the turn had come just then it goes to
// the one behind.
func (t *turns) leave(name string, mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.of[name], mine); i >= 0 {
		t.drop(name, i)
	}
}

// drop removes the i-th in the queue and wakes the first if it is a new one.
func (t *turns) drop(name string, i int) {
	queue := slices.Delete(t.of[name], i, i+1)
	if len(queue) == 0 {
		delete(t.of, name)
		return
	}
	t.of[name] = queue
	if i == 0 {
		queue[0] <- struct{}{}
	}
}

// Wait blocks until the charge passes, in the order in which callers came to its
// bucket in this process; a caller that gives up charges nothing and makes room
// for the next. It returns an allowed decision, or a refused one if no wait
// helps: the cost is above the capacity, or the policy is a queue and the queue
// is full. It returns ctx.Err() when ctx ends, and context.DeadlineExceeded at
// once when the wait would go past ctx's deadline.
//
// Limiter.Clock, if set, is only read; the waiting itself is done in real time.
func (l *Limiter) Wait(ctx context.Context, c Charge) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	if _, ok := c.Policy.Algorithm.(QueueAlgorithm); ok {
		return l.waitInLine(ctx, c)
	}
	name := bucketName(&c)
	if err := l.turns.take(ctx, name); err != nil {
		return Decision{}, err
	}
	defer l.turns.next(name)
	for {
		d, err := l.Take(ctx, c)
		if err != nil || d.Allowed || d.RetryAfter == Never {
			return d, err
		}
		if tooLate(ctx, d.RetryAfter) {
			return d, context.DeadlineExceeded
		}
		if err := sleep(ctx, d.RetryAfter); err != nil {
			return d, err
		}
	}
}

// waitInLine is Wait on a queue: the queue itself says how long.
func (l *Limiter) waitInLine(ctx context.Context, c Charge) (Decision, error) {
	d, err := l.Take(ctx, c)
	if err != nil || !d.Allowed {
		return d, err
	}
	return d, d.Wait(ctx)
}

// tooLate says whether waiting for w goes past ctx's deadline.
func tooLate(ctx context.Context, w time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < w
}
