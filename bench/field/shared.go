package field

import (
	"context"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// Redis says where limiters find the Redis in which they share their counts.
type Redis struct {
	Addrs []string
	// Cluster says that the addresses are nodes of a Redis Cluster.
	Cluster bool
	// Callers is how many goroutines ask at once. Clients that keep a connection
	// for each call get as many.
	Callers int
}

// Rule is one limit of those that a request is asked about.
type Rule struct {
	Name string
	Quota
}

// Shared is a limiter that counts in Redis, opened for some rules.
type Shared struct {
	// Allow asks for one unit of each rule's bucket; keys holds a key for each rule,
	// in their order. Stint settles them in one call. The others know one rule, so
	// they are asked one rule after the other until one refuses, as their users
	// write it, and what earlier rules have counted stays counted.
	Allow func(ctx context.Context, keys []string) (bool, error)
	// Close ends its connections.
	Close func()
}

// SharedEntry is a limiter of the field on Redis.
type SharedEntry struct {
	Name string
	// Counts says in a few words what its buckets are.
	Counts string
	Open   func(Redis, ...Rule) (Shared, error)
}

// Names of limiters on Redis that targets are about.
const (
	RueidisLimiter = "rueidislimiter's commands"
	RedisRate      = "go-redis/redis_rate/v10"
	Textbook       = "textbook script, rueidis"
)

// SharedEntries lists the field on Redis, Stint first.
func SharedEntries() []SharedEntry {
	return []SharedEntry{
		{Name: Stint, Counts: "token bucket", Open: shareStint},
		{Name: RueidisLimiter, Counts: "fixed window", Open: shareFixedWindow},
		{Name: RedisRate, Counts: "GCRA", Open: shareRedisRate},
		{Name: "throttled/v2, goredisstore", Counts: "GCRA", Open: shareThrottled},
		{Name: "ulule/limiter/v3, redis", Counts: "fixed window", Open: shareUlule},
		{Name: Textbook, Counts: "token bucket", Open: shareTextbook},
		{Name: "INCR and EXPIRE, rueidis", Counts: "fixed window", Open: shareBare},
	}
}

// single asks one rule.
type single func(ctx context.Context, key string) (bool, error)

// inTurn asks one rule after the other until one refuses.
func inTurn(rules []single) func(ctx context.Context, keys []string) (bool, error) {
	return func(ctx context.Context, keys []string) (bool, error) {
		for i, ask := range rules {
			if ok, err := ask(ctx, keys[i]); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

// prefix is what a rule's keys begin with for a limiter that knows no rules. One
// rule alone needs none.
func prefix(rules []Rule, i int) string {
	if len(rules) == 1 {
		return ""
	}
	return rules[i].Name + ":"
}

// eachRule opens a limiter of one rule for every one.
func eachRule(rules []Rule, end func(), open func(prefix string, q Quota) (single, error)) (Shared, error) {
	var all []single
	for i, r := range rules {
		ask, err := open(prefix(rules, i), r.Quota)
		if err != nil {
			end()
			return Shared{}, err
		}
		all = append(all, ask)
	}
	return Shared{Allow: inTurn(all), Close: end}, nil
}

// goClient is a go-redis client with a connection for each caller, of both kinds
// that it keeps.
func (r Redis) goClient() goredis.UniversalClient {
	if r.Cluster {
		return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: r.Addrs, PoolSize: r.Callers, PipelinePoolSize: r.Callers})
	}
	return goredis.NewClient(&goredis.Options{Addr: r.Addrs[0], PoolSize: r.Callers, PipelinePoolSize: r.Callers})
}

// rueidisClient is a rueidis client as it comes, without the cache that nobody
// here uses.
func (r Redis) rueidisClient() (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: r.Addrs, DisableCache: true, ForceSingleClient: !r.Cluster})
}
