package memstore

import "slices"

// lookThin is how many buckets are looked at for memory, twice.
const lookThin = 1 << 15

// makeRoom sees that g may grow by need bytes, and says whether it may. If nothing can
// be had, a store that evicts grows past its bound.
func (s *Store) makeRoom(g *segment, p put, need int64) bool {
	if s.full == RefuseNew {
		return !p.forced || !s.exceeds(need-s.maxMemory/forcedPart)
	}
	// Those over their limit go when all else is gone, or far away.
	for _, least := range []rank{inUse, overLimit} {
		seen := 0
		for far := range s.around() {
			if !s.exceeds(need) {
				return true
			}
			if seen >= lookThin {
				break
			}
			held := far == g
			if !held && (far.heldBy(p.keep) || !far.mu.TryLock()) {
				continue
			}
			seen += far.thin(p, least, need)
			if !held {
				far.mu.Unlock()
			}
		}
	}
	return true
}

// thin evicts an eighth of the buckets of g, or a half where much is needed, and gives
// their memory back. Those that are worth nothing go all, and of the others those that
// go first, of at least the rank given. A sample says which they are. It returns how
// many it has looked at.
func (g *segment) thin(p put, least rank, need int64) (seen int) {
	part := 8
	if need > g.counts/8 {
		part = 2
	}
	var room [look]victim
	sample := g.sample(room[:0], p)
	if len(sample) == 0 || sample[0].rank < least {
		return len(sample)
	}
	last := sample[(len(sample)-1)/part]
	if last.rank < least {
		last = sample[0]
	}
	seen = g.used
	g.evictUpTo(last, (g.used+part-1)/part, p)
	g.rebuild(g.used+g.used/8, g.widest())
	g.account()
	return seen
}

// sample appends some of the buckets of g, those that go first in front.
func (g *segment) sample(to []victim, p put) []victim {
	step, n := (g.used+look-1)/look, 0
	for i := range g.all() {
		if n++; n%step == 0 && !p.needs(g, g.hash(i)) {
			to = append(to, g.weigh(i, p.now))
		}
	}
	slices.SortFunc(to, func(v, w victim) int {
		switch {
		case v.before(w):
			return -1
		case w.before(v):
			return 1
		}
		return 0
	})
	return to
}

// evictUpTo evicts buckets that go no later than last, most of them in use, and all
// that are worth nothing.
func (g *segment) evictUpTo(last victim, most int, p put) {
	for i := 0; i < len(g.slots); {
		if g.slots[i] == 0 || p.needs(g, g.hash(i)) {
			i += g.width
			continue
		}
		switch v := g.weigh(i, p.now); {
		case v.rank == worthless:
			g.throwOut(v)
		case most > 0 && !last.before(v):
			most--
			g.throwOut(v)
		default:
			i += g.width
		}
	}
}
