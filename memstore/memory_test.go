package memstore

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// live is what the heap holds, in bytes, without garbage.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// allocated is what has been allocated so far, in bytes.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// manyNames makes policies of one bucket each.
func manyNames(t *testing.T, n int) []*stint.Policy {
	policies := make([]*stint.Policy, n)
	for i := range policies {
		policies[i] = named(t, fmt.Sprint("rule ", i), stint.Limit{Count: 5, Window: time.Hour}, algo.TokenBucket)
	}
	return policies
}

func TestANameWithOneBucketIsSmall(t *testing.T) {
	const names = 4000
	s, policies := open(t, Options{}), manyNames(t, names)
	before := live()
	for _, p := range policies {
		askOne(t, s, p, "k", start, 1)
	}
	if each := (live() - before) / names; each > 1024 {
		t.Errorf("a name with one bucket takes %d bytes, at most 1024", each)
	}
	if each := s.Stats().Memory / names; each > 1024 || each < 400 {
		t.Errorf("a name with one bucket counts as %d bytes", each)
	}
	runtime.KeepAlive(policies)
}

// TestNamesAreAddedInConstantTime compares what is allocated for few and for many.
func TestNamesAreAddedInConstantTime(t *testing.T) {
	cost := func(n int) int64 {
		s, policies := open(t, Options{}), manyNames(t, n)
		before := allocated()
		for _, p := range policies {
			askOne(t, s, p, "k", start, 1)
		}
		return allocated() - before
	}
	if few, many := cost(2000), cost(8000); many > 5*few {
		t.Errorf("2000 names take %d bytes, 8000 take %d: more than five times as much", few, many)
	}
}

// TestBytesAreCounted compares what a store says that it holds with the heap.
func TestBytesAreCounted(t *testing.T) {
	for _, a := range algorithms() {
		s := open(t, Options{})
		p := named(t, "p", stint.Limit{Count: 300, Window: time.Hour}, a)
		q := named(t, "p", stint.Limit{Count: 2, Window: time.Hour}, a)
		r := rand.New(rand.NewPCG(1, 1))
		before := live()
		for i := range 50_000 {
			key := fmt.Sprint("k", i)
			askOne(t, s, p, key, start+stint.Micros(i), 3)
			if a == stint.Algorithm(algo.SlidingWindowLog) {
				for j := range r.IntN(30) {
					askOne(t, s, p, key, start+stint.Micros(i+j), 1)
				}
			}
			if i%4 == 0 {
				askOne(t, s, q, key, start+stint.Micros(i), -1) // owes what the smaller limit lets off
			}
		}
		held, counted := live()-before, s.Stats().Memory
		if float64(counted) < 0.9*float64(held) || float64(counted) > 1.1*float64(held) {
			t.Errorf("%s: the heap has grown by %d bytes, the store counts %d", a.Name(), held, counted)
		}
		checkStructure(t, s)
		runtime.KeepAlive(s)
	}
}

// TestLogsStayWithinTheBound lets logs of up to 10,000 entries grow in a store that has
// room for a few of them.
func TestLogsStayWithinTheBound(t *testing.T) {
	bound, n := int64(2<<20), 150_000
	if underRace {
		bound, n = bound/4, n/4
	}
	for _, full := range []Full{EvictNearestReset, RefuseNew} {
		s := open(t, Options{MaxMemory: bound, WhenFull: full})
		p := named(t, "p", stint.Limit{Count: algo.MaxLog, Window: time.Hour}, algo.SlidingWindowLog)
		other := named(t, "other", stint.Limit{Count: 5, Window: time.Hour}, algo.TokenBucket)
		r := rand.New(rand.NewPCG(1, 1))
		most, refused, now := int64(0), 0, start
		for range n {
			now++
			// Half of the requests are about few keys, so that some logs become long.
			key := fmt.Sprint("k", r.IntN(20))
			if r.IntN(2) == 0 {
				key = fmt.Sprint("k", r.IntN(2000))
			}
			if !askOne(t, s, p, key, now, 1).OK {
				refused++
			}
			if r.IntN(10) == 0 {
				askOne(t, s, other, key, now, 1)
			}
			most = max(most, s.Stats().Memory)
		}
		checkStructure(t, s)
		st := s.Stats()
		if most > bound+300_000 {
			t.Errorf("%d: %d bytes, at most %d and one long log", full, most, bound)
		}
		if most < bound*3/4 {
			t.Errorf("%d: never more than %d of %d bytes: the test fills nothing", full, most, bound)
		}
		if grown := words(s); grown < most/3 {
			t.Errorf("%d: %d bytes of entries in %d bytes", full, grown, st.Memory)
		}
		switch {
		case full == EvictNearestReset && (refused > n/100 || st.EvictedInUse == 0):
			t.Errorf("a store that evicts: %d of %d refused, %+v", refused, n, st)
		case full == RefuseNew && (refused == 0 || st.Evicted > 0):
			t.Errorf("a store that refuses: %d of %d refused, %+v", refused, n, st)
		}
	}
}

// words is what the entries of all logs take, in bytes.
func words(s *Store) (n int64) {
	for g := range s.tables["p"].locked() {
		for i := range g.all() {
			n += 8 * int64(len(g.view(i).list))
		}
	}
	return n
}

// TestBucketsStayWithinTheBoundOfBytes floods a store with new keys of several names.
func TestBucketsStayWithinTheBoundOfBytes(t *testing.T) {
	const bound = 1 << 20
	for _, full := range []Full{EvictNearestReset, RefuseNew} {
		s := open(t, Options{MaxMemory: bound, WhenFull: full})
		var policies []*stint.Policy
		for i, a := range algorithms() {
			policies = append(policies, named(t, fmt.Sprint("p", i), stint.Limit{Count: 5, Window: time.Hour}, a))
		}
		most := int64(0)
		for i := range 60_000 {
			askOne(t, s, policies[i%len(policies)], fmt.Sprint("k", i), start+stint.Micros(i), 1)
			most = max(most, s.Stats().Memory)
		}
		checkStructure(t, s)
		st := s.Stats()
		if most > bound+100_000 {
			t.Errorf("%d: %d bytes, at most %d and the growth of a segment", full, most, bound)
		}
		if st.Buckets < bound/100 {
			t.Errorf("%d: %+v: only few buckets in the bytes", full, st)
		}
	}
}

// TestASmallTableKeepsItsBucketsInShortMemory: a flood of new keys fills the memory
// with buckets near their reset; those of another name, far from theirs and over their
// limit, must stay.
func TestASmallTableKeepsItsBucketsInShortMemory(t *testing.T) {
	s := open(t, Options{MaxMemory: 500_000})
	flood := named(t, "flood", stint.Limit{Count: 5, Window: time.Minute}, algo.TokenBucket)
	login := named(t, "login", stint.Limit{Count: 5, Window: time.Hour}, algo.TokenBucket)
	for i := range 200 {
		askOne(t, s, login, fmt.Sprint("k", i), start, 5)
	}
	for i := range 100_000 {
		askOne(t, s, flood, fmt.Sprint("k", i), start+stint.Micros(i), 1)
	}
	for i := range 200 {
		if askOne(t, s, login, fmt.Sprint("k", i), start+100_000, 1).OK {
			t.Errorf("key %d, over its limit, was evicted", i)
		}
	}
	if st := s.Stats(); st.Buckets < 8000 || st.EvictedInUse < 80_000 {
		t.Errorf("%+v", st)
	}
}

// TestMemoryComesBack lets everything expire.
func TestMemoryComesBack(t *testing.T) {
	for _, a := range algorithms() {
		s := open(t, Options{})
		p := named(t, "p", stint.Limit{Count: 5, Window: time.Second}, a)
		for i := range 20_000 {
			askOne(t, s, p, fmt.Sprint("k", i), start, 1)
		}
		peak := s.Stats().Memory
		s.Sweep(start + 10_000_000)
		if st := s.Stats(); st.Buckets != 0 || st.Memory > peak/20 {
			t.Errorf("%s: %+v after %d bytes", a.Name(), st, peak)
		}
	}
}
