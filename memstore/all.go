package memstore

import (
	"cmp"
	"slices"

	"github.com/stint-dev/stint"
)

// scratch is what a call for several charges works with.
type scratch struct {
	items  [stint.MaxCharges]item
	locked [stint.MaxCharges]*segment

	// A single charge that has to go the way of many.
	charge  [1]stint.Charge
	verdict [1]stint.Verdict
	key     []byte
}

func (s *Store) borrow() *scratch {
	if sc, ok := s.scratch.Get().(*scratch); ok {
		return sc
	}
	return new(scratch)
}

// item is one charge under way.
type item struct {
	limit   *variant
	hash    uint64
	segment *segment
	bucket       // after the charge; while it is plain only the cell is good
	slot    int  // where it was, below 0 if it had no slot
	moves   uint // of the segment then
	marks
}

// marks are what is known of an item.
type marks struct {
	plain   bool // its bucket is a cell that limit counts, without a note
	changed bool // since the request began
	granted bool // it has a slot, or will have one
	fresh   bool // it is the charge that needs that slot
	passed  bool // a later item is about the same bucket
	follows bool // an earlier one is
	full    bool // the store has no room for what the limit would let pass
	forced  bool // it was charged by force
}

// takeAll settles charges together: it locks their segments in order, asks each
// bucket, and writes if all agree.
func (s *Store) takeAll(sc *scratch, given stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) stint.Micros {
	now := given
	if given == 0 {
		now = s.clock()
	}
	locked := s.lockAll(sc, charges)
	if given == 0 {
		now = latest(now, locked)
	}
	items := sc.items[:len(charges)]
	refused := false
	for i := range items {
		s.ask(items, i, &charges[i], now, &verdicts[i])
		refused = refused || !verdicts[i].OK && !charges[i].Shadow
	}
	if refused {
		s.refuse(items, charges, verdicts, now)
	} else {
		for i := range items {
			if it := &items[i]; it.changed && !it.passed {
				s.write(it, &charges[i], items, now)
			}
		}
	}
	unlock(locked)
	return now
}

// write puts the bucket of an item where it belongs. The slot that it had is only good
// while nothing in its segment has moved.
func (s *Store) write(it *item, c *stint.Charge, items []item, now stint.Micros) {
	g := it.segment
	if it.slot >= 0 && it.moves == g.moves && c.Cost > 0 {
		if it.plain {
			g.setCell(it.slot, it.limit.tag, it.cell)
			return
		}
		if g.overwrite(it.slot, &it.bucket) {
			return
		}
	}
	it.complete()
	s.put(g, g.find(it.hash), put{hash: it.hash, bucket: &it.bucket, now: now, keep: items, forced: it.forced})
}

// unlock lets go of segments, and only then splits those that are crowded: a split
// waits for the lock of the table, and who has that may wait for one of these.
func unlock(locked []*segment) {
	for i, g := range locked {
		if !g.crowded() {
			locked[i] = nil
		}
		g.mu.Unlock()
	}
	for _, g := range locked {
		if g != nil {
			g.table.split(g)
		}
	}
}

// lockAll finds the segments of all charges and locks each once, in the order of
// their ids. If one is gone by then it begins anew.
func (s *Store) lockAll(sc *scratch, charges []stint.Charge) []*segment {
	items := sc.items[:len(charges)]
	for i := range items {
		items[i].hash = s.hash(charges[i].Key)
	}
	for {
		locked := sc.locked[:0]
		for i := range items {
			it := &items[i]
			if it.limit = s.variant(charges[i].Policy); it.limit.tag == numberless || it.limit.retired.Load() {
				it.limit = s.renew(it.limit, charges[i].Policy)
			}
			it.segment = it.limit.table.segment(it.hash)
			locked = append(locked, it.segment)
		}
		slices.SortFunc(locked, func(a, b *segment) int { return cmp.Compare(a.id, b.id) })
		locked = slices.Compact(locked)
		for _, g := range locked {
			g.lock()
		}
		if !anyGone(items) {
			return locked
		}
		for _, g := range locked {
			g.mu.Unlock()
		}
	}
}

// anyGone says whether a segment was split, or a variant retired, before it was locked.
func anyGone(items []item) bool {
	for i := range items {
		if items[i].segment.gone || items[i].limit.retired.Load() {
			return true
		}
	}
	return false
}

// latest is a reading of the store's own clock under the locks of segments, at least
// as late as any that was used there before.
func latest(read stint.Micros, locked []*segment) stint.Micros {
	for _, g := range locked {
		read = max(read, g.last)
	}
	for _, g := range locked {
		g.last = read
	}
	return read
}

// ask settles the i-th item as if those before it were charged.
func (s *Store) ask(items []item, i int, c *stint.Charge, now stint.Micros, said *stint.Verdict) {
	it := &items[i]
	same := it.last(items[:i])
	it.forced = c.Forced || same != nil && same.forced
	if same == nil && it.askPlain(now, c.Ask, said) {
		if it.slot >= 0 || s.full != RefuseNew {
			return
		}
		it.complete()
	} else {
		it.load(same)
		it.changed = it.settle(it.limit, now, c.Ask, said) || it.changed
	}
	had := it.slot >= 0 || same != nil && same.granted
	it.fresh = !had && it.changed && c.Cost > 0
	it.granted = had || it.fresh
	if s.full == RefuseNew && said.OK && !c.Forced && c.Cost >= 0 && s.refuses(items[:i+1], c.Ask, now) {
		*said, it.full = stint.Verdict{RetryAfter: it.segment.untilRoom(now)}, true
		if c.Shadow {
			it.load(same)
			it.granted, it.fresh = had, false
		}
	}
}

// last returns the last of the items before it that is about the same bucket.
func (it *item) last(before []item) (same *item) {
	it.marks = marks{}
	for j := range before {
		if o := &before[j]; o.about(it) {
			o.passed, it.follows, same = true, true, o
		}
	}
	return same
}

// askPlain asks the bucket in its segment, if it is new or a cell that the limit
// counted last, without a note: the usual case.
func (it *item) askPlain(now stint.Micros, ask stint.Ask, said *stint.Verdict) bool {
	g, v := it.segment, it.limit
	it.slot, it.moves = g.find(it.hash), g.moves
	if it.plain = v.cells != nil && (it.slot < 0 || g.tag(it.slot) == v.tag); !it.plain {
		return false
	}
	var before stint.Cell
	if it.slot >= 0 {
		before = g.cell(it.slot)
	}
	it.cell, *said = v.cells.Take(before, &v.params, now, ask)
	it.changed = it.cell != before
	return true
}

// complete makes the bucket of a plain item whole.
func (it *item) complete() {
	if it.plain {
		it.variant, it.debt, it.list, it.plain = it.limit, stint.Debt{}, it.list[:0], false
	}
}

// load reads the bucket of an item as same has left it, or from its segment.
func (it *item) load(same *item) {
	g := it.segment
	it.slot, it.moves = g.find(it.hash), g.moves
	it.plain, it.changed = false, false
	if same == nil {
		it.read(g, it.slot)
		return
	}
	same.complete()
	it.variant, it.cell, it.debt = same.variant, same.cell, same.debt
	it.list = append(it.list[:0], same.list...)
	it.changed = same.changed
}

// refuses says whether a full store, which refuses new keys, refuses what the limit of
// the last item admits. A look is told what a request of cost 1 would be told.
func (s *Store) refuses(items []item, ask stint.Ask, now stint.Micros) bool {
	it := &items[len(items)-1]
	wants := it.bucket
	switch {
	case ask.Cost > 0 && it.changed:
	case ask.Cost == 0 && !it.granted && it.limit.capacity > 0:
		wants.list = nil
		var said stint.Verdict
		wants.settle(it.limit, now, stint.Ask{Cost: 1}, &said)
	default:
		return false
	}
	if !s.lacksRoom(items, &wants, now) {
		return false
	}
	if ask.Cost > 0 {
		s.refusedNew.Add(1)
	}
	return true
}
