package shield_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/shield"
)

// always asks the same charges.
type always struct {
	limiter *stint.Limiter
	charges []stint.Charge
}

func (a always) Decide(ctx context.Context, _ stint.Source, d *stint.Decision) error {
	return a.limiter.Decide(ctx, a.charges, d)
}

// TestHeadersOfARefusalGivenHere: they tell of who refuses, and nothing of who was
// not asked.
func TestHeadersOfARefusalGivenHere(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		wide, hot := policy(s, "wide", "100 per 1h", algo.TokenBucket), policy(s, "hot", "1 per 60s", algo.TokenBucket)
		limit, err := httplimit.New(httplimit.Options{
			Decider: always{&stint.Limiter{Store: s.store}, []stint.Charge{one(wide, ""), one(hot, "k")}},
		})
		if err != nil {
			s.Fatal(err)
		}
		h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		ask := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			return w
		}
		ask()
		ask()
		time.Sleep(500 * time.Millisecond)
		s.asks(0, func() {
			w := ask()
			for name, want := range map[string]string{
				"Retry-After":           "60",
				"X-RateLimit-Limit":     "1",
				"X-RateLimit-Remaining": "0",
				"X-RateLimit-Reset":     "60",
				"RateLimit-Policy":      `"hot";q=1;w=60`,
				"RateLimit":             `"hot";r=0;t=60`,
			} {
				if got := w.Header().Get(name); w.Code != http.StatusTooManyRequests || got != want {
					s.Errorf("%d, %s: %s, want 429 and %s", w.Code, name, got, want)
				}
			}
		})
	})
}
