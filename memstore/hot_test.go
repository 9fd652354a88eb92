package memstore_test

import (
	"context"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

// BenchmarkHotKey is one key asked by many goroutines.
func BenchmarkHotKey(b *testing.B) {
	l := &stint.Limiter{Store: newStore(b, memstore.Options{})}
	p := newPolicy(b, "1000000000 per second", algo.TokenBucket)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Allow(context.Background(), p, "198.51.100.7"); err != nil {
				b.Error(err)
			}
		}
	})
}
