package shield_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/shield"
)

// TestHotKeyOnRedis: a client far over its limit costs Redis a few calls, not one
// for each of its requests.
func TestHotKeyOnRedis(t *testing.T) {
	const goroutines, times, limit = 32, 2000, 10
	server := redistest.Start(t)
	open := func() stint.Store {
		store, err := redisstore.New(redisstore.Options{Addrs: []string{server.Addr}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		return store
	}
	store := newShield(t, shield.Options{Store: open()})
	l := &stint.Limiter{Store: store}
	p := policy(t, "p", "10 per 3600s", algo.TokenBucket)
	var passed atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range goroutines {
		wg.Go(func() {
			for range times {
				d, err := l.Allow(context.Background(), p, "k")
				if err != nil {
					t.Error(err)
					return
				}
				if d.Allowed {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if n := passed.Load(); n != limit {
		t.Errorf("%d passed, want %d", n, limit)
	}
	// Each goroutine asks at most once for each span that a refusal is remembered.
	spans := 1 + int(took/shield.DefaultMaxWait)
	calls, most := server.Calls("evalsha")+server.Calls("eval"), limit+goroutines*spans+2
	if calls > most {
		t.Errorf("%d calls of Redis, want at most %d", calls, most)
	}
	if n := store.Stats().Answered; n < goroutines*times-int64(most) {
		t.Errorf("%d answered by the shield", n)
	}
	t.Logf("%d requests in %v, %d calls of Redis", goroutines*times, took, calls)

	// A reset here is seen at once.
	if err := l.Reset(context.Background(), p, "k"); err != nil {
		t.Fatal(err)
	}
	if d, err := l.AllowN(context.Background(), p, "k", limit); err != nil || !d.Allowed {
		t.Fatalf("after a reset: %+v, %v", d, err)
	}
	if d, err := l.Allow(context.Background(), p, "k"); err != nil || d.Allowed {
		t.Fatalf("%+v, %v", d, err)
	}
	// One on another server is seen when the memory ends.
	if err := (&stint.Limiter{Store: open()}).Reset(context.Background(), p, "k"); err != nil {
		t.Fatal(err)
	}
	reset := time.Now()
	for {
		d, err := l.Allow(context.Background(), p, "k")
		if err != nil {
			t.Fatal(err)
		}
		if d.Allowed {
			break
		}
		if time.Since(reset) > shield.DefaultMaxWait+time.Second {
			t.Fatal("a reset on another server is not seen")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestToldWaitSufficesOnRedis: who waits as the shield told gets in at once.
func TestToldWaitSufficesOnRedis(t *testing.T) {
	server := redistest.Start(t)
	inner, err := redisstore.New(redisstore.Options{Addrs: []string{server.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	store := newShield(t, shield.Options{Store: inner})
	l := &stint.Limiter{Store: store}
	for _, a := range algo.All {
		p := policy(t, a.Name(), "1 per 30ms", a)
		for range 4 {
			d := stint.Decision{Allowed: true}
			for before := store.Stats().Answered; d.Allowed || store.Stats().Answered == before; {
				if d, err = l.Allow(context.Background(), p, "k"); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(d.RetryAfter)
			if after, err := l.Allow(context.Background(), p, "k"); err != nil || !after.Allowed {
				t.Fatalf("%s: told to wait %v, and then %+v, %v", a.Name(), d.RetryAfter, after, err)
			}
		}
	}
}
