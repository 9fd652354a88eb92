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

	target   string
	listener net.Listener
	delay    atomic.Int64
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
	p := &Proxy{Addr: l.Addr().String(), target: target, listener: l, conns: make(map[net.Conn]bool)}
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

// Delay makes every piece of an answer come d later.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

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
		s, err := net.DialTimeout("tcp", p.target, patience)
		if err != nil {
			c.Close()
			continue
		}
		if !p.keep(c, s) {
			continue
		}
		p.done.Go(func() { p.copy(s, c, false) })
		p.done.Go(func() { p.copy(c, s, true) })
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

// copy moves what src says to dst until one of them ends, and ends both.
func (p *Proxy) copy(dst, src net.Conn, answers bool) {
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
		if answers {
			time.Sleep(time.Duration(p.delay.Load()))
		}
		if n > 0 {
			if _, err := dst.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
