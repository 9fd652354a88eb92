package failover

import (
	"sync/atomic"
	"time"
)

// breaker keeps calls away from a store that fails. Closed, it lets all calls
// through; after a number of failures in a row it opens and lets none through
// until some time has passed; then a single one may try, and closes or opens it
// again (Nygard, Release It!, the circuit breaker).
//
// It is a few atomics and no lock, since every decision passes it: a breaker with
// a mutex makes one queue of all requests. Its zero value, with most and pause
// set, is closed.
type breaker struct {
	most  int64         // failures in a row until it opens
	pause time.Duration // how long it stays open

	failures atomic.Int64
	opened   atomic.Int64 // when it opened, in nanoseconds after origin; 0 while closed
	trying   atomic.Bool
}

// pass says whether a call may go through at now, which counts from any origin
// and is above 0. Each call that passed reports its outcome.
func (b *breaker) pass(now time.Duration) bool {
	opened := b.opened.Load()
	if opened == 0 {
		return true
	}
	return now-time.Duration(opened) >= b.pause && b.trying.CompareAndSwap(false, true)
}

// succeed reports that a call was answered, and says whether that closed the
// breaker.
func (b *breaker) succeed() (closed bool) {
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
	if b.opened.Load() == 0 {
		return false
	}
	closed = b.opened.Swap(0) != 0
	b.trying.Store(false)
	return closed
}

// fail reports that a call failed at now, and says whether that opened the
// breaker.
func (b *breaker) fail(now time.Duration) (opened bool) {
	if b.opened.Load() != 0 {
		b.opened.Store(int64(now))
		b.trying.Store(false)
		return false
	}
	if b.failures.Add(1) < b.most {
		return false
	}
	return b.opened.CompareAndSwap(0, int64(now))
}

// abandon reports that a call ended without an outcome: the caller went away.
func (b *breaker) abandon() { b.trying.Store(false) }

// open says whether calls are kept away.
func (b *breaker) open() bool { return b.opened.Load() != 0 }
