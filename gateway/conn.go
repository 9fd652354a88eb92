package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// listener hands out connections of which no write stalls for long.
type listener struct {
	net.Listener
	stall time.Duration
	open  *tunnels
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if _, ok := c.(*tls.Conn); ok { // The server needs to see what it is.
		return c, nil
	}
	return &conn{Conn: c, stall: l.stall, open: l.open}, nil
}

// conn is a client's connection.
type conn struct {
	net.Conn
	stall time.Duration
	open  *tunnels

	mu    sync.Mutex
	until time.Time // the deadline of writes; zero if it was never set
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.stall > 0 {
		if err := c.extend(time.Now()); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// extend gives a write its time. Setting a deadline costs more than reading the
// clock, so one that is still far enough away is left: a write has between three
// quarters and all of the time.
func (c *conn) extend(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until.Sub(now) >= c.stall-c.stall/4 {
		return nil
	}
	c.until = now.Add(c.stall)
	return c.Conn.SetWriteDeadline(c.until)
}

// SetWriteDeadline implements net.Conn. It holds until the next write.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn. For writes it holds until the next one.
func (c *conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
	return c.Conn.SetDeadline(t)
}

// CloseWrite ends what is sent and leaves open what is received, where the
// connection can do that.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.open.remove(c)
	return c.Conn.Close()
}

// tunnels are the connections that became something else than HTTP, such as
// WebSockets. A server forgets these; a drain must not.
type tunnels struct {
	mu    sync.Mutex
	conns map[*conn]struct{}
	empty chan struct{} // closed when there are none; nil if nobody waits
}

func (t *tunnels) add(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		t.conns = make(map[*conn]struct{})
	}
	t.conns[c] = struct{}{}
}

func (t *tunnels) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
	if len(t.conns) == 0 && t.empty != nil {
		close(t.empty)
		t.empty = nil
	}
}

// wait blocks until there are none or ctx ends.
func (t *tunnels) wait(ctx context.Context) error {
	t.mu.Lock()
	if len(t.conns) == 0 {
		t.mu.Unlock()
		return nil
	}
	if t.empty == nil {
		t.empty = make(chan struct{})
	}
	empty := t.empty
	t.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cut closes all of them.
func (t *tunnels) cut() {
	t.mu.Lock()
	var all []*conn
	for c := range t.conns {
		all = append(all, c)
	}
	t.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}
