package memstore

import (
	"iter"

	"github.com/stint-dev/stint"
)

const (
	// look is how many buckets are looked at for one to evict.
	look = 32
	// lookFar is how many are looked at when these are all over their limit.
	lookFar = 4096
)

// rank says how readily a bucket goes.
type rank int

const (
	nobody rank = iota
	overLimit
	inUse
	worthless
)

// victim is a bucket that could go.
type victim struct {
	rank    rank
	segment *segment
	slot    int
	expires stint.Micros
}

// before says whether v goes before w.
func (v victim) before(w victim) bool {
	return v.rank > w.rank || v.rank == w.rank && v.expires < w.expires
}

// evict makes room for one bucket in a full store. It looks at a few buckets of g,
// which is locked, and of segments elsewhere, which are only tried, so that a small
// table does not pay for a large one. If nothing can be had the store grows past
// its bound by one.
func (s *Store) evict(g *segment, p put) {
	best, seen := search(g, look/2, p)
	most := min(lookFar, 2*int(s.live.Load())+look) // a small store is seen as a whole
	for far := range s.around() {
		if best.rank == worthless || best.rank == inUse && seen >= look || seen >= most {
			break
		}
		held := far == g || far == best.segment
		if !held && (far.heldBy(p.keep) || !far.mu.TryLock()) {
			continue
		}
		v, n := search(far, look/2, p)
		seen += n
		if v.rank == nobody || !v.before(best) {
			if !held {
				far.mu.Unlock()
			}
			continue
		}
		if far != best.segment {
			best.letGo(g)
		}
		best = v
	}
	if best.rank != nobody {
		best.segment.throwOut(best)
		if best.segment != g {
			best.segment.shrink()
		}
	}
	best.letGo(g)
}

// letGo unlocks the victim's segment if it is another than g.
func (v victim) letGo(g *segment) {
	if v.rank != nobody && v.segment != g {
		v.segment.mu.Unlock()
	}
}

// around yields the segments of all tables, as many as a search may take, from where
// the last search ended. A search looks at a few buckets of each, so it comes round to
// those of a small store again, and goes on there with the next few.
func (s *Store) around() iter.Seq[*segment] {
	return func(yield func(*segment) bool) {
		tables := *s.list.Load()
		hand := s.hand.Load()
		t, i := int(hand>>32), int(uint32(hand))
		for range lookFar {
			if t >= len(tables) {
				t, i = 0, 0
			}
			d := tables[t].dir.Load()
			if i >= len(d.segments) {
				t, i = t+1, 0
				continue
			}
			g := d.segments[i].Load()
			i = d.behind(i, g)
			if !yield(g) {
				break
			}
		}
		s.hand.Store(uint64(t)<<32 | uint64(i))
	}
}

// heldBy says whether a call that is under way has locked g.
func (g *segment) heldBy(items []item) bool {
	for i := range items {
		if items[i].segment == g {
			return true
		}
	}
	return false
}

// search looks at up to n buckets of g, from where the last search ended, for the
// one that goes most readily. It returns how many it has seen.
func search(g *segment, n int, p put) (best victim, seen int) {
	if g.used == 0 {
		return best, 0
	}
	i := g.hand
	if i >= len(g.slots) || i%g.width != 0 {
		i = 0
	}
	for range g.count {
		if g.slots[i] != 0 && !p.needs(g, g.hash(i)) {
			if v := g.weigh(i, p.now); v.before(best) {
				best = v
			}
			seen++
		}
		if i = g.next(i); best.rank == worthless || seen == n {
			break
		}
	}
	g.hand = i
	return best, seen
}

// needs says whether a bucket belongs to the call under way.
func (p *put) needs(g *segment, hash uint64) bool {
	return hash == p.hash && g == p.segment || g.isAsked(hash, p.keep)
}

// weigh says how readily the bucket at slot i goes.
func (g *segment) weigh(i int, now stint.Micros) victim {
	v := victim{rank: inUse, segment: g, slot: i, expires: g.expires(i)}
	switch {
	case v.expires <= now:
		v.rank = worthless
	case g.spent(i, now):
		v.rank = overLimit
	}
	return v
}

// throwOut evicts a bucket of g.
func (g *segment) throwOut(v victim) {
	g.remove(v.slot)
	s := g.table.store
	s.live.Add(-1)
	s.evicted.Add(1)
	if v.rank != worthless {
		s.evictedInUse.Add(1)
	}
}
