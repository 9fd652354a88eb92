package memstore_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

func newPolicy(t testing.TB, limit string, a stint.Algorithm) *stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy("p", l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newStore(t testing.TB, o memstore.Options) *memstore.Store {
	t.Helper()
	s, err := memstore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEightyRequestsFromEightThreads(t *testing.T) {
	for round := range 1000 {
		l := &stint.Limiter{Store: newStore(t, memstore.Options{}), Clock: func() time.Time { return time.Unix(1e9, 0) }}
		p := newPolicy(t, "20 per minute", algo.TokenBucket)
		var passed [8]int
		var wg sync.WaitGroup
		for i := range passed {
			wg.Go(func() {
				for range 10 {
					d, err := l.Allow(context.Background(), p, "k")
					if err != nil {
						t.Error(err)
					}
					if d.Allowed {
						passed[i]++
					}
				}
			})
		}
		wg.Wait()
		sum := 0
		for _, n := range passed {
			sum += n
		}
		if sum != 20 {
			t.Fatalf("round %d: %d passed, want exactly 20", round, sum)
		}
	}
}

func BenchmarkAllowOneKey(b *testing.B) {
	l := &stint.Limiter{Store: newStore(b, memstore.Options{})}
	p := newPolicy(b, "1000000000 per second", algo.TokenBucket)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Allow(context.Background(), p, "198.51.100.7"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefuseOneKey(b *testing.B) {
	l := &stint.Limiter{Store: newStore(b, memstore.Options{})}
	p := newPolicy(b, "1 per day", algo.TokenBucket)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Allow(context.Background(), p, "198.51.100.7"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewKeys(b *testing.B) {
	l := &stint.Limiter{Store: newStore(b, memstore.Options{})}
	p := newPolicy(b, "10 per hour", algo.TokenBucket)
	b.ReportAllocs()
	i := 0
	var buf [20]byte
	for b.Loop() {
		i++
		k := strconv.AppendInt(buf[:0], int64(i), 10)
		if _, err := l.Allow(context.Background(), p, string(k)); err != nil {
			b.Fatal(err)
		}
	}
}
