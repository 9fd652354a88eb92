package field

import (
	"context"
	"sync"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
)

func shareStint(at Redis, rules ...Rule) (Shared, error) {
	return ShareStint(at, nil, rules...)
}

// ShareStint opens Stint's token bucket on Redis. Front, if not nil, makes the store
// that stands in front of the one in Redis.
func ShareStint(at Redis, front func(stint.Store) (stint.Store, error), rules ...Rule) (Shared, error) {
	return shareAs(at, algo.TokenBucket, front, rules)
}

// ShareStintLog opens Stint's sliding window log on Redis.
func ShareStintLog(at Redis, rules ...Rule) (Shared, error) {
	return shareAs(at, algo.SlidingWindowLog, nil, rules)
}

func shareAs(at Redis, a stint.Algorithm, front func(stint.Store) (stint.Store, error), rules []Rule) (Shared, error) {
	s, err := redisstore.New(redisstore.Options{Addrs: at.Addrs, Cluster: at.Cluster})
	if err != nil {
		return Shared{}, err
	}
	l := &stint.Limiter{Store: s}
	if front != nil {
		if l.Store, err = front(s); err != nil {
			s.Close()
			return Shared{}, err
		}
	}
	return Shared{Allow: decide(l, a, rules), Close: s.Close}, nil
}

// ShareMemory is Stint in the memory of this process: what a refusal costs that
// does not go to Redis.
func ShareMemory(rules ...Rule) Shared {
	l, _ := NewStint(rules[0].Quota, algo.TokenBucket)
	return Shared{Allow: decide(l, algo.TokenBucket, rules), Close: nothing}
}

// decide asks l about all rules in one call. The storage of a decision is used
// again, as a server does.
func decide(l *stint.Limiter, a stint.Algorithm, rules []Rule) func(ctx context.Context, keys []string) (bool, error) {
	var policies []*stint.Policy
	for _, r := range rules {
		policies = append(policies, NewPolicy(r.Name, r.Quota, a))
	}
	if len(policies) == 1 {
		return func(ctx context.Context, keys []string) (bool, error) {
			d, err := l.Allow(ctx, policies[0], keys[0])
			return d.Allowed, err
		}
	}
	var requests sync.Pool
	return func(ctx context.Context, keys []string) (bool, error) {
		r, _ := requests.Get().(*request)
		if r == nil {
			r = &request{charges: make([]stint.Charge, len(policies))}
		}
		defer requests.Put(r)
		for i, p := range policies {
			c := &r.charges[i]
			c.Policy, c.Key, c.Ask = p, append(c.Key[:0], keys[i]...), stint.Ask{Cost: 1}
		}
		err := l.Decide(ctx, r.charges, &r.decision)
		return r.decision.Allowed, err
	}
}

// request is what a request needs while it is decided.
type request struct {
	charges  []stint.Charge
	decision stint.Decision
}
