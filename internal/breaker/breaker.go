// Package breaker keeps calls away from what fails.
package breaker

import (
	"sync/atomic"
	"time"
)

// breaker keeps calls away from a part of a store that fails. Closed, it lets all
// calls through; after a number of failures in a row it opens and lets none through
// until some time has passed; then a single one may try, the probe, and closes it or
// leaves it open for as long again (Nygard, Release It!, the circuit breaker).
//
// It is two atomics and no lock, since every decision passes it: a breaker with a
// mutex makes one queue of all requests. While all is well they are only read.
//
// state is the number of the turn at which it last opened or closed, the failures in
// a row since, and whether it is open. It closes by its probe only. What a call says
// that began before the last turn, or that is no probe of an open breaker, is not
// heard: it is about another time.
//
// due is when the next probe may go, in nanoseconds after the origin; 0 in a closed
// one. Whoever moves it on by a lease has the probe, and loses it with the lease: a
// call that never ends does not keep the others away for ever. The zero value is
// closed.
type breaker struct {
	state atomic.Uint64
	due   atomic.Int64
}

// The bits of a state.
const (
	isOpen     = 1
	oneFailure = 2
	turnShift  = 24
	// MostFailures is how many failures in a row there is room for.
	MostFailures = 1<<(turnShift-1) - 1
)

// open says whether calls are kept away.
func (b *breaker) open() bool { return b.state.Load()&isOpen != 0 }

// isDue says whether somebody may try an open breaker.
func (b *breaker) isDue(now time.Duration) bool {
	due := b.due.Load()
	return due != 0 && int64(now) >= due
}

// claim makes the caller the one that tries, until lease.
func (b *breaker) claim(now, lease time.Duration) bool {
	due := b.due.Load()
	return due != 0 && int64(now) >= due && b.due.CompareAndSwap(due, int64(lease))
}

// release lets somebody else try in the place of whoever claimed until lease, from
// due on.
func (b *breaker) release(lease, due time.Duration) {
	b.due.CompareAndSwap(int64(lease), int64(due))
}

// recovers reports that the probe until lease was answered. It says whether the
// breaker closed, at this turn.
func (b *breaker) recovers(lease time.Duration, turn uint64) bool {
	if !b.due.CompareAndSwap(int64(lease), 0) {
		return false
	}
	b.state.Store(turn << turnShift)
	return true
}

// succeed reports that a call was answered that began at this turn.
func (b *breaker) succeed(turn uint64) {
	for {
		state := b.state.Load()
		if state&(1<<turnShift-1) == 0 || state&isOpen != 0 || state>>turnShift > turn {
			return
		}
		if b.state.CompareAndSwap(state, state>>turnShift<<turnShift) {
			return
		}
	}
}

// fail reports that a call failed that began at this turn. Where it is one failure
// too many, next counts the turn and the breaker opens; it is due then.
func (b *breaker) fail(turn, most uint64, due time.Duration, next *atomic.Uint64) (opened bool) {
	for {
		state := b.state.Load()
		if state&isOpen != 0 || state>>turnShift > turn {
			return false
		}
		failed := state + oneFailure
		opens := failed&(1<<turnShift-1)/oneFailure >= most
		if opens {
			failed = next.Add(1)<<turnShift | isOpen
		}
		if b.state.CompareAndSwap(state, failed) {
			if opens {
				b.due.Store(int64(due))
			}
			return opens
		}
	}
}
