package field

import (
	"context"
	"math"
	"net/http"
	"sync"

	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

func openGoLimiter(q Quota) Limiter {
	ctx := context.Background()
	s := must(memorystore.New(&memorystore.Config{Tokens: uint64(q.Count), Interval: q.Window}))
	return Limiter{
		Close: func() { _ = s.Close(ctx) },
		Allow: func(key string) bool {
			_, _, _, ok, err := s.Take(ctx, key)
			return ok && err == nil
		},
	}
}

// openThrottled lifts the bound on attempts, without which one hot key fails.
func openThrottled(q Quota) Limiter {
	ctx := context.Background()
	l := must(throttled.NewGCRARateLimiterCtx(must(memstore.NewCtx(0)), throttledQuota(q)))
	l.SetMaxCASAttemptsLimit(math.MaxInt)
	return Limiter{Close: nothing, Allow: func(key string) bool {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		return !limited && err == nil
	}}
}

func throttledQuota(q Quota) throttled.RateQuota {
	return throttled.RateQuota{
		MaxRate:  throttled.PerDuration(int(q.Count), q.Window),
		MaxBurst: int(q.Count) - 1,
	}
}

func openUlule(q Quota) Limiter {
	ctx := context.Background()
	l := limiter.New(memory.NewStore(), limiter.Rate{Period: q.Window, Limit: q.Count})
	return Limiter{Close: nothing, Allow: func(key string) bool {
		c, err := l.Get(ctx, key)
		return !c.Reached && err == nil
	}}
}

// openHTTPRate measures OnLimit, the only way in that decides and counts at
// once. It writes headers too.
func openHTTPRate(q Quota) Limiter {
	l := httprate.NewRateLimiter(int(q.Count), q.Window)
	r := must(http.NewRequest(http.MethodGet, "/", http.NoBody))
	var writers sync.Pool
	return Limiter{Close: nothing, Allow: func(key string) bool {
		w, _ := writers.Get().(headerWriter)
		if w == nil {
			w = make(headerWriter)
		}
		limited := l.OnLimit(w, r, key)
		writers.Put(w)
		return !limited
	}}
}

// headerWriter is a response of which only the header is kept.
type headerWriter http.Header

func (w headerWriter) Header() http.Header         { return http.Header(w) }
func (w headerWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w headerWriter) WriteHeader(int)             {}
