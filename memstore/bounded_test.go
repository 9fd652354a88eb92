package memstore_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

const t0 = stint.Micros(1_772_409_600_000_000)

// take asks one bucket and returns its verdict.
func take(t testing.TB, s stint.Store, p *stint.Policy, key string, now stint.Micros, cost int64) stint.Verdict {
	t.Helper()
	var v [1]stint.Verdict
	_, err := s.Take(context.Background(), now, []stint.Charge{{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}}, v[:])
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

func algorithms() []stint.Algorithm {
	return append(slices.Clip(algo.All), algo.LeakyQueue{MaxWaiting: 3})
}

func TestC072ForgetsBucketsThatAreWorthNothing(t *testing.T) {
	for _, a := range algorithms() {
		t.Run(a.Name(), func(t *testing.T) {
			n := 1_000_000
			if raceEnabled || testing.Short() {
				n = 50_000
			}
			s := newStore(t, memstore.Options{})
			held, err := stint.NewPolicy("held", stint.Limit{Count: 1, Window: 60e9}, a)
			if err != nil {
				t.Fatal(err)
			}
			p := newPolicy(t, "10 per second", a)
			before := heap()
			now := t0
			for i := range n {
				now++
				if v := take(t, s, p, fmt.Sprint("k", i), now, 1); !v.OK {
					t.Fatalf("key %d refused", i)
				}
			}
			for take(t, s, held, "v", now, 1).OK {
			}
			peak := s.Stats().Buckets
			now += 3_000_000
			s.Sweep(now)
			if v := take(t, s, p, "one more", now, 1); !v.OK {
				t.Fatal("a new key was refused")
			}
			if got := s.Stats().Buckets; got > peak/100 {
				t.Errorf("%d buckets left of %d", got, peak)
			}
			if grown := heap() - before; grown > 20<<20 {
				t.Errorf("heap grew by %d MB", grown>>20)
			}
			if take(t, s, held, "v", now, 1).OK {
				t.Error("a key at its limit was forgotten")
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

func TestC074FloodOfNewKeysDoesNotEvictTheOneOverItsLimit(t *testing.T) {
	for _, a := range algorithms() {
		t.Run(a.Name(), func(t *testing.T) {
			s := newStore(t, memstore.Options{MaxBuckets: 1000})
			p := newPolicy(t, "5 per hour", a)
			for take(t, s, p, "victim", t0, 1).OK {
			}
			n := int64(100_000)
			if raceEnabled {
				n = 10_000
			}
			for i := range n {
				take(t, s, p, fmt.Sprint("flood", i), t0+stint.Micros(i), 1)
			}
			st := s.Stats()
			if st.Buckets > 1050 {
				t.Errorf("%d buckets, at most 1000", st.Buckets)
			}
			if st.EvictedInUse < n-1000 || st.Evicted < st.EvictedInUse {
				t.Errorf("stats %+v do not show the evictions", st)
			}
			if take(t, s, p, "victim", t0+200_000, 1).OK {
				t.Error("the flood gave a refused key a fresh bucket")
			}
		})
	}
}

// TestOverLimitStaysWhileOthersRemain fills a store with keys over their limit
// but for one in ten, and lets new keys come.
func TestOverLimitStaysWhileOthersRemain(t *testing.T) {
	const most = 1000
	s := newStore(t, memstore.Options{MaxBuckets: most})
	p := newPolicy(t, "2 per hour", algo.TokenBucket)
	for i := range most {
		cost := int64(2)
		if i%10 == 0 {
			cost = 1
		}
		take(t, s, p, fmt.Sprint("k", i), t0, cost)
	}
	for i := range most / 10 {
		take(t, s, p, fmt.Sprint("new", i), t0, 2)
	}
	for i := range most {
		if v := take(t, s, p, fmt.Sprint("k", i), t0, 0); i%10 != 0 && v.OK {
			t.Errorf("key %d, over its limit, was evicted", i)
		}
	}
}

// TestTakesNewKeysWhenAllAreOverTheirLimit is a flood of keys of one request an
// hour: then those nearest their reset go.
func TestTakesNewKeysWhenAllAreOverTheirLimit(t *testing.T) {
	s := newStore(t, memstore.Options{MaxBuckets: 500})
	p := newPolicy(t, "1 per hour", algo.TokenBucket)
	for i := range 5000 {
		if v := take(t, s, p, fmt.Sprint("k", i), t0+stint.Micros(i), 1); !v.OK {
			t.Fatalf("new key %d refused", i)
		}
	}
	if n := s.Stats().Buckets; n > 525 {
		t.Errorf("%d buckets", n)
	}
}

func TestRefuseNew(t *testing.T) {
	s := newStore(t, memstore.Options{MaxBuckets: 100, WhenFull: memstore.RefuseNew})
	p := newPolicy(t, "5 per second", algo.TokenBucket)
	for i := range 100 {
		if !take(t, s, p, fmt.Sprint("k", i), t0, 1).OK {
			t.Fatalf("key %d refused before the store was full", i)
		}
	}
	v := take(t, s, p, "new", t0, 1)
	if v.OK || v.RetryAfter <= 0 || v.RetryAfter > 1e9 {
		t.Errorf("a new key in a full store: %+v, want a refusal with a short wait", v)
	}
	if !take(t, s, p, "k1", t0, 1).OK {
		t.Error("a key with a bucket was refused")
	}
	if got := s.Stats().RefusedNew; got != 1 {
		t.Errorf("%d refusals counted, want 1", got)
	}
	s.Sweep(t0 + 10_000_000)
	if !take(t, s, p, "new", t0+10_000_000, 1).OK {
		t.Error("refused though all others are worth nothing")
	}
}

func TestNegativeMaxBucketsIsRefused(t *testing.T) {
	if _, err := memstore.New(memstore.Options{MaxBuckets: -1}); err == nil {
		t.Error("no error")
	}
}
