package shield_test

import (
	"context"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/shield"
)

// BenchmarkHotKey refuses one key that is over its limit, for many goroutines.
func BenchmarkHotKey(b *testing.B) {
	redis := func(b *testing.B) stint.Store {
		store, err := redisstore.New(redisstore.Options{Addrs: []string{redistest.Start(b).Addr}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(store.Close)
		return store
	}
	for _, s := range []struct {
		name string
		open func(b *testing.B) stint.Store
	}{
		{"memory", func(b *testing.B) stint.Store { return newMemory(b) }},
		{"redis", redis},
		{"shield before memory", func(b *testing.B) stint.Store { return newShield(b, shield.Options{Store: newMemory(b)}) }},
		{"shield before redis", func(b *testing.B) stint.Store { return newShield(b, shield.Options{Store: redis(b)}) }},
	} {
		b.Run(s.name, func(b *testing.B) {
			l := &stint.Limiter{Store: s.open(b)}
			p := policy(b, "p", "10 per 3600s", algo.TokenBucket)
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := l.Allow(context.Background(), p, "198.51.100.7"); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkAlone is one goroutine: a refusal known here, the same from memory, and
// what the shield adds to a request that passes.
func BenchmarkAlone(b *testing.B) {
	for _, s := range []struct {
		name, limit string
		store       stint.Store
	}{
		{"refused by memory", "10 per 3600s", newMemory(b)},
		{"refused by the shield", "10 per 3600s", newShield(b, shield.Options{Store: newMemory(b)})},
		{"passes memory", "1000000000 per second", newMemory(b)},
		{"passes both", "1000000000 per second", newShield(b, shield.Options{Store: newMemory(b)})},
	} {
		b.Run(s.name, func(b *testing.B) {
			l := &stint.Limiter{Store: s.store}
			p := policy(b, "p", s.limit, algo.TokenBucket)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Allow(context.Background(), p, "198.51.100.7"); err != nil {
					b.Error(err)
				}
			}
		})
	}
}
