package resp

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a write may take before the rest is left to a goroutine, so
// that a client may send a long pipeline first and read the answers then.
const patience = 5 * time.Millisecond

// output sends answers to a client. What it does not read yet is kept, within a
// bound that all connections share.
type output struct {
	conn    net.Conn
	timeout time.Duration
	pending *atomic.Int64 // bytes kept, of all connections
	most    int64
	whole   bool // writes can not be interrupted

	mu      sync.Mutex
	changed sync.Cond // the queue is shorter, or err is set
	queue   [][]byte
	busy    bool // a goroutine sends the queue
	err     error
}

func newOutput(nc net.Conn, s *Server) *output {
	// A write that was interrupted ends a TLS connection.
	_, whole := nc.(*tls.Conn)
	o := &output{conn: nc, timeout: s.o.WriteTimeout, pending: &s.pending, most: s.o.MaxPending, whole: whole}
	o.changed.L = &o.mu
	return o
}

// send sends b and returns a buffer to use next: b, or another one if b is kept.
func (o *output) send(b []byte) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy && o.err == nil && o.pending.Load()+int64(len(b)) > o.most {
		o.changed.Wait()
	}
	switch {
	case o.err != nil:
		return b[:0], o.err
	case o.busy:
		return o.keep(b), nil
	}
	n, err := o.write(b)
	if err == nil {
		return b[:0], nil
	}
	if o.whole || !errors.Is(err, os.ErrDeadlineExceeded) {
		o.err = err
		return b[:0], err
	}
	o.busy = true
	b = o.keep(b[n:])
	go o.drain()
	return b, nil
}

// write tries to send b; nobody else does.
func (o *output) write(b []byte) (int, error) {
	wait := patience
	if o.whole {
		wait = o.timeout
	}
	if err := o.conn.SetWriteDeadline(time.Now().Add(wait)); err != nil {
		return 0, err
	}
	return o.conn.Write(b)
}

// keep puts b into the queue, behind the last buffer there if that is short and not
// being sent, and returns a buffer to use next. o.mu is held.
func (o *output) keep(b []byte) []byte {
	o.pending.Add(int64(len(b)))
	if n := len(o.queue) - 1; n > 0 && len(o.queue[n])+len(b) <= flushAt {
		o.queue[n] = append(o.queue[n], b...)
		return b[:0]
	}
	o.queue = append(o.queue, b)
	return nil
}

// drain sends the queue until it is empty. The client must read a part of it in each
// time-out.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 && o.err == nil {
		b := o.queue[0]
		o.mu.Unlock()
		err := o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
		if err == nil {
			_, err = o.conn.Write(b)
		}
		o.mu.Lock()
		o.queue[0], o.queue = nil, o.queue[1:]
		o.pending.Add(-int64(len(b)))
		o.err = err
		o.changed.Broadcast()
	}
	for _, b := range o.queue {
		o.pending.Add(-int64(len(b)))
	}
	o.queue, o.busy = nil, false
	o.changed.Broadcast()
}

// finish waits until everything is sent, or can not be.
func (o *output) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy {
		o.changed.Wait()
	}
}
