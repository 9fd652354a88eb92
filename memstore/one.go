package memstore

import "github.com/stint-dev/stint"

// takeOne settles a single charge of a table of cells, the usual case, without a
// list of charges. ok is false for a table of lists.
func (s *Store) takeOne(given stint.Micros, c *stint.Charge, v *stint.Verdict) (now stint.Micros, ok bool) {
	now = given
	if given == 0 {
		now = s.clock()
	}
	hash := s.hash(c.Key)
	h, g := s.lock(c.Policy, hash, now)
	if h.table.cells == nil {
		g.mu.Unlock()
		return 0, false
	}
	if given == 0 {
		if now < g.last {
			now = max(s.clock(), g.last)
		}
		g.last = now
	}
	i := g.find(hash)
	var before, after stint.Cell
	switch {
	case i >= 0:
		before = g.cellUnder(i, h, now)
	case s.full == RefuseNew && s.refuseNew(g, c.Ask, now, v):
		g.mu.Unlock()
		return now, true
	}
	after, *v = h.table.cells.Take(before, &h.policy.Params, now, c.Ask)
	switch {
	case after == before:
	case i >= 0 && c.Cost > 0:
		g.set(i, h.tag, state{cell: after})
	default:
		s.put(g, i, put{home: h, hash: hash, state: state{cell: after}, now: now})
	}
	crowded := g.crowded()
	g.mu.Unlock()
	if crowded {
		h.table.split(g)
	}
	return now, true
}

// lock finds the policy's home and locks the segment of hash there.
func (s *Store) lock(p *stint.Policy, hash uint64, now stint.Micros) (*home, *segment) {
	for {
		h := s.home(p, now)
		g := h.table.segment(hash)
		g.mu.Lock()
		if !g.gone {
			return h, g
		}
		g.mu.Unlock()
	}
}

// cellUnder returns the bucket at slot i, counted under h's policy from now on.
func (g *segment) cellUnder(i int, h *home, now stint.Micros) stint.Cell {
	c := g.cell(i)
	if tag := g.tag(i); tag != h.tag {
		c = h.table.cells.Carry(c, &h.table.variant(tag).Params, &h.policy.Params, now)
		g.set(i, h.tag, state{cell: c})
	}
	return c
}

// put is a bucket to write.
type put struct {
	home *home
	hash uint64
	state
	now  stint.Micros
	keep []item // buckets that must not make room for this one
}

// put writes a bucket to slot i of g, or to a new slot if i is below 0. A bucket
// that is worth nothing loses its slot.
func (s *Store) put(g *segment, i int, p put) {
	switch worthless := p.worthless(); {
	case worthless && i >= 0:
		g.remove(i)
		s.live.Add(-1)
	case worthless:
	case i >= 0:
		g.set(i, p.home.tag, p.state)
	default:
		s.insert(g, p)
	}
}

func (p *put) worthless() bool {
	if p.home.table.lists != nil {
		return len(p.list) == 0
	}
	return p.home.table.cells.Expires(p.cell, &p.home.policy.Params) <= p.now
}

// insert makes a slot for a bucket that has none.
func (s *Store) insert(g *segment, p put) {
	if s.live.Load() >= s.max {
		s.evict(g, p)
	}
	if g.full() {
		s.live.Add(-int64(g.drop(p.now)))
		if g.roomy() {
			g.reserve(g.used + g.used/4)
		}
	}
	g.add(p.hash, p.home.tag, p.state)
	s.live.Add(1)
}
