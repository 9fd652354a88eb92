package gateway

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// threeRules hold for each request of the benchmark and refuse none.
func threeRules(t testing.TB) stint.Decider {
	t.Helper()
	set, err := rules.Compile(rules.Spec{
		Keys: []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}},
		Rules: []rules.Rule{
			{ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"}, Limits: []stint.Limit{parseLimit(t, "1_000_000 per second")}},
			{ID: "per-address", Key: []string{"ip"}, Limits: []stint.Limit{parseLimit(t, "1_000_000 per second")}},
			{ID: "whole", Key: []string{"global"}, Limits: []stint.Limit{parseLimit(t, "1_000_000 per second")}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules.NewDecider(&stint.Limiter{Store: store}, set)
}

// bare is what the gateway is measured by: the standard library's proxy with a
// pool of buffers and the gateway's own transport.
func bare(t testing.TB, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport(false)
	return serve(t, &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(u); r.SetXForwarded() },
		Transport:  transport,
		BufferPool: new(buffers),
		ErrorLog:   log.New(io.Discard, "", 0),
	}, transport.CloseIdleConnections)
}

// serve runs a handler on a plain server and returns its address.
func serve(t testing.TB, h http.Handler, closing func()) string {
	t.Helper()
	l := listen(t)
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done; closing() })
	return l.Addr().String()
}

// benchAnswer is the size of an answer's body.
const benchAnswer = 1024

// benchUpstream answers with benchAnswer bytes.
func benchUpstream(t testing.TB) string {
	answer := make([]byte, benchAnswer)
	return "http://" + serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(answer)
	}), func() {})
}

const benchRequest = "GET /v1/orders/42?expand=items HTTP/1.1\r\nHost: api.example\r\nUser-Agent: bench\r\nAccept: */*\r\nX-Api-Key: k_acme\r\n\r\n"

// caller is a connection that sends the same request again and again.
type caller struct {
	conn net.Conn
	r    *bufio.Reader
}

func call(t testing.TB, addr string) *caller {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &caller{conn: c, r: bufio.NewReader(c)}
}

func (c *caller) once() error {
	if _, err := io.WriteString(c.conn, benchRequest); err != nil {
		return err
	}
	// Parsing the answer would measure the client.
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
	}
	_, err := c.r.Discard(benchAnswer)
	return err
}

func BenchmarkProxy(b *testing.B) {
	target := benchUpstream(b)
	for _, c := range []struct{ name, addr string }{
		{"bare", bare(b, target)},
		{"gateway", start(b, Options{Upstream: target, Limit: httplimit.Options{Decider: threeRules(b)}}, Server{}).addr},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				caller := call(b, c.addr)
				for pb.Next() {
					if err := caller.once(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkRatio measures both by turns, so that what else the machine does meets
// both, and reports the median of the ratios of the requests per second.
func BenchmarkRatio(b *testing.B) {
	target := benchUpstream(b)
	bareAddr := bare(b, target)
	gatewayAddr := start(b, Options{Upstream: target, Limit: httplimit.Options{Decider: threeRules(b)}}, Server{}).addr
	var ratios []float64
	for b.Loop() {
		const slice = 250 * time.Millisecond
		first := rate(b, bareAddr, slice)
		middle := rate(b, gatewayAddr, 2*slice)
		last := rate(b, bareAddr, slice)
		ratios = append(ratios, middle/((first+last)/2))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-bare")
}

// rate returns the requests per second through addr.
func rate(t testing.TB, addr string, d time.Duration) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var wg sync.WaitGroup
	counts := make([]int, 16)
	begin := time.Now()
	for i := range counts {
		c := call(t, addr)
		wg.Go(func() {
			defer c.conn.Close()
			for ctx.Err() == nil {
				if err := c.once(); err != nil {
					t.Error(err)
					return
				}
				counts[i]++
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(begin).Seconds()
}
