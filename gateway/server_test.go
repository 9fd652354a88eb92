package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

func TestHeaderOfAMegabyteIsRefused(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, func(_ http.ResponseWriter, _ *http.Request) { t.Error("it reached the upstream") }),
		Limit:    httplimit.Options{Decider: anything(t)},
	}, Server{})
	w := g.dial()
	go fmt.Fprintf(w, "GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n\r\n", strings.Repeat("a", 1<<20))
	wantStatus(t, w.answer(http.MethodGet), http.StatusRequestHeaderFieldsTooLarge)
}

func TestHeaderOfSixtyThousandBytesPasses(t *testing.T) {
	g := simple(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.Header.Get("X-Api-Key"))) })
	_, body := g.get("/", "X-Api-Key: "+strings.Repeat("a", 60_000))
	wantString(t, "length", body, "60000")
}

func TestTenThousandKeysFromOneAddress(t *testing.T) {
	const known = "k_acme"
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Compile(rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{known: "free"}},
		Rules: []rules.Rule{
			{ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"}, Plans: map[string]stint.Limit{"free": parseLimit(t, "100 per minute")}},
			{ID: "signed-out", Match: rules.Match{Lacks: []string{"api_key"}}, Key: []string{"ip"}, Limits: []stint.Limit{parseLimit(t, "300 per minute")}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	decider := rules.NewDecider(&stint.Limiter{Store: store, Clock: frozen}, set)
	g := start(t, Options{Upstream: upstream(t, func(http.ResponseWriter, *http.Request) {}), Limit: httplimit.Options{Decider: decider}}, Server{})
	results := make(chan int, 10_000)
	for worker := range 8 {
		go func() {
			for i := range 1250 {
				r := newRequest(t, http.MethodGet, g.url+"/", nil, fmt.Sprintf("X-Api-Key: key-%d-%d", worker, i))
				res, err := g.client.Do(r)
				if err != nil {
					t.Error(err)
					results <- 0
					continue
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				results <- res.StatusCode
			}
		}()
	}
	got := map[int]int{}
	for range 10_000 {
		got[<-results]++
	}
	wantString(t, "answers", fmt.Sprint(got), "map[200:300 429:9700]")
	if n := store.Stats().Buckets; n != 1 {
		t.Errorf("%d buckets, want 1: keys that no plan knows are one client by its address", n)
	}
	res, _ := g.get("/", "X-Api-Key: "+known)
	wantStatus(t, res, http.StatusOK)
}

func TestDrainLetsRequestsFinish(t *testing.T) {
	reached, finish := make(chan struct{}), make(chan struct{})
	drained := make(chan struct{})
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				reached <- struct{}{}
				<-finish
			}
			io.WriteString(w, "done")
		}),
		Limit: httplimit.Options{Decider: anything(t)},
	}, Server{OnDrain: func() { close(drained) }})
	g.get("/") // Leaves an idle connection, which must not hold the drain up.
	w := g.dial()
	w.send("GET /slow HTTP/1.1\nHost: x\n\n")
	<-reached
	g.stop()
	<-drained
	eventually(t, "the listener being closed", func() bool {
		c, err := net.Dial("tcp", g.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case err := <-g.served:
		t.Fatalf("Serve returned %v with a request under way", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(finish)
	res := w.answer(http.MethodGet)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantString(t, "body", string(body), "done")
	if err := <-g.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestDrainAcceptsUntilItsDelayIsOver(t *testing.T) {
	drained := make(chan struct{})
	g := start(t, Options{Upstream: "demo", Limit: httplimit.Options{Decider: anything(t)}},
		Server{OnDrain: func() { close(drained) }, DrainDelay: 300 * time.Millisecond})
	g.stop()
	<-drained
	res, _ := g.raw(http.MethodGet, "/")
	wantStatus(t, res, http.StatusOK)
}

func TestDrainCutsOffWhatTakesTooLong(t *testing.T) {
	reached := make(chan struct{}, 2)
	var said logs
	echo := echoWebSocket(t)
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) {
			reached <- struct{}{}
			if r.URL.Path == "/chat" {
				echo(w, r)
				return
			}
			<-r.Context().Done()
		}),
		Limit: httplimit.Options{Decider: anything(t)},
	}, Server{DrainTimeout: 50 * time.Millisecond, Logger: said.logger()})
	slow, socket := g.dial(), g.dial()
	slow.send("GET /slow HTTP/1.1\nHost: x\n\n")
	socket.send("GET /chat HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: websocket\n\n")
	wantStatus(t, socket.answer(http.MethodGet), http.StatusSwitchingProtocols)
	<-reached
	<-reached
	g.stop()
	if err := <-g.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	said.want(t, "drain time is over", 1)
	for _, w := range []*wire{slow, socket} { // What was cut off may have been answered first.
		if err := w.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, w.r); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection was left open")
		}
	}
}

func TestDrainWaitsForWebSockets(t *testing.T) {
	g := start(t, Options{Upstream: upstream(t, echoWebSocket(t)), Limit: httplimit.Options{Decider: anything(t)}}, Server{})
	w := g.dial()
	w.send("GET /chat HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: websocket\n\n")
	wantStatus(t, w.answer(http.MethodGet), http.StatusSwitchingProtocols)
	g.stop()
	select {
	case err := <-g.served:
		t.Fatalf("Serve returned %v with a WebSocket open", err)
	case <-time.After(50 * time.Millisecond):
	}
	w.send("bye")
	echo := make([]byte, 3)
	if _, err := io.ReadFull(w.r, echo); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := <-g.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestDrainOfH2C(t *testing.T) {
	reached, finish := make(chan struct{}), make(chan struct{})
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			reached <- struct{}{}
			<-finish
			io.WriteString(w, "done")
		}),
		Limit: httplimit.Options{Decider: anything(t)},
	}, Server{})
	answer := make(chan string)
	client := h2cClient(t)
	go func() {
		res, err := client.Do(newRequest(t, http.MethodGet, g.url+"/", nil))
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-reached
	g.stop()
	close(finish)
	wantString(t, "answer", <-answer, "done")
	if err := <-g.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A client that takes nothing of its answer is dropped.
func TestClientThatDoesNotRead(t *testing.T) {
	gone := make(chan struct{})
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			part := make([]byte, 64<<10)
			for range 10_000 { // More than all buffers on the way.
				if _, err := w.Write(part); err != nil {
					return
				}
			}
			t.Error("somebody took it all")
		}),
		Limit: httplimit.Options{Decider: anything(t)},
	}, Server{StallTimeout: 100 * time.Millisecond})
	w := g.dial()
	w.send("GET / HTTP/1.1\nHost: x\n\n")
	<-gone
}

func TestClientThatNeverEndsItsHeader(t *testing.T) {
	g := start(t, Options{Upstream: "demo", Limit: httplimit.Options{Decider: anything(t)}}, Server{ReadHeaderTimeout: 50 * time.Millisecond})
	w := g.dial()
	w.send("GET / HTTP/1.1\nHost: x\n")
	if b, _ := io.ReadAll(w.r); strings.Contains(string(b), "200") {
		t.Errorf("answer %q", b)
	}
}

func TestServeFailsWithAListener(t *testing.T) {
	good, bad := listen(t), listen(t)
	bad.Close()
	s := Server{Handler: Demo()}
	if err := s.Serve(context.Background(), good, bad); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v, want that of the closed listener", err)
	}
	if c, err := net.Dial("tcp", good.Addr().String()); err == nil {
		c.Close()
		t.Error("the other listener was left open")
	}
	if err := s.Serve(context.Background()); err == nil {
		t.Error("no listener, no error")
	}
}

func TestServeOnSeveralListeners(t *testing.T) {
	a, b := listen(t), listen(t)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	s := Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })}
	go func() { served <- s.Serve(ctx, a, b) }()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, l := range []net.Listener{a, b} {
		res, err := (&http.Client{Transport: transport}).Do(newRequest(t, http.MethodGet, "http://"+l.Addr().String(), nil))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Requests leave no goroutines behind, however they end.
func TestNothingIsLeftBehind(t *testing.T) {
	g := simple(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	run := func() {
		for range 20 {
			w := g.dial()
			w.send("POST / HTTP/1.1\nHost: x\nContent-Length: 100\n\nhalf")
			w.Close()
			g.raw(http.MethodGet, "/")
		}
	}
	run()
	before := runtime.NumGoroutine()
	run()
	eventually(t, "goroutines ending", func() bool { return runtime.NumGoroutine() <= before+5 })
}
