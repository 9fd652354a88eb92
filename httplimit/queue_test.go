package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/rules"
)

// queue is one request a second behind a limiter, and a log of the handler.
type queue struct {
	h     http.Handler
	begun time.Time

	mu  sync.Mutex
	ran []string
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	q := &queue{begun: time.Now()}
	single := &httplimit.Single{
		Limiter: newLimiter(t, nil), Key: httplimit.Global,
		Policy: newPolicy(t, "q", "1 per second, burst 1", algo.LeakyQueue{MaxWaiting: 3}),
	}
	q.h = newMiddleware(t, httplimit.Options{Decider: single})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.ran = append(q.ran, r.URL.Path+" "+time.Since(q.begun).String())
	}))
	return q
}

func (q *queue) log() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Join(q.ran, ", ")
}

func (q *queue) send(ctx context.Context, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	q.h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil).WithContext(ctx))
	return w
}

func TestQueuedRequestsWaitAndLeaveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		for _, path := range []string{"/1", "/2", "/3", "/4"} {
			go q.send(t.Context(), path)
			synctest.Wait()
		}
		if w := q.send(t.Context(), "/5"); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("fifth: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		wantString(t, "ran", q.log(), "/1 0s, /2 1s, /3 2s, /4 3s")
	})
}

func TestClientThatHangsUpInTheQueueMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.send(t.Context(), "/1")
		gone, hangUp := context.WithCancel(t.Context())
		var status int
		go func() { status = q.send(gone, "/2").Code }()
		synctest.Wait()
		go q.send(t.Context(), "/3")
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		hangUp()
		synctest.Wait()
		if status != 499 {
			t.Errorf("status %d for nobody, want 499", status)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		wantString(t, "ran", q.log(), "/1 0s, /3 1s")
	})
}

func TestDeadlineBeforeTheTurnIsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.send(t.Context(), "/1")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		w := q.send(ctx, "/2")
		if time.Since(q.begun) != 0 || w.Code != 429 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("after %v: %d, Retry-After %q", time.Since(q.begun), w.Code, w.Header().Get("Retry-After"))
		}
		go q.send(t.Context(), "/3")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		wantString(t, "ran", q.log(), "/1 0s, /3 1s")
	})
}

func TestHangUpDuringTheDecisionIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := httplimit.Options{
		FailOpen: true,
		OnError:  func(_ *http.Request, err error) { t.Errorf("told %v", err) },
		Decider: decide(func(stint.Source, *stint.Decision) error {
			cancel()
			return errors.New("the call was cancelled")
		}),
	}
	w := httptest.NewRecorder()
	newMiddleware(t, o)(hello).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
	if w.Code != 499 || w.Body.Len() > 0 {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// newQueueBehindAKey is a queue of one request a second for all, and ten requests a
// minute for each address.
func newQueueBehindAKey(t *testing.T) (h http.Handler, left func() int64) {
	t.Helper()
	set, err := rules.Compile(rules.Spec{Rules: []rules.Rule{
		{ID: "per-ip", Key: []string{"ip"}, Limits: []stint.Limit{{Count: 10, Window: time.Minute}}},
		{ID: "queue", Key: []string{"global"}, Algorithm: "leaky_bucket", Limits: []stint.Limit{{Count: 1, Window: time.Second}}, Queue: &rules.Queue{MaxWaiting: 9}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	decider := rules.NewDecider(newLimiter(t, nil), set)
	return newMiddleware(t, httplimit.Options{Decider: decider})(hello), func() int64 {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		var d stint.Decision
		if err := decider.DecideN(t.Context(), addressed(r.RemoteAddr), 0, &d); err != nil || len(d.Results) != 2 {
			t.Fatalf("%+v, %v", d, err)
		}
		return d.Results[0].Remaining
	}
}

// addressed is a request of which only the address is known.
type addressed string

func (a addressed) Addr() netip.Addr                 { return netip.MustParseAddrPort(string(a)).Addr() }
func (a addressed) Value(stint.Field) (string, bool) { return "", false }

// TestHangingUpInTheQueueReturnsWhatElseWasTaken: four that never ran leave the limit of
// their address as it was.
func TestHangingUpInTheQueueReturnsWhatElseWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, left := newQueueBehindAKey(t)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		gone, hangUp := context.WithCancel(t.Context())
		for range 4 {
			go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil).WithContext(gone))
			synctest.Wait()
		}
		if n := left(); n != 5 {
			t.Errorf("%d remain while four wait, want 5", n)
		}
		time.Sleep(100 * time.Millisecond)
		hangUp()
		synctest.Wait()
		if n := left(); n != 9 {
			t.Errorf("%d remain after four that never ran, want 9", n)
		}
	})
}

// TestADeadlineKnownBeforehandChargesNothing: the queue refuses before another policy
// is charged.
func TestADeadlineKnownBeforehandChargesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, left := newQueueBehindAKey(t)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
		if w.Code != 429 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%d %v, want a refusal by the queue", w.Code, w.Header())
		}
		if n := left(); n != 9 {
			t.Errorf("%d remain, want 9", n)
		}
	})
}
