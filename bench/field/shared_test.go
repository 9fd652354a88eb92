package field

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestEveryoneSharesTheSame holds that what is compared on Redis does the same
// work: three at once for each key and no more, whoever of two clients asks.
func TestEveryoneSharesTheSame(t *testing.T) {
	server := redistest.Start(t)
	at := Redis{Addrs: []string{server.Addr}, Callers: 4}
	for _, e := range SharedEntries() {
		rule := Rule{"per-user", Quota{Count: 3, Window: 24 * time.Hour}}
		one, two := openShared(t, e, at, rule), openShared(t, e, at, rule)
		for k := range 20 {
			passed := 0
			for i := range 5 {
				l := one
				if i%2 == 1 {
					l = two
				}
				if allows(t, e, l, "user:"+strconv.Itoa(k)) {
					passed++
				}
			}
			if passed != 3 {
				t.Errorf("%s: %d of 5 passed for a key, want 3", e.Name, passed)
				break
			}
		}
	}
}

// TestEveryoneHoldsTheLimitAtOnce has many callers meet in one bucket.
func TestEveryoneHoldsTheLimitAtOnce(t *testing.T) {
	server := redistest.Start(t)
	at := Redis{Addrs: []string{server.Addr}, Callers: 16}
	for _, e := range SharedEntries() {
		l := openShared(t, e, at, Rule{"per-user", Quota{Count: 10, Window: 24 * time.Hour}})
		var passed, failed atomic.Int64
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 4 {
					ok, err := l.Allow(context.Background(), []string{"user:1"})
					if err != nil {
						failed.Add(1)
					}
					if ok {
						passed.Add(1)
					}
				}
			})
		}
		all.Wait()
		// throttled gives up on a bucket that too many change; then fewer pass.
		if n := passed.Load(); n > 10 || n < 10 && failed.Load() == 0 {
			t.Errorf("%s: %d passed and %d failed, want 10 and 0", e.Name, n, failed.Load())
		}
	}
}

// TestEveryoneKeepsRulesApart has three rules about one key, of which the second is
// the tightest.
func TestEveryoneKeepsRulesApart(t *testing.T) {
	server := redistest.Start(t)
	at := Redis{Addrs: []string{server.Addr}, Callers: 4}
	for _, e := range SharedEntries() {
		l := openShared(t, e, at,
			Rule{"minute", Quota{Count: 50, Window: 24 * time.Hour}},
			Rule{"hour", Quota{Count: 2, Window: 24 * time.Hour}},
			Rule{"day", Quota{Count: 70, Window: 24 * time.Hour}})
		passed := 0
		for range 5 {
			if allows(t, e, l, "user:1", "user:1", "user:1") {
				passed++
			}
		}
		if passed != 2 {
			t.Errorf("%s: %d of 5 passed, want 2", e.Name, passed)
		}
	}
}

func openShared(t *testing.T, e SharedEntry, at Redis, rules ...Rule) Shared {
	t.Helper()
	l, err := e.Open(at, rules...)
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	t.Cleanup(l.Close)
	return l
}

func allows(t *testing.T, e SharedEntry, l Shared, keys ...string) bool {
	t.Helper()
	ok, err := l.Allow(context.Background(), keys)
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	return ok
}
