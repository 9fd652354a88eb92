package retry_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/retry"
)

// handled sends requests to a handler without a network, which takes a moment.
type handled struct {
	handler http.Handler
	takes   time.Duration
}

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	time.Sleep(h.takes / 2)
	h.handler.ServeHTTP(w, r)
	time.Sleep(h.takes / 2)
	return w.Result(), nil
}

// limiting is a handler behind a limit.
func limiting(t testing.TB, limit stint.Limit, a stint.Algorithm) http.Handler {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy("api", limit, a)
	if err != nil {
		t.Fatal(err)
	}
	mw, err := httplimit.New(httplimit.Options{Decider: &httplimit.Single{Limiter: &stint.Limiter{Store: store}, Policy: p, Key: httplimit.Global}})
	if err != nil {
		t.Fatal(err)
	}
	return mw(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

// TestCrowdPassesWithoutKnocking: a hundred requests at once against ten in ten
// seconds. Of those sent before there was any answer ninety are refused, as they must
// be; after that nobody is, and the whole takes little longer than it has to.
func TestCrowdPassesWithoutKnocking(t *testing.T) {
	for _, c := range []struct {
		algorithm stint.Algorithm
		longest   time.Duration
	}{
		{algo.TokenBucket, 92 * time.Second},
		{algo.FixedWindow, 92 * time.Second},
		{algo.SlidingWindowLog, 100 * time.Second},
		{algo.SlidingWindowCounter, 112 * time.Second}, // The estimate itself lets fewer pass.
	} {
		t.Run(c.algorithm.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int64
				tr := &retry.Transport{
					Base:    handled{limiting(t, stint.Limit{Count: 10, Window: 10 * time.Second}, c.algorithm), 2 * time.Millisecond},
					MaxWait: time.Hour, MaxElapsed: time.Hour, MaxAttempts: 20,
					Observe: func(e retry.Event) {
						if e.Response != nil {
							sent.Add(1)
						}
					},
				}
				began := time.Now()
				var wg sync.WaitGroup
				for range 100 {
					wg.Go(func() {
						if code, err := do(t, tr, request(t, "GET", "")); code != 200 || err != nil {
							t.Error(code, err)
						}
					})
				}
				wg.Wait()
				if took := time.Since(began); took > c.longest || sent.Load() > 100+90+2 {
					t.Errorf("%d requests in %v for 100 answers", sent.Load(), took)
				}
			})
		})
	}
}
