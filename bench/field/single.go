package field

import (
	"hash/maphash"
	"sync"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/juju/ratelimit"
	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

// The libraries of this file limit one thing; what keeps them by key is what
// their users write around them.

func openOneMutex(q Quota) Limiter {
	var s shard
	s.of = make(map[string]*rate.Limiter)
	return Limiter{Close: nothing, Allow: func(key string) bool { return s.get(key, q).Allow() }}
}

func openSharded(q Quota) Limiter {
	var shards [256]shard
	for i := range shards {
		shards[i].of = make(map[string]*rate.Limiter)
	}
	seed := maphash.MakeSeed()
	return Limiter{Close: nothing, Allow: func(key string) bool {
		return shards[maphash.String(seed, key)%256].get(key, q).Allow()
	}}
}

// shard is a map behind a mutex.
type shard struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
	_  [48]byte // a cache line of its own
}

func (s *shard) get(key string, q Quota) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.of[key]
	if l == nil {
		l = newRate(q)
		s.of[key] = l
	}
	return l
}

func newRate(q Quota) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(q.Count)/q.Window.Seconds()), int(q.Count))
}

func openRateMap(q Quota) Limiter {
	m := &perKey[*rate.Limiter]{open: func() *rate.Limiter { return newRate(q) }}
	return Limiter{Close: nothing, Allow: func(key string) bool { return m.get(key).Allow() }}
}

func openFailsafe(q Quota) Limiter {
	m := &perKey[ratelimiter.RateLimiter[any]]{open: func() ratelimiter.RateLimiter[any] {
		return ratelimiter.NewBursty[any](uint(q.Count), q.Window)
	}}
	return Limiter{Close: nothing, Allow: func(key string) bool { return m.get(key).TryAcquirePermit() }}
}

func openJuju(q Quota) Limiter {
	m := &perKey[*ratelimit.Bucket]{open: func() *ratelimit.Bucket {
		return ratelimit.NewBucket(q.interval(), q.Count)
	}}
	return Limiter{Close: nothing, Allow: func(key string) bool { return m.get(key).TakeAvailable(1) == 1 }}
}

// perKey keeps a T for each key in a sync.Map.
type perKey[T any] struct {
	of   sync.Map
	open func() T
}

func (m *perKey[T]) get(key string) T {
	v, ok := m.of.Load(key)
	if !ok {
		v, _ = m.of.LoadOrStore(key, m.open())
	}
	return v.(T)
}

// openUber ignores the quota: Take never refuses, it sleeps until its turn. At a
// rate that no caller reaches what is left is the cost of a turn.
func openUber(Quota) Limiter {
	l := uber.New(1_000_000_000)
	return Limiter{Close: nothing, Allow: func(string) bool { return !l.Take().IsZero() }}
}
