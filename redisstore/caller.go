package redisstore

import (
	"context"
	"time"

	"github.com/stint-dev/stint"
)

// caller waits for the answers to one request. It bounds the wait with a timer that
// callers use in turn, since a context with a deadline costs much more.
type caller struct {
	ctx   context.Context
	timer *time.Timer // nil until somebody had a bound
	bound bool        // the timer runs
	late  bool        // it has ended
}

// begin returns a caller who waits so long at most, 0 for ever.
func (s *Store) begin(ctx context.Context, wait time.Duration) *caller {
	c, _ := s.callers.Get().(*caller)
	if c == nil {
		c = new(caller)
	}
	c.ctx, c.bound, c.late = ctx, wait > 0, false
	switch {
	case !c.bound:
	case c.timer == nil:
		c.timer = time.NewTimer(wait)
	default:
		c.timer.Reset(wait)
	}
	return c
}

// end gives a caller back who waits for nothing any more.
func (s *Store) end(c *caller) {
	if c.bound {
		c.timer.Stop()
	}
	c.ctx = nil
	s.callers.Put(c)
}

// wait waits until done or as long as the caller does.
func (c *caller) wait(done <-chan struct{}) error {
	if c.late {
		select {
		case <-done:
			return nil
		default:
			return context.DeadlineExceeded
		}
	}
	var end <-chan time.Time
	if c.bound {
		end = c.timer.C
	}
	select {
	case <-done:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-end:
		c.late = true
		return context.DeadlineExceeded
	}
}

// within is a store for callers who wait so long at most.
type within struct {
	*Store
	longest time.Duration
}

// Within implements [stint.BoundedStore].
func (s *Store) Within(wait time.Duration) stint.Store { return within{s, wait} }

// Take implements [stint.Store].
func (w within) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	c := w.begin(ctx, w.longest)
	defer w.end(c)
	return w.take(c, now, charges, verdicts)
}
