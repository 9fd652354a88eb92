package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// decideReal is decide on the store's own clock.
func decideReal(t testing.TB, spec rules.Spec) stint.Decider {
	t.Helper()
	set, err := rules.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules.NewDecider(&stint.Limiter{Store: store}, set)
}

// serveOn starts an upstream on an address and returns how to stop it.
func serveOn(t testing.TB, address string, h http.HandlerFunc) (stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	return s.Close
}

func TestUpstreamDownIsSaidOnce(t *testing.T) {
	l := listen(t)
	address := l.Addr().String()
	l.Close()
	var said logs
	var failed failures
	g := start(t, Options{
		Upstream: "http://" + address, Limit: httplimit.Options{Decider: decide(t, limits(t, "50 per minute"))},
		Logger: said.logger(), OnFailure: failed.add,
	}, Server{})
	for range 10 {
		res, body := g.get("/")
		wantStatus(t, res, http.StatusBadGateway)
		wantString(t, "type", res.Header.Get("Content-Type"), "application/problem+json")
		if !strings.Contains(body, "can not be reached") || strings.Contains(body, address) {
			t.Errorf("body %s", body)
		}
		if res.Header.Get("X-Ratelimit-Limit") != "50" {
			t.Error("an answer without rate headers")
		}
	}
	said.want(t, "upstream unreachable", 1)
	wantString(t, "failures", failed.String(), "map[unreachable:10]")

	stop := serveOn(t, address, func(http.ResponseWriter, *http.Request) {})
	for range 3 {
		res, _ := g.get("/")
		wantStatus(t, res, http.StatusOK)
	}
	said.want(t, "upstream reachable again", 1)
	stop()
	for range 3 {
		res, _ := g.get("/")
		wantStatus(t, res, http.StatusBadGateway)
	}
	said.want(t, "upstream unreachable", 2)
	said.want(t, "upstream reachable again", 1)
}

func TestUpstreamThatIsTooSlow(t *testing.T) {
	var said logs
	var failed failures
	g := start(t, Options{
		Upstream: upstream(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		Limit:    httplimit.Options{Decider: anything(t)}, AnswerTimeout: 30 * time.Millisecond,
		Logger: said.logger(), OnFailure: failed.add,
	}, Server{})
	res, body := g.get("/")
	wantStatus(t, res, http.StatusGatewayTimeout)
	if !strings.Contains(body, "did not answer in time") {
		t.Errorf("body %s", body)
	}
	said.want(t, "upstream does not answer in time", 1)
	wantString(t, "failures", failed.String(), "map[timeout:1]")
}

// The bound is for the time from the end of the request to the begin of the answer:
// neither a long upload nor a long answer is cut off.
func TestLongBodiesAreNotTooSlow(t *testing.T) {
	const bound = 200 * time.Millisecond
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			for range 4 {
				io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(bound / 2)
			}
		}),
		Limit: httplimit.Options{Decider: anything(t)}, AnswerTimeout: bound,
	}, Server{})
	w := g.dial()
	w.send("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n")
	for range 4 {
		w.send("1\nx\n")
		time.Sleep(bound / 2)
	}
	w.send("0\n\n")
	res := w.answer(http.MethodPost)
	wantStatus(t, res, http.StatusOK)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantString(t, "body", string(body), "xxxx")
}

// The timer of a watch runs on from one request to the next.
func TestWatchEndsTheRequestThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(time.Minute)
		request := &http.Request{}
		for range 5 {
			r, cancel := w.begin(request.WithContext(t.Context()))
			time.Sleep(50 * time.Second)
			if r.Context().Err() != nil {
				t.Fatal("ended too early")
			}
			if w.answered() {
				t.Fatal("expired, although it was answered")
			}
			cancel()
		}
		time.Sleep(time.Hour)
		r, cancel := w.begin(request.WithContext(t.Context()))
		defer cancel()
		begin := time.Now()
		<-r.Context().Done()
		if late := time.Since(begin); late != time.Minute {
			t.Errorf("ended after %v, want a minute", late)
		}
		if !w.answered() {
			t.Error("it does not know that it ended the request")
		}
	})
}

func TestUpstreamThatGivesNoValidAnswer(t *testing.T) {
	l := listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "SSH-2.0-nothing\r\n\r\n")
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	var said logs
	var failed failures
	g := start(t, Options{
		Upstream: "http://" + l.Addr().String(), Limit: httplimit.Options{Decider: anything(t)},
		Logger: said.logger(), OnFailure: failed.add,
	}, Server{})
	res, _ := g.do(newRequest(t, http.MethodPost, g.url+"/", strings.NewReader("x")))
	wantStatus(t, res, http.StatusBadGateway)
	said.want(t, "upstream gives no valid answer", 1)
	wantString(t, "failures", failed.String(), "map[broken:1]")
}

func TestAnswerThatBreaksOff(t *testing.T) {
	var failed failures
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "begin")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}),
		Limit: httplimit.Options{Decider: anything(t)}, OnFailure: failed.add,
	}, Server{})
	w := g.dial()
	w.send("GET / HTTP/1.1\nHost: x\n\n")
	if b, err := io.ReadAll(w.r); err != nil || strings.HasSuffix(string(b), "0\r\n\r\n") || strings.Contains(string(b), "HTTP/1.1 5") {
		t.Errorf("answer %q, %v", b, err)
	}
	eventually(t, "the failure", func() bool { return failed.String() == "map[cut:1]" })
}

func TestClientThatHangsUpIsNoFailure(t *testing.T) {
	reached, gone := make(chan struct{}), make(chan struct{})
	var said logs
	var failed failures
	g := start(t, Options{
		Upstream: upstream(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 4))
			reached <- struct{}{}
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			gone <- struct{}{}
		}),
		Limit:  httplimit.Options{Decider: anything(t)},
		Logger: said.logger(), OnFailure: failed.add,
	}, Server{})
	for _, request := range []string{
		"GET / HTTP/1.1\nHost: x\n\n",
		"POST / HTTP/1.1\nHost: x\nContent-Length: 1000\n\nbody",
		"POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n4\nbody\n",
	} {
		w := g.dial()
		w.send(request)
		<-reached
		w.Close()
		<-gone
	}
	res, _ := g.raw(http.MethodGet, "*")
	wantStatus(t, res, http.StatusBadRequest)
	wantString(t, "failures", failed.String(), "map[]")
	wantString(t, "log", said.String(), "")
}

func TestBodiesThatCanNotBeRead(t *testing.T) {
	var failed failures
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }),
		Limit:    httplimit.Options{Decider: anything(t)}, StallTimeout: 50 * time.Millisecond, OnFailure: failed.add,
	}, Server{})
	for _, c := range []struct {
		request string
		want    int
	}{
		{"POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\nxyz\nbody\n", http.StatusBadRequest},
		{"POST / HTTP/1.1\nHost: x\nContent-Length: 1000\n\nbody", http.StatusRequestTimeout},
	} {
		w := g.dial()
		w.send(c.request)
		wantStatus(t, w.answer(http.MethodPost), c.want)
	}
	wantString(t, "failures", failed.String(), "map[]")
}

// The bound on a stalled body must not end a request whose body has come.
func TestSlowAnswerToABodyThatCame(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			select {
			case <-time.After(150 * time.Millisecond):
				_, _ = w.Write(body)
			case <-r.Context().Done():
			}
		}),
		Limit: httplimit.Options{Decider: anything(t)}, StallTimeout: 30 * time.Millisecond,
	}, Server{})
	for range 2 {
		res, body := g.do(newRequest(t, http.MethodPost, g.url+"/", strings.NewReader("hello")))
		wantStatus(t, res, http.StatusOK)
		wantString(t, "body", body, "hello")
	}
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	reached := make(chan int64, 10)
	var failed failures
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			reached <- n
		}),
		Limit: httplimit.Options{Decider: anything(t)}, MaxBody: 1000, OnFailure: failed.add,
	}, Server{})
	send := func(n int, known bool) *http.Response {
		var body io.Reader = strings.NewReader(strings.Repeat("x", n))
		if !known {
			body = io.MultiReader(body)
		}
		res, text := g.do(newRequest(t, http.MethodPost, g.url+"/", body))
		if n > 1000 && !strings.Contains(text, "larger than 1000 bytes") {
			t.Errorf("body %s", text)
		}
		return res
	}
	wantStatus(t, send(1000, true), http.StatusOK)
	wantStatus(t, send(1000, false), http.StatusOK)
	wantStatus(t, send(1001, true), http.StatusRequestEntityTooLarge)
	wantStatus(t, send(100_000, false), http.StatusRequestEntityTooLarge)
	for range 2 {
		if n := <-reached; n != 1000 {
			t.Errorf("%d bytes reached the upstream, want 1000", n)
		}
	}
	wantString(t, "failures", failed.String(), "map[]")
}

func TestDeadlineOfAnOuterHandler(t *testing.T) {
	var failed failures
	handler, err := New(Options{
		Upstream:  upstream(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		Limit:     httplimit.Options{Decider: anything(t)},
		OnFailure: failed.add,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
	wantStatus(t, w.Result(), http.StatusGatewayTimeout)
	wantString(t, "failures", failed.String(), "map[]")
}

func TestUpstreamThatFailsByTurnsIsNotSaidEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said logs
		h := &health{logger: said.logger(), tell: func(Failure) {}}
		failure := errors.New("no")
		for range 1000 {
			h.failed(Unreachable, failure)
			h.answered()
		}
		if n := strings.Count(said.String(), "\n"); n > chattyChanges+1 {
			t.Errorf("%d lines", n)
		}
		before := strings.Count(said.String(), "\n")
		time.Sleep(chattyPause)
		h.answered()
		h.answered()
		if n := strings.Count(said.String(), "\n"); n != before+1 || !strings.HasSuffix(said.String(), "\"upstream reachable again\"\n") {
			t.Errorf("after a pause:\n%s", said.String())
		}
	})
}

func TestFailures(t *testing.T) {
	for want, err := range map[Failure]error{
		Unreachable: fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}),
		TimedOut:    context.DeadlineExceeded,
		Broken:      io.ErrUnexpectedEOF,
	} {
		wantString(t, err.Error(), string(failureOf(err)), string(want))
	}
}

// The server reads what is left of a body before it answers; a client that does
// not send it must not keep its connection busy.
func TestRefusedClientThatDoesNotSendItsBody(t *testing.T) {
	g := start(t, Options{
		Upstream: "demo", Limit: httplimit.Options{Decider: decide(t, limits(t, "0 per minute"))}, StallTimeout: 50 * time.Millisecond,
	}, Server{})
	w := g.dial()
	w.send("POST / HTTP/1.1\nHost: x\nContent-Length: 1000\n\nbody")
	wantStatus(t, w.answer(http.MethodPost), http.StatusTooManyRequests)
	if _, err := io.ReadAll(w.r); err != nil {
		t.Errorf("the connection was not closed: %v", err)
	}
}
