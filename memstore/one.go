package memstore

import (
	"context"
	"hash/maphash"

	"github.com/stint-dev/stint"
)

// TakeOne implements [stint.OneStore].
func (s *Store) TakeOne(_ context.Context, now stint.Micros, p *stint.Policy, key string, ask stint.Ask) (stint.Micros, stint.Verdict, error) {
	if len(key) <= stint.MaxKey {
		if at, v, ok := s.takeOne(now, p, max(maphash.String(s.seed, key), 1), ask); ok {
			return at, v, nil
		}
	}
	return s.oneOfMany(now, p, key, ask)
}

// takeOne settles a single charge of a cell that the same limit counted last, the usual
// case, without a list of charges. ok is false for all others. It is one long function
// because a call costs as much as what it does here.
func (s *Store) takeOne(given stint.Micros, p *stint.Policy, hash uint64, ask stint.Ask) (now stint.Micros, said stint.Verdict, ok bool) {
	v := s.variant(p)
	if v.cells == nil || !keepable(given) {
		return 0, said, false
	}
	now = given
	if given == 0 {
		now = s.clock()
	}
	v, g := s.lock(v, p, hash)
	i := g.find(hash)
	if i >= 0 && g.tag(i) != v.tag || i < 0 && (s.full == RefuseNew || v.tag == numberless) {
		g.mu.Unlock()
		return 0, said, false
	}
	if given == 0 {
		now = max(now, g.last) // Another goroutine may already have stored a later time.
		g.last = now
	}
	var before, after stint.Cell
	if i >= 0 {
		before = g.cell(i)
	}
	after, said = v.cells.Take(before, &v.params, now, ask)
	crowded := false
	switch {
	case after == before:
	case i >= 0 && ask.Cost > 0:
		g.setCell(i, v.tag, after)
	default:
		s.put(g, i, put{hash: hash, bucket: &bucket{variant: v, count: count{cell: after}}, now: now})
		crowded = g.crowded()
	}
	if g.waits >= busy {
		crowded = g.crowded()
	}
	g.mu.Unlock()
	if crowded {
		v.table.split(g)
	}
	return now, said, true
}

// oneOfMany is TakeOne as a list of one.
func (s *Store) oneOfMany(now stint.Micros, p *stint.Policy, key string, ask stint.Ask) (stint.Micros, stint.Verdict, error) {
	if err := check(now, len(key)); err != nil {
		return 0, stint.Verdict{}, err
	}
	sc := s.borrow()
	defer s.scratch.Put(sc)
	sc.key = append(sc.key[:0], key...)
	sc.charge[0] = stint.Charge{Policy: p, Key: sc.key, Ask: ask}
	now = s.takeAll(sc, now, sc.charge[:], sc.verdict[:])
	return now, sc.verdict[0], nil
}

// lock locks the segment of hash in the table of the policy's variant, which is v if
// that is not stale.
func (s *Store) lock(v *variant, p *stint.Policy, hash uint64) (*variant, *segment) {
	for {
		g := v.table.segment(hash)
		g.lock()
		if !g.gone && !v.retired.Load() {
			return v, g
		}
		g.mu.Unlock()
		v = s.renew(v, p)
	}
}

// put is a bucket to write.
type put struct {
	hash uint64
	*bucket
	now     stint.Micros
	keep    []item   // buckets that must not make room for this one
	segment *segment // where it is put
	forced  bool     // it may be lost where the store refuses for want of room
}

// put writes a bucket to slot i of g, or to a new one if i is below 0. A bucket that is
// worth nothing loses its slot.
func (s *Store) put(g *segment, i int, p put) {
	p.segment = g
	if p.expires() <= p.now {
		if i >= 0 {
			g.remove(i)
			s.live.Add(-1)
		}
		return
	}
	if i < 0 && !s.makeSlot(g, p) {
		return
	}
	if need := g.growth(i < 0, p.bucket); need > 0 {
		if s.exceeds(need) && !s.makeRoom(g, p, need) {
			return
		}
		g.prepare(i < 0, p.bucket)
		i = g.find(p.hash)
	}
	if i >= 0 {
		g.set(i, p.bucket)
	} else {
		g.add(p.hash, p.bucket)
		s.live.Add(1)
	}
	g.account()
}

// makeSlot sees that the store may keep one more bucket, and drops those of the segment
// that are worth nothing before it grows.
func (s *Store) makeSlot(g *segment, p put) bool {
	if p.forced && s.full == RefuseNew && s.live.Load() >= s.max+s.max/forcedPart+1 {
		return false
	}
	// Once would do, had no call before this one found nothing to evict.
	for n := 0; n < 2 && s.full == EvictNearestReset && s.live.Load() >= s.max; n++ {
		s.evict(g, p)
	}
	if g.full() {
		s.live.Add(-int64(g.drop(p.now, p.keep)))
		if !g.full() && g.roomy() && !s.exceeds(g.slotGrowth(g.width)) {
			g.rebuild(g.more(), g.width)
		}
	}
	return true
}
