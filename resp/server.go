package resp

import (
	"context"
	"errors"
	"hash/maphash"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// ErrServerClosed is what Serve returns after Shutdown or Close.
var ErrServerClosed = errors.New("resp: server closed")

// Server answers Redis clients. Make one with [New].
type Server struct {
	o       Options
	limits  limits
	limiter *stint.Limiter // that of the options, under whose Observe all counters have one name
	started time.Time
	ctx     context.Context // of all decisions; ends with Close
	cancel  context.CancelFunc

	accepted, rejected, commands atomic.Int64
	pending                      atomic.Int64 // bytes of answers that clients do not read yet
	batches                      batches

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	closing   bool
	done      sync.WaitGroup // of connections
}

// New returns a server for o, or all that is wrong with o. It owns no goroutine until
// it serves.
func New(o Options) (*Server, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, started: time.Now(), listeners: make(map[net.Listener]struct{}), conns: make(map[*conn]struct{}),
		limits: newLimits(&o), batches: batches{seed: maphash.MakeSeed()},
	}
	s.limiter = &stint.Limiter{Store: o.Limiter.Store, Clock: o.Limiter.Clock}
	if o.Limiter.Observe != nil {
		s.limiter.Observe = s.observe
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// observe passes a decision on under the one name that is the options' own.
func (s *Server) observe(d *stint.Decision) {
	d.Policy = s.o.Name
	for i := range d.Results {
		d.Results[i].Policy = s.o.Name
	}
	s.o.Limiter.Observe(d)
}

// Serve answers the clients that l accepts until Shutdown or Close, then it returns
// [ErrServerClosed]. It closes l. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	if !s.listen(l) {
		return ErrServerClosed
	}
	defer s.unlisten(l)
	const longest = time.Second
	var pause time.Duration
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(nc)
			continue
		case s.isClosing():
			return ErrServerClosed
		case errors.Is(err, net.ErrClosed):
			return err
		}
		// Too many open files, or a client that left: the next may come through.
		pause = min(max(2*pause, 5*time.Millisecond), longest)
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
		}
	}
}

func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.listeners[l] = struct{}{}
	}
	return !s.closing
}

func (s *Server) unlisten(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// admit serves a connection if there is room for it.
func (s *Server) admit(nc net.Conn) {
	c := &conn{server: s, nc: nc, id: s.accepted.Add(1), authenticated: s.o.Password == "", to: newOutput(nc, s)}
	s.mu.Lock()
	room := len(s.conns) < s.o.MaxConns
	if room && !s.closing {
		s.conns[c] = struct{}{}
		s.done.Add(1)
		s.mu.Unlock()
		go s.run(c)
		return
	}
	s.mu.Unlock()
	s.rejected.Add(1)
	if !room {
		// A new connection has room for this much; if not, the client sees it close.
		_ = nc.SetWriteDeadline(time.Now().Add(patience))
		_, _ = nc.Write([]byte("-ERR max number of clients reached\r\n"))
	}
	_ = nc.Close()
}

func (s *Server) run(c *conn) {
	defer s.done.Done()
	c.serve()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// Shutdown accepts nobody any more, lets each connection answer the commands that it
// has read and closes it. When ctx ends first it closes the rest as Close does and
// returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop(func(c *conn) { c.wake() })
	finished := make(chan struct{})
	go func() {
		s.done.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return s.Close()
	case <-ctx.Done():
		_ = s.Close()
		return context.Cause(ctx)
	}
}

// Close closes all listeners and connections at once and waits for their goroutines.
func (s *Server) Close() error {
	s.cancel()
	s.stop(func(c *conn) { _ = c.nc.Close() })
	s.done.Wait()
	return nil
}

// stop closes the listeners and does end to each connection.
func (s *Server) stop(end func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.conns {
		end(c)
	}
}
