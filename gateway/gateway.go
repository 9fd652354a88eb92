package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/internal/clientip"
)

// Gateway is the handler that limits requests and forwards them. It is made by
// [New] and safe for concurrent use.
type Gateway struct {
	limited http.Handler // the limiter, then forward
	next    http.Handler // what stands for the upstream
	closing func()

	upstream     *url.URL // nil for the built-in one
	upstreamHost bool
	maxBody      int64
	stall        time.Duration
	answerBound  time.Duration
	clients      *clientip.Resolver
	limitNames   []string // the header fields that the limiter owns
	health       health
	answers      sync.Pool
}

// New returns a gateway, or all that is wrong with o.
func New(o Options) (*Gateway, error) {
	o = o.resolve()
	upstream, upstreamErr := parseUpstream(o.Upstream)
	limit, limitErr := httplimit.New(o.Limit)
	if err := errors.Join(upstreamErr, limitErr, checkBody(o.MaxBody)); err != nil {
		return nil, err
	}
	clients, err := clientip.New(clientip.Options{TrustedProxies: o.Limit.TrustedProxies, TrustUnix: o.Limit.TrustUnix})
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		upstream: upstream, upstreamHost: o.UpstreamHost, maxBody: o.MaxBody, stall: o.StallTimeout, answerBound: o.AnswerTimeout,
		clients: clients, limitNames: o.Limit.Headers.Names(),
		health: health{logger: o.Logger, tell: o.OnFailure},
	}
	g.next, g.closing = g.newNext(o)
	g.limited = limit(http.HandlerFunc(g.forward))
	return g, nil
}

func checkBody(n int64) error {
	if n < 0 {
		return fmt.Errorf("max body %d is negative: leave it out for no bound", n)
	}
	return nil
}

// newNext returns what answers allowed requests, and how to end it.
func (g *Gateway) newNext(o Options) (next http.Handler, closing func()) {
	if g.upstream == nil {
		return g.inProcess(Demo()), func() {}
	}
	transport := o.Transport
	if transport == nil {
		transport = newTransport(g.upstream.Scheme == schemeH2C)
	}
	if g.upstream.Scheme == schemeH2C {
		g.upstream.Scheme = "http"
	}
	closing = func() {}
	if c, ok := transport.(interface{ CloseIdleConnections() }); ok {
		closing = c.CloseIdleConnections
	}
	return &httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        g.rewrite,
		ModifyResponse: g.modifyResponse,
		ErrorHandler:   g.fail,
		BufferPool:     new(buffers),
		ErrorLog:       slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}, closing
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, fault := cleanTarget(r)
	if fault != nil {
		fault.write(w, r)
		return
	}
	if hasBody(r) {
		r = g.withBody(w, r)
	}
	g.limited.ServeHTTP(w, r)
}

// Close closes the connections to the upstream that are idle. Requests under way
// are not touched.
func (g *Gateway) Close() { g.closing() }

// forward passes on a request that the limiter let through.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request) {
	if g.maxBody > 0 && r.ContentLength > g.maxBody {
		tooLarge(g.maxBody).write(w, r)
		return
	}
	client := r.Context()
	a := g.answer(w)
	if hasBody(r) {
		if g.maxBody > 0 {
			r.Body = http.MaxBytesReader(w, r.Body, g.maxBody)
		}
		a.body = &body{ReadCloser: r.Body, watch: a.watch}
		r.Body = a.body
	}
	if a.watch != nil {
		watched, cancel := a.watch.begin(r)
		defer cancel()
		r = watched
	}
	whole := false
	defer func() { // The proxy panics to break an answer off.
		if !whole && client.Err() == nil {
			g.health.count(Cut)
		}
	}()
	g.next.ServeHTTP(a, r)
	whole = true
	g.release(a)
}

// modifyResponse sees each answer of the upstream.
func (g *Gateway) modifyResponse(res *http.Response) error {
	g.health.answered()
	if res.StatusCode == http.StatusSwitchingProtocols {
		for _, name := range g.limitNames {
			delete(res.Header, name)
		}
	}
	return nil
}
