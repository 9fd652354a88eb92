package retry_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint/retry"
)

// TestLargestWaitsDoNotOverflow: who wants to wait for ever says so with the largest
// numbers there are.
func TestLargestWaitsDoNotOverflow(t *testing.T) {
	for _, first := range []time.Duration{1, time.Hour, math.MaxInt64/2 + 1, math.MaxInt64} {
		tr := &retry.Transport{FirstWait: first, MaxWait: math.MaxInt64}
		for attempt := range 200 {
			if wait := retry.Backoff(tr, attempt+1); wait < 0 {
				t.Errorf("first wait %v: attempt %d is followed by a wait of %v", first, attempt+1, wait)
			}
		}
	}
}

// TestRefusalSaysWhenNotTheWindow: a server has a limit for each minute, of which some
// is left, and one for each second, which refuses.
func TestRefusalSaysWhenNotTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(200, "X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 60", "X-RateLimit-Reset: 25"),
			status(429, "X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 59", "X-RateLimit-Reset: 25", "Retry-After: 1"), status(200)))
		tr := &retry.Transport{Base: s, MaxAttempts: 1}
		for range 3 {
			_, _ = do(t, tr, request(t, "GET", ""))
		}
		if s.came[2] != time.Second {
			t.Errorf("the third request came after %v, want 1s", s.came[2])
		}
	})
}

// TestAnswersThatOvertakeEachOther: what was said earlier, and heard later, is not
// taken for news.
func TestAnswersThatOvertakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		left, came := 10, 0
		var late []time.Duration
		base := roundTrip(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			left--
			came++
			n, said := came, left
			if n > 10 {
				late = append(late, time.Since(began))
			}
			mu.Unlock()
			time.Sleep(time.Duration(20-n) * time.Millisecond) // The last one is answered first.
			return response(200, `RateLimit-Policy: "a";q=100;w=10`, fmt.Sprintf(`RateLimit: "a";r=%d;t=10`, max(0, said))), nil
		})
		tr := &retry.Transport{Base: base}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { _, _ = do(t, tr, request(t, "GET", "")) })
		}
		wg.Wait()
		for range 3 {
			_, _ = do(t, tr, request(t, "GET", ""))
		}
		if len(late) != 3 || late[0] < 10*time.Second {
			t.Errorf("%d requests were sent though nothing was left, at %v", came-10, late)
		}
	})
}

// TestWallDoesNotOutliveTheServersWord: answers to requests that were sent behind a
// wall count, however many others are under way.
func TestWallDoesNotOutliveTheServersWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		hang := make(chan struct{})
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			switch r.Header.Get("Do") {
			case "hang":
				<-hang
				return response(200), nil
			case "refuse":
				return response(429, "Retry-After: 3600"), nil
			}
			return response(200, `RateLimit-Policy: "a";q=100;w=10`, `RateLimit: "a";r=90;t=10`), nil
		})
		tr := &retry.Transport{Base: base, MaxWait: 2 * time.Hour, MaxAttempts: 1}
		send := func(what string, patience time.Duration) {
			req := request(t, "GET", "")
			req.Header.Set("Do", what)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if code, err := do(t, tr, req.WithContext(ctx)); err != nil || code == 0 {
				t.Errorf("%s: %d %v", what, code, err)
			}
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { send("hang", 24*time.Hour) })
		}
		synctest.Wait()
		send("refuse", time.Hour)
		send("ask", time.Minute) // In a hurry: it goes in spite of the wall, and passes.
		for range 10 {
			send("ask", 24*time.Hour)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("held back for %v after the server had let one pass", took)
		}
		close(hang)
		wg.Wait()
	})
}

// roundTrip is a function as a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestWithoutAURLIsAnError(t *testing.T) {
	req := &http.Request{Method: http.MethodGet}
	if res, err := new(retry.Transport).RoundTrip(req); err == nil {
		res.Body.Close()
		t.Error("it was sent")
	}
}

// TestHostsAndCredentialsAreApart: what one is told holds nobody else back.
func TestHostsAndCredentialsAreApart(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"another host":          func(r *http.Request) { r.URL.Host = "other.example" },
		"another virtual host":  func(r *http.Request) { r.Host = "other.example" },
		"another port":          func(r *http.Request) { r.URL.Host += ":8080" },
		"another scheme":        func(r *http.Request) { r.URL.Scheme = "https" },
		"other credentials":     func(r *http.Request) { r.Header.Set("Authorization", "Basic b") },
		"another API key":       func(r *http.Request) { r.Header.Set("X-Api-Key", "b") },
		"no credentials at all": func(r *http.Request) { r.Header.Del("Authorization") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(script(status(429, "Retry-After: 10"), status(200)))
			tr := &retry.Transport{Base: s, MaxAttempts: 1}
			one, two := request(t, "GET", ""), request(t, "GET", "")
			one.Header.Set("Authorization", "Basic a")
			two.Header.Set("Authorization", "Basic a")
			change(two)
			_, _ = do(t, tr, one)
			_, _ = do(t, tr, two)
			if s.came[1] != 0 {
				t.Errorf("%s was held back for %v", name, s.came[1])
			}
		})
	}
}

// TestManyHostsNeedLittleMemory: a crawler meets tens of thousands.
func TestManyHostsNeedLittleMemory(t *testing.T) {
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: header(`RateLimit: "a";r=0;t=20`), Body: http.NoBody}, nil
	})
	tr := &retry.Transport{Base: base}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 30_000 {
		req := request(t, "GET", "")
		req.URL.Host = fmt.Sprintf("host%d.example", i)
		_, _ = do(t, tr, req)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 || retry.Quotas(tr) > retry.DefaultMaxQuotas {
		t.Errorf("%d quotas, %d bytes", retry.Quotas(tr), grown)
	}
	runtime.KeepAlive(tr)
}

// network is a server on the loopback that counts connections, and a client for it.
type network struct {
	*httptest.Server
	client *http.Client
	base   *http.Transport
	conns  atomic.Int64
}

func overNetwork(t *testing.T, http2 bool, h http.HandlerFunc) *network {
	t.Helper()
	n := &network{Server: httptest.NewUnstartedServer(h)}
	n.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			n.conns.Add(1)
		}
	}
	if http2 {
		n.EnableHTTP2 = true
		n.StartTLS()
	} else {
		n.Start()
	}
	n.base = n.Client().Transport.(*http.Transport)
	n.client = &http.Client{Transport: &retry.Transport{Base: n.base, FirstWait: 20 * time.Millisecond}}
	t.Cleanup(n.Close)
	return n
}

// fetch sends a request and returns the answer's status and body.
func (n *network) fetch(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	res, err := n.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(body)
}

func (n *network) request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestAttemptsShareAConnection: the answers in between are read and closed, in both
// versions of HTTP.
func TestAttemptsShareAConnection(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		var n, proto atomic.Int64
		net := overNetwork(t, http2, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			proto.Store(int64(r.ProtoMajor))
			if n.Add(1)%3 != 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprint(w, strings.Repeat("no ", 1000))
				return
			}
			fmt.Fprintf(w, "took %s", body)
		})
		for range 20 {
			if code, body := net.fetch(t, net.request(t, "PUT", "/", "order")); code != 200 || body != "took order" {
				t.Fatal(code, body)
			}
		}
		// An answer whose wait is shorter than its body takes closes its connection.
		if conns := net.conns.Load(); n.Load() != 60 || conns > 15 || http2 != (proto.Load() == 2) {
			t.Errorf("%d attempts on %d connections, HTTP/%d", n.Load(), conns, proto.Load())
		}
	}
}

// TestPostThatMayHaveArrivedIsNotRepeated: the server takes the order and breaks the
// connection, or a gateway says that it does not know.
func TestPostThatMayHaveArrivedIsNotRepeated(t *testing.T) {
	for name, end := range map[string]func(w http.ResponseWriter){
		"no answer": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"half an answer": func(w http.ResponseWriter) {
			fmt.Fprint(w, "o")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"502": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"504": func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
		"503": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	} {
		for _, http2 := range []bool{false, true} {
			var orders atomic.Int64
			net := overNetwork(t, http2, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if r.Method == http.MethodPost {
					orders.Add(1)
					end(w)
				}
			})
			_, _ = net.fetch(t, net.request(t, "GET", "/", "")) // A connection that is there already.
			res, err := net.client.Do(net.request(t, "POST", "/", "order"))
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			if n := orders.Load(); n != 1 {
				t.Errorf("%s, HTTP/2 %v: %d orders", name, http2, n)
			}
		}
	}
}

// TestRedirectAndContinue: a body is sent again to where a 307 leads, is refused there,
// and once more after that; also where the client asks first whether it may send it.
func TestRedirectAndContinue(t *testing.T) {
	for _, expect := range []bool{false, true} {
		var mu sync.Mutex
		var got []string
		net := overNetwork(t, false, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			n := len(got)
			mu.Unlock()
			if r.URL.Path == "/old" {
				http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
				return
			}
			if n == 0 { // Before the body is read.
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusTooManyRequests)
				mu.Lock()
				got = append(got, "refused")
				mu.Unlock()
				return
			}
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			got = append(got, string(body))
			mu.Unlock()
		})
		req := net.request(t, "POST", "/old", strings.Repeat("order", 100))
		req.Header.Set("Idempotency-Key", "7")
		if expect {
			net.base.ExpectContinueTimeout = time.Minute
			req.Header.Set("Expect", "100-continue")
		}
		code, body := net.fetch(t, req)
		if code != 200 || fmt.Sprint(got) != fmt.Sprint([]string{"refused", strings.Repeat("order", 100)}) {
			t.Errorf("expect %v: %d %q, server got %.60q", expect, code, body, got)
		}
	}
}
