package resp

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// A store that is far away is asked about the calls of a pipeline together, or each
// would wait for the one before it.
const (
	batchSize  = 128                   // calls of a batch
	maxBatches = 256                   // under way at once, of all connections
	maxHelpers = 1024                  // goroutines that decide for them
	slowCall   = 50 * time.Microsecond // from here on a decision takes long
	timedCalls = 4                     // that are timed together, one by one
)

// batches are those of a server. Each has about 100 KiB.
type batches struct {
	pool    sync.Pool
	seed    maphash.Seed
	taken   atomic.Int64
	helpers atomic.Int64
}

// batch is consecutive calls of a pipeline.
type batch struct {
	calls [batchSize]call
	n     int
	last  map[uint64]int // the last call with a key, by the key's hash
	heads []int          // the first calls with a key
	slow  atomic.Int64   // of the calls
	done  sync.WaitGroup
}

// take returns a batch, nil if there are too many.
func (s *batches) take() *batch {
	if s.taken.Add(1) > maxBatches {
		s.taken.Add(-1)
		return nil
	}
	if b, ok := s.pool.Get().(*batch); ok {
		return b
	}
	return &batch{last: make(map[uint64]int)}
}

func (s *batches) giveBack(b *batch) {
	s.pool.Put(b)
	s.taken.Add(-1)
}

// time measures calls that were answered one by one. They take long if some did twice
// in a row: once can be the machine.
func (c *conn) time(more bool) {
	if c.timed++; c.timed < timedCalls && more {
		return
	}
	now := time.Now()
	long := now.Sub(c.mark) > time.Duration(c.timed)*slowCall
	c.slow, c.long = long && c.long, long
	c.mark, c.timed = now, 0
}

// gather keeps a call to decide it with those behind it. It is false if that would
// gain nothing. The arguments stay where they are until the connection is read.
func (c *conn) gather(args [][]byte, more bool) bool {
	if c.batch == nil {
		if !c.slow || !more {
			return false
		}
		if c.batch = c.server.batches.take(); c.batch == nil {
			return false
		}
	}
	b := c.batch
	c.prepare(&b.calls[b.n], args)
	if b.n++; b.n == batchSize {
		c.settle()
	}
	return true
}

// settle decides about the calls that were gathered and answers them in their order.
func (c *conn) settle() {
	b := c.batch
	if b == nil {
		return
	}
	c.batch = nil
	b.settle(c.server)
	for i := range b.calls[:b.n] {
		c.answer(&b.calls[i])
		b.calls[i].charge[0].Key = nil
	}
	const few = batchSize / 8
	c.long = b.slow.Load()*few >= int64(b.n)
	c.slow = c.long
	c.mark, c.timed = time.Now(), 0
	b.n = 0
	c.server.batches.giveBack(b)
}

// settle decides about all calls, those with one key in their order.
func (b *batch) settle(s *Server) {
	b.line(s.batches.seed)
	b.slow.Store(0)
	helpers := 0
	for helpers < len(b.heads)-1 && s.batches.helpers.Add(1) <= maxHelpers {
		helpers++
	}
	if helpers < len(b.heads)-1 {
		s.batches.helpers.Add(-1) // The one above the bound.
	}
	for i := range helpers {
		b.done.Go(func() {
			b.work(s, i+1, helpers+1)
			s.batches.helpers.Add(-1)
		})
	}
	b.work(s, 0, helpers+1)
	b.done.Wait()
}

// line puts the calls with one key behind each other.
func (b *batch) line(seed maphash.Seed) {
	clear(b.last)
	b.heads = b.heads[:0]
	for i := range b.calls[:b.n] {
		b.calls[i].next = 0
		if b.calls[i].fault != nil {
			continue
		}
		h := maphash.Bytes(seed, b.calls[i].charge[0].Key)
		if before, ok := b.last[h]; ok {
			b.calls[before].next = i
		} else {
			b.heads = append(b.heads, i)
		}
		b.last[h] = i
	}
}

// work decides about the calls of every step-th key from the first one on.
func (b *batch) work(s *Server, first, step int) {
	began, n := time.Now(), 0
	for h := first; h < len(b.heads); h += step {
		for i := b.heads[h]; ; i = b.calls[i].next {
			s.decide(&b.calls[i])
			n++
			if b.calls[i].next == 0 {
				break
			}
		}
	}
	if time.Since(began) > time.Duration(n)*slowCall {
		b.slow.Add(int64(n))
	}
}
