package field

import (
	"context"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

// maxBuckets is above what any scenario makes, so that nothing is evicted.
const maxBuckets = 1 << 25

func openStint(q Quota) Limiter { return OpenAlgorithm(q, algo.TokenBucket) }

// OpenAlgorithm opens Stint with one of its algorithms.
func OpenAlgorithm(q Quota, a stint.Algorithm) Limiter {
	l, p := NewStint(q, a)
	ctx := context.Background()
	return Limiter{Close: nothing, Allow: func(key string) bool {
		d, err := l.Allow(ctx, p, key)
		return err == nil && d.Allowed
	}}
}

// NewStint returns a limiter on a new memory store and a policy for it.
func NewStint(q Quota, a stint.Algorithm) (*stint.Limiter, *stint.Policy) {
	s := must(memstore.New(memstore.Options{MaxBuckets: maxBuckets}))
	return &stint.Limiter{Store: s}, NewPolicy("bench", q, a)
}

// NewPolicy compiles a quota.
func NewPolicy(name string, q Quota, a stint.Algorithm) *stint.Policy {
	return must(stint.NewPolicy(name, stint.Limit{Count: q.Count, Window: q.Window}, a))
}
