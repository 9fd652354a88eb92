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

// takeOne settles a single charge of a table of cells, the usual case, without a
// list of charges. ok is false for all others. It is one long function because a
// call costs as much as what it does here.
func (s *Store) takeOne(given stint.Micros, p *stint.Policy, hash uint64, ask stint.Ask) (now stint.Micros, v stint.Verdict, ok bool) {
	if s.full == RefuseNew || !keepable(given) {
		return 0, v, false
	}
	now = given
	if given == 0 {
		now = s.clock()
	}
	h, g := s.lock(p, hash, now)
	cells := h.table.cells
	if cells == nil {
		g.mu.Unlock()
		return 0, v, false
	}
	if given == 0 {
		now = max(now, g.last) // Somebody who read the clock later may have been first.
		g.last = now
	}
	i := g.find(hash)
	var before, after stint.Cell
	newer := false
	if i >= 0 {
		before, newer = h.under(g.cell(i), g.tag(i), now)
	}
	after, v = cells.Take(before, &h.policy.Params, now, ask)
	crowded := false
	switch {
	case after == before && (ask.Cost == 0 || i < 0 || g.tag(i) == h.tag || !v.OK && !newer):
	case i >= 0 && ask.Cost > 0:
		g.setCell(i, h.tag, after)
	default:
		s.put(g, i, put{tag: h.tag, hash: hash, state: state{cell: after}, now: now})
		crowded = g.crowded()
	}
	g.mu.Unlock()
	if crowded {
		h.table.split(g)
	}
	return now, v, true
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
	now, err := s.takeAll(sc, now, sc.charge[:], sc.verdict[:])
	return now, sc.verdict[0], err
}

// lock finds the policy's home and locks the segment of hash there.
func (s *Store) lock(p *stint.Policy, hash uint64, now stint.Micros) (*home, *segment) {
	for {
		h := s.home(p, now)
		g := h.table.segment(hash)
		g.lock()
		if !g.gone {
			return h, g
		}
		g.mu.Unlock()
	}
}

// under returns a bucket that was counted under the variant called tag as h's
// policy counts it: until the policy was first used under the limit of the last
// charge, from then on under its own. newer says that this is after the last charge.
// Then also a refusal keeps the bucket carried over, since what it promises counts
// from there. Otherwise a refusal leaves it as it was, or limits in turn on one
// bucket would forgive it more and more.
func (h *home) under(c stint.Cell, tag int64, now stint.Micros) (as stint.Cell, newer bool) {
	if tag == h.tag {
		return c, false
	}
	view, _ := h.table.cells.Convert(c, &h.table.variant(tag).Params, &h.policy.Params)
	return view, false
}

// put is a bucket to write.
type put struct {
	tag  int64 // the variant that state is counted under
	hash uint64
	state
	now  stint.Micros
	keep []item // buckets that must not make room for this one
}

// put writes a bucket to slot i of g, or to a new slot if i is below 0. A bucket
// that is worth nothing loses its slot.
func (s *Store) put(g *segment, i int, p put) {
	switch worthless := p.worthless(g.table); {
	case worthless && i >= 0:
		g.remove(i)
		s.live.Add(-1)
	case worthless:
	case i >= 0:
		g.set(i, p.tag, p.state)
	default:
		s.insert(g, p)
	}
}

func (p *put) worthless(t *table) bool {
	if t.lists != nil {
		return len(p.list) == 0
	}
	return t.cells.Expires(p.cell, &t.variant(p.tag).Params) <= p.now
}

// insert makes a slot for a bucket that has none.
func (s *Store) insert(g *segment, p put) {
	// Once would do, had no call before this one found nobody to evict.
	for n := 0; n < 2 && s.full == EvictNearestReset && s.live.Load() >= s.max; n++ {
		s.evict(g, p)
	}
	if g.full() {
		s.live.Add(-int64(g.drop(p.now)))
		if g.roomy() {
			g.reserve(g.more())
		}
	}
	g.add(p.hash, p.tag, p.state)
	s.live.Add(1)
}
