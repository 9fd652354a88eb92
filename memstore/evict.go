package memstore

import (
	"time"

	"github.com/stint-dev/stint"
)

const (
	// look is how many buckets of a segment are looked at for one to evict.
	look = 64
	// lookFar is how many are looked at elsewhere when these are all over their
	// limit.
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
	slot    int
	expires stint.Micros
}

// evict makes room for one bucket in a full store. g is locked; other segments
// are only tried. If nothing can be had the store grows past its bound by one.
func (s *Store) evict(g *segment, p put) {
	v := s.search(g, look, p)
	if v.rank > overLimit {
		s.throwOut(g, v)
		return
	}
	if s.evictFar(g, p, v.rank == nobody) {
		return
	}
	if v.rank != nobody {
		s.throwOut(g, v)
	}
}

// evictFar looks for a victim in segments other than g, in any table.
func (s *Store) evictFar(g *segment, p put, any bool) bool {
	left := lookFar
	for _, t := range *s.list.Load() {
		for far := range t.all() {
			if left <= 0 {
				return false
			}
			if far == g || far.heldBy(p.keep) || !far.mu.TryLock() {
				continue
			}
			left -= min(far.used, look) + 1
			v := s.search(far, look, p)
			done := v.rank > overLimit || any && v.rank != nobody
			if done {
				s.throwOut(far, v)
			}
			far.mu.Unlock()
			if done {
				return true
			}
		}
	}
	return false
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
// one that goes most readily.
func (s *Store) search(g *segment, n int, p put) victim {
	var best victim
	if g.gone || len(g.slots) == 0 {
		return best
	}
	i := g.hand
	if i >= len(g.slots) {
		i = 0
	}
	for range min(n*2, g.count()) {
		if g.slots[i] != 0 && !needed(p.keep, g, g.hash(i)) {
			if v := g.weigh(i, p.now); v.rank > best.rank || v.rank == best.rank && v.expires < best.expires {
				best = v
			}
		}
		if i = g.next(i); best.rank == worthless {
			break
		}
	}
	g.hand = i
	return best
}

// needed says whether a bucket belongs to the call under way.
func needed(items []item, g *segment, hash uint64) bool {
	for i := range items {
		if items[i].segment == g && items[i].hash == hash {
			return true
		}
	}
	return false
}

// weigh says how readily the bucket at slot i goes.
func (g *segment) weigh(i int, now stint.Micros) victim {
	v := victim{rank: inUse, slot: i, expires: g.expires(i)}
	if v.expires <= now {
		v.rank = worthless
		return v
	}
	p := g.table.variant(g.tag(i))
	var said stint.Verdict
	if g.table.lists != nil {
		// A look does not change the list, unless the clock was set back; then
		// moving it to now is what the next charge would do too.
		_, said = g.table.lists.TakeList(g.list(i), &p.Params, now, stint.Ask{})
	} else {
		_, said = g.table.cells.Take(g.cell(i), &p.Params, now, stint.Ask{})
	}
	if !said.OK {
		v.rank = overLimit
	}
	return v
}

func (s *Store) throwOut(g *segment, v victim) {
	g.remove(v.slot)
	s.live.Add(-1)
	s.evicted.Add(1)
	if v.rank != worthless {
		s.evictedInUse.Add(1)
	}
}

// refuseNew refuses a charge for a key without a bucket while the store is full.
// The wait it names is until one of its neighbours is worth nothing.
func (s *Store) refuseNew(g *segment, ask stint.Ask, now stint.Micros, v *stint.Verdict) bool {
	if ask.Cost <= 0 || s.live.Load() < s.max {
		return false
	}
	if n := g.drop(now); n > 0 {
		s.live.Add(-int64(n))
		return false
	}
	wait := time.Second
	for i := range g.all() {
		wait = min(wait, time.Duration(g.expires(i)-now)*time.Microsecond)
	}
	s.refusedNew.Add(1)
	*v = stint.Verdict{RetryAfter: max(wait, time.Millisecond)}
	return true
}
