package breaker

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// maxParts is how many parts are told apart.
const maxParts = 64

// Parts is a breaker for each part of something, such as a store; what has no parts
// is part 0, the mask 1. With Most, Pause and Lease set, all of them are closed. It is
// safe for concurrent use and must not be copied.
type Parts struct {
	Most  uint64        // failures in a row until one opens, at most MostFailures
	Pause time.Duration // how long it is left alone then
	Lease time.Duration // how long the call that tries it has for that

	turn     atomic.Uint64 // how often one of them opened or closed
	breakers [maxParts]breaker
}

// Passage is a call on its way through the breakers of some parts.
type Passage struct {
	Parts  uint64
	probes uint64        // those of Parts that were open, and that the call tries
	turn   uint64        // when it began
	lease  time.Duration // until when the probes are the call's
}

// Pass says whether a call about some parts may go through: all of them are closed,
// or may be tried. Each call that passed reports its outcome. clock is read only if
// need be; it counts from any origin and is above 0.
func (p *Parts) Pass(about uint64, clock func() time.Duration) (c Passage, ok bool) {
	c = Passage{Parts: about, turn: p.turn.Load()}
	open := uint64(0)
	for rest := about; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros64(rest); p.breakers[i].open() {
			open |= 1 << i
		}
	}
	if open == 0 {
		return c, true
	}
	return c, p.try(&c, open, clock())
}

// try claims the probes of open parts: all of them, or none.
func (p *Parts) try(c *Passage, open uint64, now time.Duration) bool {
	for rest := open; rest != 0; rest &= rest - 1 {
		if !p.breakers[bits.TrailingZeros64(rest)].isDue(now) {
			return false
		}
	}
	c.lease = now + p.Lease
	for rest := open; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if !p.breakers[i].claim(now, c.lease) {
			p.Abandon(c, now)
			return false
		}
		c.probes |= 1 << i
	}
	return true
}

// Abandon reports that a call ended without an outcome: the caller went away.
// Somebody else may try in its place.
func (p *Parts) Abandon(c *Passage, now time.Duration) {
	for rest := c.probes; rest != 0; rest &= rest - 1 {
		p.breakers[bits.TrailingZeros64(rest)].release(c.lease, now)
	}
}

// Answered reports that parts of a call answered, and returns how many closed.
func (p *Parts) Answered(c *Passage, about uint64) (closed int) {
	for rest := about; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if c.probes>>i&1 == 0 {
			p.breakers[i].succeed(c.turn)
		} else if p.breakers[i].recovers(c.lease, p.turn.Add(1)) {
			closed++
		}
	}
	return closed
}

// Failed reports that parts of a call failed at now, and returns how many opened.
func (p *Parts) Failed(c *Passage, about uint64, now time.Duration) (opened int) {
	for rest := about; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if c.probes>>i&1 != 0 {
			p.breakers[i].release(c.lease, now+p.Pause)
		} else if p.breakers[i].fail(c.turn, p.Most, now+p.Pause, &p.turn) {
			opened++
		}
	}
	return opened
}
