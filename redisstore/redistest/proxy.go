package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between a client and a server, and disturbs.
type Proxy struct {
	// Addr is where clients connect to.
	Addr string

	target   atomic.Pointer[string]
	listener net.Listener
	delay    atomic.Int64
	answer   atomic.Pointer[func([]byte) []byte]
	done     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// NewProxy starts a proxy before the server at target. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, conns: make(map[net.Conn]bool)}
	p.Point(target)
	p.done.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.conns = nil // whoever is accepted now is closed
		p.mu.Unlock()
		p.done.Wait()
	})
	t.Cleanup(p.Cut)
	return p
}

// Point sends new connections to another server. Those that are open stay.
func (p *Proxy) Point(target string) { p.target.Store(&target) }

// Delay makes every piece of an answer come d later.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Answer lets change replace each piece of an answer, of all connections at once:
// the client is sent what it returns. Where that is nil the connection is closed,
// where it is empty nothing is sent. A change that is nil lets all pass again.
func (p *Proxy) Answer(change func(piece []byte) []byte) {
	if change == nil {
		p.answer.Store(nil)
		return
	}
	p.answer.Store(&change)
}

// Lose loses a part of every n-th piece of an answer: of one the second half, with
// the next one the connection. 0 loses nothing.
func (p *Proxy) Lose(n int) {
	if n == 0 {
		p.Answer(nil)
		return
	}
	var pieces atomic.Int64
	p.Answer(func(piece []byte) []byte {
		switch pieces.Add(1) % int64(2*n) {
		case 0:
			return nil
		case int64(n):
			return piece[:len(piece)/2]
		}
		return piece
	})
}

// Cut closes all connections as they are.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		s, err := net.DialTimeout("tcp", *p.target.Load(), patience)
		if err != nil {
			c.Close()
			continue
		}
		if !p.keep(c, s) {
			continue
		}
		p.done.Go(func() { p.copy(s, c, asItIs) })
		p.done.Go(func() { p.copy(c, s, p.disturbed) })
	}
}

// keep notes two connections, or closes them if the proxy has ended.
func (p *Proxy) keep(c, s net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		c.Close()
		s.Close()
		return false
	}
	p.conns[c], p.conns[s] = true, true
	return true
}

func asItIs(piece []byte) []byte { return piece }

// disturbed is what becomes of a piece of an answer.
func (p *Proxy) disturbed(piece []byte) []byte {
	time.Sleep(time.Duration(p.delay.Load()))
	if change := p.answer.Load(); change != nil {
		return (*change)(piece)
	}
	return piece
}

// copy moves what src says to dst until one of them ends, and ends both.
func (p *Proxy) copy(dst, src net.Conn, change func([]byte) []byte) {
	defer func() {
		src.Close()
		dst.Close()
		p.mu.Lock()
		delete(p.conns, src)
		p.mu.Unlock()
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := src.Read(buffer)
		if n > 0 {
			piece := change(buffer[:n])
			if piece == nil {
				return
			}
			if _, err := dst.Write(piece); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
