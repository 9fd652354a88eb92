// Package memstore keeps buckets in this process.
//
// Each name of policies has a table; a table is split into segments with a lock of
// their own. A segment is an open-addressing table: a keyed 64-bit hash of the key
// and the bucket's words, without pointers, so that no key allocates and the garbage
// collector has next to nothing to walk; the few buckets that need more, such as a
// debt, have a note apart. A segment that grows full splits in two (Fagin et al.,
// Extendible Hashing, 1979), so a call moves a few thousand buckets at most. Only one
// that has to make room in a store that is short of bytes may go through several
// segments.
//
// Keys themselves are not kept. Two keys share a bucket if their 64-bit hashes
// are equal: at ten million keys the chance that any two do is 3 in a million.
package memstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// DefaultMaxBuckets is the bound of a store whose options give none.
const DefaultMaxBuckets = 10_000_000

// Full says what happens to a new key when the store is full.
type Full int

const (
	// EvictNearestReset makes room: of a sample of buckets one that is worth nothing
	// goes, else the one nearest its reset. A bucket over its limit goes last.
	EvictNearestReset Full = iota
	// RefuseNew refuses what needs more room: keys that have no bucket yet and, where
	// memory is short, charges that make a log longer; until a bucket that is worth
	// nothing is dropped: by [Store.Sweep], or because it is a neighbour. Requests
	// that come at once can pass the bound together, by a few buckets. Forced charges
	// are never refused: they may pass the bounds by a sixteenth, and beyond that they
	// pass without being kept.
	RefuseNew
)

// Options of a store. The zero Options are the defaults.
type Options struct {
	// MaxBuckets bounds the number of live buckets over all policies. 0 means
	// DefaultMaxBuckets.
	MaxBuckets int64
	// MaxMemory bounds the bytes that the store holds: buckets, logs and tables. 0 means
	// half of the memory that the process may use: the least of its cgroup's limit, the
	// soft limit of the Go runtime and the memory of the machine, or DefaultMaxMemory
	// where none of them can be told. A request is served whole, so the store may pass
	// the bound by what the requests under way need: some kB each, and up to 300 kB
	// where a log grows to 10,000 entries. Names and limits cannot be evicted: some 700
	// bytes for each name and 150 for each limit.
	MaxMemory int64
	// WhenFull says what happens to a new key when either bound is met.
	WhenFull Full
}

// Store keeps buckets in memory. It is safe for concurrent use and has no
// goroutine of its own: buckets that are worth nothing are dropped when their
// room is needed, and by [Store.Sweep].
type Store struct {
	seed      maphash.Seed
	start     time.Time
	origin    stint.Micros
	max       int64
	maxMemory int64
	full      Full

	mu     sync.Mutex // guards tables and the making of variants
	tables map[string]*table
	list   atomic.Pointer[[]*table] // the values of tables; only grows
	shared sync.Map                 // *stint.Policy → *variant, for policies that several stores count

	ids          atomic.Uint64
	live         atomic.Int64
	memory       atomic.Int64
	evicted      atomic.Int64
	evictedInUse atomic.Int64
	refusedNew   atomic.Int64
	hand         atomic.Uint64 // where the search for a segment to evict from goes on
	scratch      sync.Pool
}

var _ stint.OneStore = (*Store)(nil)

// New returns an empty store. Bounds below 0 are an error.
func New(o Options) (*Store, error) {
	if o.MaxBuckets < 0 {
		return nil, fmt.Errorf("max buckets %d is negative: leave it out for %d", o.MaxBuckets, DefaultMaxBuckets)
	}
	if o.MaxMemory < 0 {
		return nil, fmt.Errorf("max memory %d is negative: leave it out for half of what the process may use", o.MaxMemory)
	}
	if o.MaxBuckets == 0 {
		o.MaxBuckets = DefaultMaxBuckets
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = defaultMaxMemory(os.DirFS("/"), debug.SetMemoryLimit(-1))
	}
	now := time.Now()
	s := &Store{
		seed:      maphash.MakeSeed(),
		start:     now,
		origin:    max(stint.MicrosOf(now), 1),
		max:       o.MaxBuckets,
		maxMemory: o.MaxMemory,
		full:      o.WhenFull,
		tables:    make(map[string]*table),
	}
	s.list.Store(new([]*table))
	return s, nil
}

// Stats are counters of a store.
type Stats struct {
	// Buckets are those kept now; some may be worth nothing already.
	Buckets int64
	// MaxBuckets is the bound.
	MaxBuckets int64
	// Memory is what the store holds, in bytes, without garbage.
	Memory int64
	// MaxMemory is the bound.
	MaxMemory int64
	// Evicted buckets made room for others, EvictedInUse are those of them that
	// still carried counts.
	Evicted, EvictedInUse int64
	// RefusedNew are charges refused because the store was full.
	RefusedNew int64
}

// Stats returns the counters now.
func (s *Store) Stats() Stats {
	return Stats{
		Buckets: s.live.Load(), MaxBuckets: s.max,
		Memory: s.memory.Load(), MaxMemory: s.maxMemory,
		Evicted: s.evicted.Load(), EvictedInUse: s.evictedInUse.Load(),
		RefusedNew: s.refusedNew.Load(),
	}
}

// clock is the store's own: the wall clock at the start plus what the monotonic
// clock has counted since, so that it never steps.
func (s *Store) clock() stint.Micros {
	return s.origin + stint.Micros(time.Since(s.start)/time.Microsecond)
}

// Take implements [stint.Store]. It never fails for want of memory or time; its
// errors are those of a wrong call.
func (s *Store) Take(_ context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if len(charges) != len(verdicts) || len(charges) > stint.MaxCharges {
		return 0, fmt.Errorf("%d charges and %d verdicts: as many of each, at most %d",
			len(charges), len(verdicts), stint.MaxCharges)
	}
	for i := range charges {
		if err := check(now, len(charges[i].Key)); err != nil {
			return 0, err
		}
	}
	if len(charges) == 1 {
		c := &charges[0]
		if at, v, ok := s.takeOne(now, c.Policy, s.hash(c.Key), c.Ask); ok {
			verdicts[0] = v
			return at, nil
		}
	}
	sc := s.borrow()
	defer s.scratch.Put(sc)
	return s.takeAll(sc, now, charges, verdicts), nil
}

// check refuses what no bucket can keep.
func check(now stint.Micros, key int) error {
	switch {
	case key > stint.MaxKey:
		return fmt.Errorf("key of %d bytes: at most %d", key, stint.MaxKey)
	case !keepable(now):
		return fmt.Errorf("instant %d: microseconds since 1970, below 2^53, or 0 for the store's own clock", now)
	}
	return nil
}

// keepable says whether an instant fits into the word of a bucket.
func keepable(now stint.Micros) bool { return uint64(now) <= uint64(wordMask) }

// hash never returns 0, which marks an empty slot.
func (s *Store) hash(key []byte) uint64 {
	return max(maphash.Bytes(s.seed, key), 1)
}
