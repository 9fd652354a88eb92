package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint/retry"
)

// server answers requests without a network and notes when they came.
type server struct {
	mu     sync.Mutex
	began  time.Time
	came   []time.Duration
	bodies []string
	open   int // bodies of answers that are not closed
	answer func(n int, r *http.Request) (*http.Response, error)
}

func newServer(answer func(n int, r *http.Request) (*http.Response, error)) *server {
	return &server{began: time.Now(), answer: answer}
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body string
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		body = string(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came = append(s.came, time.Since(s.began))
	s.bodies = append(s.bodies, body)
	res, err := s.answer(len(s.came), r)
	if res != nil {
		s.open++
		res.Request = r
		res.Body = &watched{Reader: res.Body, closed: func() { s.mu.Lock(); s.open--; s.mu.Unlock() }}
	}
	return res, err
}

func (s *server) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.came)
}

// watched tells when a body is closed for the first time.
type watched struct {
	io.Reader
	once   sync.Once
	closed func()
}

func (w *watched) Close() error {
	w.once.Do(w.closed)
	return nil
}

func response(status int, lines ...string) *http.Response {
	return &http.Response{StatusCode: status, Header: header(lines...), Body: io.NopCloser(strings.NewReader("body"))}
}

// script answers the n-th request with the n-th of answers, and the last for ever.
func script(answers ...any) func(int, *http.Request) (*http.Response, error) {
	return func(n int, _ *http.Request) (*http.Response, error) {
		switch a := answers[min(n, len(answers))-1].(type) {
		case error:
			return nil, a
		case func() *http.Response:
			return a(), nil
		}
		return nil, errors.New("no such answer")
	}
}

func status(code int, lines ...string) func() *http.Response {
	return func() *http.Response { return response(code, lines...) }
}

func request(t testing.TB, method, body string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://api.example/orders", r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// do sends a request and returns its status, 0 for an error.
func do(t testing.TB, tr *retry.Transport, req *http.Request) (int, error) {
	t.Helper()
	res, err := tr.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}

var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errNoName  = &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}}
)

func TestWaitsAtLeastRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(429, "Retry-After: 7"), status(200)))
		code, err := do(t, &retry.Transport{Base: s}, request(t, "GET", ""))
		if code != 200 || err != nil {
			t.Fatalf("%d %v", code, err)
		}
		if second := s.came[1]; second < 7*time.Second || second > 7*time.Second+retry.DefaultFirstWait {
			t.Errorf("the second attempt came after %v, want 7s and a little", second)
		}
		if s.open != 0 {
			t.Errorf("%d bodies left open", s.open)
		}
	})
}

func TestLongRetryAfterIsNotShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(429, "Retry-After: 31"), status(200)))
		code, _ := do(t, &retry.Transport{Base: s}, request(t, "GET", ""))
		if code != 429 || s.times() != 1 || time.Since(s.began) != 0 {
			t.Errorf("%d after %d attempts and %v, want the 429 at once", code, s.times(), time.Since(s.began))
		}
	})
}

func TestWhatIsSafeToRepeat(t *testing.T) {
	const key = "Idempotency-Key"
	post := func(prepare func(*http.Request)) func(testing.TB) *http.Request {
		return func(t testing.TB) *http.Request {
			r := request(t, "POST", "order")
			prepare(r)
			return r
		}
	}
	method := func(m string) func(testing.TB) *http.Request {
		return func(t testing.TB) *http.Request { return request(t, m, "") }
	}
	plain := post(func(*http.Request) {})
	keyed := post(func(r *http.Request) { r.Header.Set(key, "1") })
	stream := post(func(r *http.Request) { r.Header.Set(key, "1"); r.GetBody = nil })
	for _, c := range []struct {
		name   string
		req    func(testing.TB) *http.Request
		answer any
		any    bool
		again  bool
	}{
		{"GET 429", method("GET"), status(429), false, true},
		{"GET 503", method("GET"), status(503), false, true},
		{"GET 502", method("GET"), status(502), false, true},
		{"GET 504", method("GET"), status(504), false, true},
		{"GET 500", method("GET"), status(500), false, false},
		{"GET 501", method("GET"), status(501), false, false},
		{"GET 404", method("GET"), status(404, "Retry-After: 1"), false, false},
		{"GET 403", method("GET"), status(403), false, false},
		{"GET 403 over a rate", method("GET"), status(403, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1"), false, true},
		{"GET reset", method("GET"), errReset, false, true},
		{"GET cut short", method("GET"), io.ErrUnexpectedEOF, false, true},
		{"GET unknown error", method("GET"), errors.New("unsupported scheme"), false, false},
		{"GET no such name", method("GET"), errNoName, false, false},
		{"HEAD 429", method("HEAD"), status(429), false, true},
		{"OPTIONS 429", method("OPTIONS"), status(429), false, true},
		{"PUT 429", method("PUT"), status(429), false, true},
		{"DELETE 429", method("DELETE"), status(429), false, true},
		{"PATCH 429", method("PATCH"), status(429), false, false},
		{"own method", method("BREW"), status(429), false, false},
		{"POST 429", plain, status(429, "Retry-After: 1"), false, false},
		{"POST 502", plain, status(502), false, false},
		{"POST reset", plain, errReset, false, false},
		{"POST not connected", plain, errRefused, false, true},
		{"POST with a key", keyed, status(429), false, true},
		{"POST with a key reset", keyed, errReset, false, true},
		{"POST with a key, body gone", stream, status(429), false, false},
		{"POST not connected, body gone", stream, errRefused, false, false},
		{"POST wanted", plain, status(429), true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(script(c.answer, status(200)))
			_, _ = do(t, &retry.Transport{Base: s, RepeatAny: c.any}, c.req(t))
			if again := s.times() == 2; again != c.again {
				t.Errorf("%s: sent %d times, want again: %v", c.name, s.times(), c.again)
			}
			for _, b := range s.bodies {
				if b != s.bodies[0] {
					t.Errorf("%s: bodies %q", c.name, s.bodies)
				}
			}
			if s.open != 0 {
				t.Errorf("%s: %d bodies left open", c.name, s.open)
			}
		})
	}
}

func TestBackoffIsRandomBelowAGrowingCeiling(t *testing.T) {
	const rounds = 200
	var longest [4]time.Duration
	var short [4]int
	for range rounds {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(script(status(503)))
			tr := &retry.Transport{Base: s, MaxAttempts: 5, FirstWait: time.Second, MaxWait: 3 * time.Second}
			if code, _ := do(t, tr, request(t, "GET", "")); code != 503 || s.times() != 5 {
				t.Fatalf("%d after %d attempts", code, s.times())
			}
			for i := range longest {
				wait := s.came[i+1] - s.came[i]
				longest[i] = max(longest[i], wait)
				if wait < []time.Duration{1, 2, 3, 3}[i]*time.Second/2 {
					short[i]++
				}
			}
		})
	}
	for i, ceiling := range []time.Duration{1, 2, 3, 3} {
		ceiling *= time.Second
		if longest[i] > ceiling || longest[i] < ceiling*8/10 {
			t.Errorf("longest wait %d is %v, want just below %v", i, longest[i], ceiling)
		}
		if short[i] < rounds/4 || short[i] > rounds*3/4 {
			t.Errorf("%d of %d waits %d are in the lower half", short[i], rounds, i)
		}
	}
}

func TestCaps(t *testing.T) {
	for _, c := range []struct {
		name string
		tr   *retry.Transport
		want int
	}{
		{"default", &retry.Transport{}, 4},
		{"once", &retry.Transport{MaxAttempts: 1}, 1},
		{"elapsed", &retry.Transport{MaxAttempts: 100, MaxElapsed: 25 * time.Second}, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(script(status(429, "Retry-After: 10")))
			c.tr.Base = s
			if code, err := do(t, c.tr, request(t, "GET", "")); code != 429 || err != nil || s.times() != c.want {
				t.Errorf("%s: %d %v after %d attempts, want %d", c.name, code, err, s.times(), c.want)
			}
		})
	}
}

func TestCancelledWaitEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(429, "Retry-After: 20")))
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("the user left")
		time.AfterFunc(3*time.Second, func() { cancel(reason) })
		_, err := do(t, &retry.Transport{Base: s}, request(t, "GET", "").WithContext(ctx))
		if !errors.Is(err, reason) || time.Since(s.began) != 3*time.Second || s.open != 0 {
			t.Errorf("%v after %v, %d bodies open", err, time.Since(s.began), s.open)
		}
	})
}

func TestNoWaitPastADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(429, "Retry-After: 20")))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		code, err := do(t, &retry.Transport{Base: s}, request(t, "GET", "").WithContext(ctx))
		if code != 429 || err != nil || time.Since(s.began) != 0 {
			t.Errorf("%d %v after %v, want the 429 at once", code, err, time.Since(s.began))
		}
	})
}

// limited is a server with a bucket of most that refills by one each second.
func limited(most int64, fields func(left, reset int64) []string) *server {
	left, last := most, time.Now()
	return newServer(func(int, *http.Request) (*http.Response, error) {
		for time.Since(last) >= time.Second {
			last = last.Add(time.Second)
			left = min(most, left+1)
		}
		if left == most {
			last = time.Now()
		}
		if left == 0 {
			wait := int64(time.Until(last.Add(time.Second))+time.Second-1) / int64(time.Second)
			return response(429, append(fields(0, wait), fmt.Sprintf("Retry-After: %d", max(1, wait)))...), nil
		}
		left--
		return response(200, fields(left, 1)...), nil
	})
}

func ietf(most int64) func(left, reset int64) []string {
	return func(left, reset int64) []string {
		return []string{fmt.Sprintf(`RateLimit-Policy: "a";q=%d;w=%d`, most, most), fmt.Sprintf(`RateLimit: "a";r=%d;t=%d`, left, reset)}
	}
}

func TestPacesBeforeTheWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(8, ietf(8))
		refused := 0
		tr := &retry.Transport{Base: s, Observe: func(e retry.Event) {
			if e.Response != nil && e.Response.StatusCode == http.StatusTooManyRequests {
				refused++
			}
		}}
		for range 40 {
			if code, err := do(t, tr, request(t, "GET", "")); code != 200 || err != nil {
				t.Fatal(code, err)
			}
		}
		if took := time.Since(s.began); refused > 0 || took > 45*time.Second {
			t.Errorf("40 requests with a burst of 8 and 1/s: %d refused in %v", refused, took)
		}
	})
}

func TestGoroutinesShareWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(5, ietf(5))
		tr := &retry.Transport{Base: s, MaxWait: time.Hour, MaxElapsed: time.Hour, MaxAttempts: 10}
		var wg sync.WaitGroup
		var passed atomic.Int64
		for range 30 {
			wg.Go(func() {
				if code, err := do(t, tr, request(t, "GET", "")); code == 200 && err == nil {
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if n := passed.Load(); n != 30 {
			t.Errorf("%d of 30 passed", n)
		}
		// Of those sent before there was any answer 25 may have been refused.
		if n := s.times(); n > 30+25+10 {
			t.Errorf("%d requests for 30 answers", n)
		}
	})
}

func TestRefusalHoldsEverybodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(429, "Retry-After: 10"), status(200)))
		tr := &retry.Transport{Base: s, MaxAttempts: 1}
		_, _ = do(t, tr, request(t, "GET", ""))
		_, _ = do(t, tr, request(t, "GET", ""))
		if s.came[1] != 10*time.Second {
			t.Errorf("the second request came after %v, want 10s", s.came[1])
		}
		other := request(t, "GET", "")
		other.Header.Set("Authorization", "Bearer other")
		before := time.Since(s.began)
		_, _ = do(t, tr, other)
		if s.came[2] != before {
			t.Errorf("another client was held back until %v", s.came[2])
		}
	})
}

func TestFarWallIsLeftToTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(200, `RateLimit: "daily";r=0;t=20914`)))
		tr := &retry.Transport{Base: s}
		for range 3 {
			_, _ = do(t, tr, request(t, "GET", ""))
		}
		if s.times() != 3 || time.Since(s.began) > 3*time.Second {
			t.Errorf("%d requests in %v", s.times(), time.Since(s.began))
		}
	})
}

func TestNoPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(200, `RateLimit: "a";r=0;t=10`)))
		tr := &retry.Transport{Base: s, NoPacing: true}
		_, _ = do(t, tr, request(t, "GET", ""))
		_, _ = do(t, tr, request(t, "GET", ""))
		if s.came[1] != 0 {
			t.Errorf("waited %v", s.came[1])
		}
	})
}

func TestStaleKnowledgeHoldsNobodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(200, `RateLimit-Policy: "a";q=100;w=60`, `RateLimit: "a";r=1;t=1`), status(200)))
		tr := &retry.Transport{Base: s}
		_, _ = do(t, tr, request(t, "GET", ""))
		time.Sleep(time.Minute)
		for range 20 {
			_, _ = do(t, tr, request(t, "GET", ""))
		}
		if took := time.Since(s.began); took != time.Minute {
			t.Errorf("20 requests a minute later took %v", took-time.Minute)
		}
	})
}

func TestCancelledWhilePacedClosesTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(200, `RateLimit: "a";r=0;t=10`)))
		tr := &retry.Transport{Base: s}
		_, _ = do(t, tr, request(t, "GET", ""))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		closed := false
		req := request(t, "PUT", "x").WithContext(ctx)
		req.Body = &watched{Reader: req.Body, closed: func() { closed = true }}
		_, err := do(t, tr, req)
		if !errors.Is(err, context.Canceled) || time.Since(s.began) != time.Second || !closed {
			t.Errorf("%v after %v, body closed: %v", err, time.Since(s.began), closed)
		}
	})
}

func TestQuotasAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(script(status(200, `RateLimit: "a";r=0;t=10`)))
		n := 0
		tr := &retry.Transport{Base: s, MaxQuotas: 8, Quota: func(*http.Request) string { n++; return fmt.Sprint(n) }}
		for range 1000 {
			_, _ = do(t, tr, request(t, "GET", ""))
		}
		if got := retry.Quotas(tr); got > 8 {
			t.Errorf("%d quotas remembered, want at most 8", got)
		}
	})
}

func TestObserveTellsEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		s := newServer(script(errRefused, status(503), status(200)))
		tr := &retry.Transport{Base: s, Observe: func(e retry.Event) {
			code := 0
			if e.Response != nil {
				code = e.Response.StatusCode
			}
			told = append(told, fmt.Sprint(e.Attempt, " ", code, " ", e.Err != nil, " ", e.Final))
		}}
		_, _ = do(t, tr, request(t, "GET", ""))
		want := "1 0 true false, 2 503 false false, 3 200 false true"
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	})
}

// TestOverANetwork sends a body twice to a server that refuses once with a body
// that never ends.
func TestOverANetwork(t *testing.T) {
	var bodies []string
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, string(b))
		first := len(bodies) == 1
		mu.Unlock()
		if !first {
			fmt.Fprint(w, "done")
			return
		}
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, "no")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: &retry.Transport{Base: transport, FirstWait: time.Millisecond}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, srv.URL, strings.NewReader("order"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if string(body) != "done" || err != nil {
		t.Errorf("%q %v", body, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(bodies) != "[order order]" {
		t.Errorf("bodies %q", bodies)
	}
}
