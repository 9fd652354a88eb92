package httplimit_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
)

func TestC136ExactlyFiveOfTwoHundredAtOnce(t *testing.T) {
	const connections = 200
	limiter := newLimiter(t, newClock())
	for _, a := range algo.All {
		t.Run(a.Name(), func(t *testing.T) {
			h := newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
				Limiter: limiter, Policy: newPolicy(t, a.Name(), "5 per minute", a), Key: httplimit.ByIP,
			}})(hello)
			srv := httptest.NewServer(h)
			defer srv.Close()
			conns := dialAlmost(t, srv.Listener.Addr().String(), connections)
			var mu sync.Mutex
			var remaining []string
			refused := 0
			var wg sync.WaitGroup
			start := make(chan struct{})
			for _, conn := range conns {
				wg.Go(func() {
					<-start
					fmt.Fprint(conn, "\n")
					res, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err != nil {
						t.Error(err)
						return
					}
					defer res.Body.Close()
					mu.Lock()
					defer mu.Unlock()
					if res.StatusCode == http.StatusOK {
						remaining = append(remaining, res.Header.Get("X-RateLimit-Remaining"))
					} else {
						refused++
					}
				})
			}
			close(start)
			wg.Wait()
			slices.Sort(remaining)
			if got := fmt.Sprint(remaining); got != "[0 1 2 3 4]" || refused != connections-5 {
				t.Errorf("remaining of the allowed %s, %d refused", got, refused)
			}
		})
	}
}

// dialAlmost opens n connections and sends all but the last byte of a request.
func dialAlmost(t *testing.T, addr string, n int) []net.Conn {
	t.Helper()
	var conns []net.Conn
	for range n {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r")
		conns = append(conns, conn)
	}
	return conns
}

// Decisions and header storage of requests that run together must not mix.
func TestRequestsDoNotShareStorage(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
		Limiter: newLimiter(t, newClock()), Policy: newPolicy(t, "p", "1000 per minute", algo.TokenBucket), Key: httplimit.ByIP,
	}})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, _ := httplimit.FromContext(r.Context())
		if got := w.Header().Get("X-RateLimit-Remaining"); got != fmt.Sprint(d.Remaining) {
			t.Errorf("header %s, decision %d", got, d.Remaining)
		}
	}))
	var wg sync.WaitGroup
	for client := range 4 {
		wg.Go(func() {
			var kept []*answer
			for range 200 {
				kept = append(kept, get(t, h, fmt.Sprintf("peer 192.0.2.%d:1", client)))
			}
			for i, res := range kept {
				wantHeader(t, res, "X-RateLimit-Remaining", fmt.Sprint(999-i))
			}
		})
	}
	wg.Wait()
}
