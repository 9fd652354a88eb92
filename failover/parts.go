package failover

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// maxParts is how many parts of a store are told apart.
const maxParts = 64

// parts is a breaker for each part of a store. With most, pause and lease set, all
// of them are closed.
type parts struct {
	most  uint64        // failures in a row until one opens
	pause time.Duration // how long it is left alone then
	lease time.Duration // how long the call that tries it has for that

	turn     atomic.Uint64 // how often one of them opened or closed
	breakers [maxParts]breaker
}

// passage is a call on its way through the breakers of some parts.
type passage struct {
	parts  uint64
	probes uint64        // those of parts that were open, and that the call tries
	turn   uint64        // when it began
	lease  time.Duration // until when the probes are the call's
}

// pass says whether a call about some parts may go through: all of them are closed,
// or may be tried. Each call that passed reports its outcome. clock is read only if
// need be; it counts from any origin and is above 0.
func (p *parts) pass(about uint64, clock func() time.Duration) (c passage, ok bool) {
	c = passage{parts: about, turn: p.turn.Load()}
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
func (p *parts) try(c *passage, open uint64, now time.Duration) bool {
	for rest := open; rest != 0; rest &= rest - 1 {
		if !p.breakers[bits.TrailingZeros64(rest)].isDue(now) {
			return false
		}
	}
	c.lease = now + p.lease
	for rest := open; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if !p.breakers[i].claim(now, c.lease) {
			p.abandon(c, now)
			return false
		}
		c.probes |= 1 << i
	}
	return true
}

// abandon reports that a call ended without an outcome: the caller went away.
// Somebody else may try in its place.
func (p *parts) abandon(c *passage, now time.Duration) {
	for rest := c.probes; rest != 0; rest &= rest - 1 {
		p.breakers[bits.TrailingZeros64(rest)].release(c.lease, now)
	}
}

// answered reports that parts of a call answered, and returns how many closed.
func (p *parts) answered(c *passage, about uint64) (closed int) {
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

// failed reports that parts of a call failed at now, and returns how many opened.
func (p *parts) failed(c *passage, about uint64, now time.Duration) (opened int) {
	for rest := about; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if c.probes>>i&1 != 0 {
			p.breakers[i].release(c.lease, now+p.pause)
		} else if p.breakers[i].fail(c.turn, p.most, now+p.pause, &p.turn) {
			opened++
		}
	}
	return opened
}
