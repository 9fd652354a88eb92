package field

import (
	"context"

	"github.com/go-redis/redis_rate/v10"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	ulule "github.com/ulule/limiter/v3/drivers/store/redis"
)

func shareRedisRate(at Redis, rules ...Rule) (Shared, error) {
	c := at.goClient()
	l := redis_rate.NewLimiter(c)
	return eachRule(rules, func() { c.Close() }, func(prefix string, q Quota) (single, error) {
		limit := redis_rate.Limit{Rate: int(q.Count), Burst: int(q.Count), Period: q.Window}
		return func(ctx context.Context, key string) (bool, error) {
			r, err := l.Allow(ctx, prefix+key, limit)
			return err == nil && r.Allowed == 1, err
		}, nil
	})
}

// shareThrottled keeps the bound of ten attempts that throttled has by default: a
// key that many callers change at once fails now and then.
func shareThrottled(at Redis, rules ...Rule) (Shared, error) {
	c := at.goClient()
	return eachRule(rules, func() { c.Close() }, func(prefix string, q Quota) (single, error) {
		store, err := goredisstore.NewCtx(c, "throttled:"+prefix)
		if err != nil {
			return nil, err
		}
		l, err := throttled.NewGCRARateLimiterCtx(store, throttledQuota(q))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string) (bool, error) {
			limited, _, err := l.RateLimitCtx(ctx, key, 1)
			return !limited && err == nil, err
		}, nil
	})
}

func shareUlule(at Redis, rules ...Rule) (Shared, error) {
	c := at.goClient()
	return eachRule(rules, func() { c.Close() }, func(prefix string, q Quota) (single, error) {
		store, err := ulule.NewStoreWithOptions(c, limiter.StoreOptions{Prefix: limiter.DefaultPrefix + prefix})
		if err != nil {
			return nil, err
		}
		l := limiter.New(store, limiter.Rate{Period: q.Window, Limit: q.Count})
		return func(ctx context.Context, key string) (bool, error) {
			r, err := l.Get(ctx, key)
			return err == nil && !r.Reached, err
		}, nil
	})
}
