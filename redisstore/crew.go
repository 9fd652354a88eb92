package redisstore

import (
	"slices"
	"sync"
	"time"
)

// crew is the workers of a store who have nothing to do. A call needs a goroutine of
// its own, since callers may leave before it is over; one that has made calls before
// has a stack that is large enough, and a batch.
type crew struct {
	mu      sync.Mutex
	idle    []*worker // who came last goes first
	closed  bool
	workers sync.WaitGroup
}

// worker makes the calls of one lane after the other.
type worker struct {
	lanes chan *lane // its next one, nil: there is none
	batch *batch
	timer *time.Timer
}

const (
	// mostIdle bounds how many workers wait for a lane.
	mostIdle = 64
	// patience is how long they wait.
	patience = time.Second
)

// send lets somebody make the calls of a lane. The crew is not closed before the
// last of them is over.
func (c *crew) send(l *lane) {
	c.mu.Lock()
	n := len(c.idle)
	if n > 0 {
		w := c.idle[n-1]
		c.idle[n-1] = nil
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		w.lanes <- l
		return
	}
	c.workers.Add(1)
	c.mu.Unlock()
	go c.work(l)
}

// work makes the calls of a lane, and of others afterwards.
func (c *crew) work(l *lane) {
	defer c.workers.Done()
	w := &worker{lanes: make(chan *lane, 1), batch: newBatch()}
	for l != nil {
		l.run(w.batch)
		l = c.rest(w)
	}
}

// rest waits for another lane, nil if the worker should go.
func (c *crew) rest(w *worker) *lane {
	c.mu.Lock()
	if c.closed || len(c.idle) == mostIdle {
		c.mu.Unlock()
		return nil
	}
	c.idle = append(c.idle, w)
	c.mu.Unlock()
	if w.timer == nil {
		w.timer = time.NewTimer(patience)
	} else {
		w.timer.Reset(patience)
	}
	select {
	case l := <-w.lanes:
		w.timer.Stop()
		return l
	case <-w.timer.C:
	}
	if c.dismiss(w) {
		return nil
	}
	return <-w.lanes
}

// dismiss takes a worker off those who wait, or is false if it has been sent for.
func (c *crew) dismiss(w *worker) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.idle, w)
	if i < 0 {
		return false
	}
	c.idle = slices.Delete(c.idle, i, i+1)
	return true
}

// close sends all workers away and waits until they have gone.
func (c *crew) close() {
	c.mu.Lock()
	c.closed = true
	for _, w := range c.idle {
		w.lanes <- nil
	}
	c.idle = nil
	c.mu.Unlock()
	c.workers.Wait()
}
