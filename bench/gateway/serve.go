package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/gateway"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// The kinds of servers that this program is when it runs itself.
const (
	serveBare  = "bare"
	serveStint = "stint"
)

// serve is one proxy in front of the upstream, until a signal ends it. It prints
// its address first.
func serve(kind, upstream string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	switch kind {
	case serveBare:
		return serveBareProxy(l, upstream)
	case serveStint:
		return serveGateway(l, upstream)
	}
	return fmt.Errorf("no server is called %q: bare or stint", kind)
}

// pool lends the buffers of the bare proxy.
type pool struct{ of sync.Pool }

func (p *pool) Get() []byte {
	if b, ok := p.of.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 32<<10)
}

func (p *pool) Put(b []byte) { p.of.Put(&b) }

func serveBareProxy(l net.Listener, upstream string) error {
	target := &url.URL{Scheme: "http", Host: upstream}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 1024
	proxy := &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(target); r.SetXForwarded(); r.Out.Host = r.In.Host },
		Transport:  transport,
		BufferPool: new(pool),
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(l)
}

func serveGateway(l net.Listener, upstream string) error {
	set, err := rules.Compile(threeRules())
	if err != nil {
		return err
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		return err
	}
	g, err := gateway.New(gateway.Options{
		Upstream: "http://" + upstream,
		Limit:    httplimit.Options{Decider: rules.NewDecider(&stint.Limiter{Store: store}, set)},
	})
	if err != nil {
		return err
	}
	defer g.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &gateway.Server{Handler: g, DrainTimeout: time.Second}
	return server.Serve(ctx, l)
}

// threeRules all match and never refuse.
func threeRules() rules.Spec {
	limit := []stint.Limit{{Count: 1_000_000_000, Window: time.Hour}}
	return rules.Spec{
		Keys: []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}},
		Rules: []rules.Rule{
			{ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"}, Limits: limit},
			{ID: "per-address", Key: []string{"ip"}, Limits: limit},
			{ID: "service", Key: []string{"global"}, Limits: limit},
		},
	}
}

// rulesFile is the same for the command.
const rulesFile = `listen: { gateway: "%s", admin: "" }
upstream: http://%s
store: memory
hash_key: only for this benchmark
keys:
  api_key: { header: X-Api-Key, secret: true }
rules:
  - { id: per-key, match: { has: api_key }, key: api_key, limit: 1000000000 per hour }
  - { id: per-address, key: ip, limit: 1000000000 per hour }
  - { id: service, key: global, limit: 1000000000 per hour }
`
