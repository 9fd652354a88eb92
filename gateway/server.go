package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The bounds of a Server that says nothing else.
const (
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultIdleTimeout       = 2 * time.Minute
	DefaultMaxHeaderBytes    = 64 << 10
	DefaultDrainTimeout      = 30 * time.Second
)

// Server serves a handler with bounds for slow and greedy clients: HTTP/1.1, and
// HTTP/2 without TLS. Only Handler must be set.
type Server struct {
	// Handler answers. It also gets OPTIONS *, which net/http would answer itself.
	Handler http.Handler

	// ReadHeaderTimeout is the longest a request's header may take. 0 means
	// [DefaultReadHeaderTimeout].
	ReadHeaderTimeout time.Duration
	// IdleTimeout is the longest a connection may wait for its next request. 0
	// means [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// StallTimeout is the longest a client may take nothing of what is written to
	// it, also on an upgraded connection. 0 means [DefaultStallTimeout], below 0 no
	// bound.
	StallTimeout time.Duration
	// MaxHeaderBytes bounds a request's header; above it the answer is 431. 0 means
	// [DefaultMaxHeaderBytes].
	MaxHeaderBytes int

	// OnDrain, if set, is called when the drain begins, while requests are still
	// accepted. It is for readiness to fail first.
	OnDrain func()
	// DrainDelay is how long requests are still accepted after OnDrain. It gives
	// load balancers time to notice.
	DrainDelay time.Duration
	// DrainTimeout is the longest that requests under way may take once no new ones
	// are accepted. Then they are cut off. 0 means [DefaultDrainTimeout].
	DrainTimeout time.Duration

	// Logger is told what net/http has to say, and when requests are cut off. Nil
	// discards.
	Logger *slog.Logger
}

// Serve accepts connections until ctx ends, then drains: it stops accepting, lets
// requests and upgraded connections finish, and cuts off those that take longer
// than DrainTimeout. It returns nil after a drain, or the error of the first
// listener that failed; either way all listeners are closed.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	if len(listeners) == 0 {
		return errors.New("no listener to serve")
	}
	logger := s.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	base, cutOff := context.WithCancel(context.Background())
	defer cutOff()
	open := new(tunnels)
	h := s.newHTTP(base, logger, open)
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		l := listener{Listener: l, stall: orDefault(s.StallTimeout, DefaultStallTimeout), open: open}
		go func() { failed <- h.Serve(l) }()
	}
	var errs []error
	select {
	case err := <-failed:
		errs = append(errs, err)
	case <-ctx.Done():
		s.announce(h)
	}
	if !s.drain(h, open) {
		logger.Warn("drain time is over: requests under way are cut off")
		cutOff()
		_ = h.Close()
		open.cut()
	}
	first := errors.Join(errs...)
	for len(errs) < len(listeners) { // The others end because of the first, or of the drain.
		errs = append(errs, <-failed)
	}
	return first
}

// newHTTP returns the server of net/http.
func (s *Server) newHTTP(base context.Context, logger *slog.Logger, open *tunnels) *http.Server {
	h := &http.Server{
		Handler:                      s.Handler,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            orDefault(s.ReadHeaderTimeout, DefaultReadHeaderTimeout),
		IdleTimeout:                  orDefault(s.IdleTimeout, DefaultIdleTimeout),
		MaxHeaderBytes:               s.MaxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnState: func(c net.Conn, state http.ConnState) {
			if c, ok := c.(*conn); ok && state == http.StateHijacked {
				open.add(c)
			}
		},
		Protocols: new(http.Protocols),
	}
	if h.MaxHeaderBytes <= 0 {
		h.MaxHeaderBytes = DefaultMaxHeaderBytes
	}
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	return h
}

// announce tells clients and load balancers that a drain begins.
func (s *Server) announce(h *http.Server) {
	if s.OnDrain != nil {
		s.OnDrain()
	}
	h.SetKeepAlivesEnabled(false)
	if s.DrainDelay > 0 {
		time.Sleep(s.DrainDelay)
	}
}

// drain stops accepting and says whether all that was under way ended in time.
func (s *Server) drain(h *http.Server, open *tunnels) bool {
	ctx, cancel := context.WithTimeout(context.Background(), orDefault(s.DrainTimeout, DefaultDrainTimeout))
	defer cancel()
	return h.Shutdown(ctx) == nil && open.wait(ctx) == nil
}
