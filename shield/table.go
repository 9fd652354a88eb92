package shield

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// ways is how many refusals a set holds: so many that a set is a cache line.
const ways = 4

// table remembers refusals. It has a fixed number of sets; a bucket has its place
// in one of them. Keys are not kept but two hashes of 64 bits with seeds of their
// own, so that nobody can choose keys that meet.
type table struct {
	seeds [3]maphash.Seed
	sets  []set
}

func newTable(entries int) table {
	return table{
		seeds: [3]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()},
		sets:  make([]set, entries/ways),
	}
}

// bucket names a bucket: a policy's name and the hash of a key.
type bucket struct {
	policy    *stint.Policy
	high, low uint64
	set       *set
}

// bucket returns the bucket of a key.
func (t *table) bucket(p *stint.Policy, key []byte) bucket {
	return t.locate(p, maphash.Bytes(t.seeds[0], key), maphash.Bytes(t.seeds[1], key))
}

// bucketOf is bucket for a string.
func (t *table) bucketOf(p *stint.Policy, key string) bucket {
	return t.locate(p, maphash.String(t.seeds[0], key), maphash.String(t.seeds[1], key))
}

// locate finds the set. It is that of the policy's name, so that a refund finds
// what was refused under another limit of that name.
func (t *table) locate(p *stint.Policy, high, low uint64) bucket {
	n := high ^ maphash.String(t.seeds[2], p.Name)
	return bucket{p, high, low, &t.sets[n&uint64(len(t.sets)-1)]}
}

func (t *table) clear() {
	for i := range t.sets {
		t.sets[i].clear()
	}
}

// set is a few refusals. They are read without a lock and changed under it.
type set struct {
	refusals [ways]atomic.Pointer[refusal]
	mu       sync.Mutex
	turn     atomic.Uint64 // how often something was to be forgotten
	pending  int           // calls under way that refill a bucket
	_        [8]byte
}

// find returns the refusal of a charge that holds at now, or nil.
func (g *set) find(b *bucket, units int64, now time.Duration) *refusal {
	for i := range g.refusals {
		r := g.refusals[i].Load()
		if r != nil && r.low == b.low && r.high == b.high && r.policy == b.policy && r.units == units && now <= r.ends {
			return r
		}
	}
	return nil
}

// keep remembers a refusal that was asked for at turn, unless something was to be
// forgotten since. dropped says that one which had not ended made room.
func (g *set) keep(r *refusal, turn uint64) (kept, dropped bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending > 0 || g.turn.Load() != turn {
		return false, false
	}
	i, old := g.place(r)
	if old != nil && old.is(r) {
		if old.sent > r.sent {
			return false, false
		}
		g.refusals[i].Store(r)
		return true, false
	}
	g.refusals[i].Store(r)
	return true, old != nil && old.ends >= r.received
}

// place finds where r goes: where its like is, else to a free place, else in place
// of the one that ends or has ended first.
func (g *set) place(r *refusal) (at int, old *refusal) {
	for i := range g.refusals {
		o := g.refusals[i].Load()
		if o != nil && o.is(r) {
			return i, o
		}
		if i == 0 || old != nil && (o == nil || o.ends < old.ends) {
			at, old = i, o
		}
	}
	return at, old
}

// is says whether two refusals are about the same charge.
func (r *refusal) is(o *refusal) bool {
	return r.low == o.low && r.high == o.high && r.policy == o.policy && r.units == o.units
}

// begin says that a call begins which may make what is known of b untrue.
func (g *set) begin(b *bucket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending++
	g.drop(b)
}

// end says that the call has ended.
func (g *set) end(b *bucket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending--
	g.drop(b)
}

// forget forgets b.
func (g *set) forget(b *bucket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop(b)
}

// drop removes what is known of b, whatever the limit and the cost. An answer that
// is under way is of an earlier turn.
func (g *set) drop(b *bucket) {
	g.turn.Add(1)
	for i := range g.refusals {
		r := g.refusals[i].Load()
		if r != nil && r.low == b.low && r.high == b.high && r.policy.Name == b.policy.Name {
			g.refusals[i].Store(nil)
		}
	}
}

func (g *set) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn.Add(1)
	for i := range g.refusals {
		g.refusals[i].Store(nil)
	}
}
