package field

import (
	"net/http"

	"github.com/go-chi/httprate"
	gohttp "github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
)

// Middleware is one middleware for net/http under measurement. All tell clients
// apart by the connection's address and count in memory.
type Middleware struct {
	Name string
	Wrap func(q Quota, next http.Handler) http.Handler
}

// Middlewares lists the field, Stint's plainest headers first.
func Middlewares() []Middleware {
	return []Middleware{
		{Name: "stint, x-ratelimit", Wrap: stintWith(httplimit.XRateLimit)},
		{Name: "stint, x-ratelimit + ietf", Wrap: stintWith(httplimit.XRateLimit | httplimit.IETF)},
		{Name: "sethvargo/go-limiter", Wrap: wrapGoLimiter},
		{Name: "throttled/v2", Wrap: wrapThrottled},
		{Name: "go-chi/httprate", Wrap: wrapHTTPRate},
		{Name: "ulule/limiter/v3", Wrap: wrapUlule},
	}
}

func stintWith(headers httplimit.Headers) func(Quota, http.Handler) http.Handler {
	return func(q Quota, next http.Handler) http.Handler {
		l, p := NewStint(q, algo.TokenBucket)
		limit := must(httplimit.New(httplimit.Options{
			Decider: &httplimit.Single{Limiter: l, Policy: p, Key: httplimit.ByIP},
			Headers: headers,
		}))
		return limit(next)
	}
}

func wrapGoLimiter(q Quota, next http.Handler) http.Handler {
	s := must(memorystore.New(&memorystore.Config{Tokens: uint64(q.Count), Interval: q.Window}))
	return must(gohttp.NewMiddleware(s, gohttp.IPKeyFunc())).Handle(next)
}

func wrapThrottled(q Quota, next http.Handler) http.Handler {
	l := must(throttled.NewGCRARateLimiterCtx(must(memstore.NewCtx(0)), throttledQuota(q)))
	m := throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: &throttled.VaryBy{RemoteAddr: true}}
	return m.RateLimit(next)
}

func wrapHTTPRate(q Quota, next http.Handler) http.Handler {
	key := func(r *http.Request) (string, error) { return httprate.CanonicalizeIP(r.RemoteAddr), nil }
	return httprate.LimitBy(int(q.Count), q.Window, key)(next)
}

func wrapUlule(q Quota, next http.Handler) http.Handler {
	l := limiter.New(memory.NewStore(), limiter.Rate{Period: q.Window, Limit: q.Count})
	return stdlib.NewMiddleware(l).Handler(next)
}
