package redisstore_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// textbook is the token bucket as it is usually written for Redis.
var textbook = rueidis.NewLuaScript(`
local rate, capacity, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] + t[2] / 1000000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(state[1]) or capacity
local at = tonumber(state[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * rate)
local ok = tokens >= cost
if ok then tokens = tokens - cost end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate * 1000) + 1000)
return {ok and 1 or 0, math.floor(tokens)}`)

// callers is how many goroutines ask at once in the benchmarks.
const callers = 64

// policies makes n policies of an algorithm that refuse nothing.
func policies(t testing.TB, n int, limit string, a stint.Algorithm) []*stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	var all []*stint.Policy
	for i := range n {
		p, err := stint.NewPolicy("rule "+strconv.Itoa(i), l, a)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// measure runs check from many goroutines and reports, beside the time, the
// processor time of Redis and of the calls for one check.
func measure(b *testing.B, server *redistest.Server, check func(i int64) error) {
	b.Helper()
	b.SetParallelism((callers + 1) / 2)
	before := cpu(b, server)
	server.Do("CONFIG", "RESETSTAT")
	var n atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := check(n.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	used := cpu(b, server) - before
	calls := server.Calls("evalsha") + server.Calls("eval")
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/1000, "redis-µs/op")
	b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "checks/s")
}

// cpu is the processor time that the server has used.
func cpu(b *testing.B, s *redistest.Server) time.Duration {
	b.Helper()
	sum := 0.0
	info := s.Info("cpu")
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		x, err := strconv.ParseFloat(info[field], 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += x
	}
	return time.Duration(sum * float64(time.Second))
}

// keys are the buckets of the benchmarks.
func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "user:" + strconv.Itoa(100_000+i)
	}
	return all
}

func BenchmarkTake(b *testing.B) {
	server := redistest.Start(b)
	for _, a := range algo.All {
		limit := "100000 per minute"
		if a == algo.SlidingWindowLog {
			limit = "100 per minute"
		}
		for _, rules := range []int{1, 3} {
			b.Run(a.Name()+"/"+strconv.Itoa(rules), func(b *testing.B) {
				store := open(b, server, redisstore.Options{})
				benchmarkTake(b, server, store, policies(b, rules, limit, a), keys(10_000))
			})
		}
	}
	b.Run("token_bucket/3, one shared", func(b *testing.B) {
		store := open(b, server, redisstore.Options{})
		benchmarkShared(b, server, store, policies(b, 3, "10000000 per minute", algo.TokenBucket), keys(10_000))
	})
	b.Run("hot key", func(b *testing.B) {
		store := open(b, server, redisstore.Options{})
		benchmarkTake(b, server, store, policies(b, 1, "100 per hour", algo.TokenBucket), keys(1))
	})
}

func benchmarkTake(b *testing.B, server *redistest.Server, store stint.Store, rules []*stint.Policy, keys []string) {
	b.Helper()
	server.Do("FLUSHALL")
	measure(b, server, func(i int64) error {
		var charges [3]stint.Charge
		var verdicts [3]stint.Verdict
		key := []byte(keys[i*7919%int64(len(keys))])
		for j, p := range rules {
			charges[j] = stint.Charge{Policy: p, Key: key, Ask: stint.Ask{Cost: 1}}
		}
		_, err := store.Take(context.Background(), 0, charges[:len(rules)], verdicts[:len(rules)])
		return err
	})
}

// benchmarkShared is benchmarkTake where the last rule has one bucket for all.
func benchmarkShared(b *testing.B, server *redistest.Server, store stint.Store, rules []*stint.Policy, keys []string) {
	b.Helper()
	server.Do("FLUSHALL")
	measure(b, server, func(i int64) error {
		var charges [3]stint.Charge
		var verdicts [3]stint.Verdict
		key := []byte(keys[i*7919%int64(len(keys))])
		for j, p := range rules {
			charges[j] = stint.Charge{Policy: p, Key: key, Ask: stint.Ask{Cost: 1}}
		}
		charges[len(rules)-1].Key = []byte("all")
		_, err := store.Take(context.Background(), 0, charges[:len(rules)], verdicts[:len(rules)])
		return err
	})
}

func BenchmarkTextbook(b *testing.B) {
	server := redistest.Start(b)
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	all := keys(10_000)
	measure(b, server, func(i int64) error {
		return textbook.Exec(context.Background(), c, []string{all[i*7919%int64(len(all))]}, []string{"1666.67", "100000", "1"}).Error()
	})
}

// BenchmarkAlone is one caller: nothing to combine with.
func BenchmarkAlone(b *testing.B) {
	server := redistest.Start(b)
	store := open(b, server, redisstore.Options{})
	p := policies(b, 1, "100000 per minute", algo.TokenBucket)[0]
	charges := []stint.Charge{{Policy: p, Key: []byte("user:100000"), Ask: stint.Ask{Cost: 1}}}
	var verdicts [1]stint.Verdict
	before := cpu(b, server)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Take(context.Background(), 0, charges, verdicts[:]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b, server)-before).Nanoseconds())/float64(b.N)/1000, "redis-µs/op")
}
