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
}

// item is one charge under way.
type item struct {
	home    *home
	hash    uint64
	segment *segment
	twin    *item // an item before it on the same bucket
	before  stint.Cell
	state   // the bucket after the charge
	changed bool
}

// takeAll settles charges together: it locks their segments in order, asks each
// bucket, and writes if all agree.
func (s *Store) takeAll(given stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) stint.Micros {
	now := given
	if given == 0 {
		now = s.clock()
	}
	sc, _ := s.scratch.Get().(*scratch)
	if sc == nil {
		sc = new(scratch)
	}
	items := sc.items[:len(charges)]
	locked := s.lockAll(sc, charges, now)
	if given == 0 {
		now = s.monotonic(now, locked)
	}
	refused := false
	for i := range items {
		s.ask(items, i, charges[i].Ask, now, &verdicts[i])
		refused = refused || !verdicts[i].OK && !charges[i].Shadow
	}
	for i := range items {
		switch it := &items[i]; {
		case refused && verdicts[i].OK:
			it.untouched(now, &verdicts[i])
		case refused && it.twin != nil:
		case it.changed:
			s.put(it.segment, it.segment.find(it.hash), put{it.home, it.hash, it.state, now, items})
		}
	}
	for _, g := range locked {
		crowded := g.crowded()
		g.mu.Unlock()
		if crowded {
			g.table.split(g)
		}
	}
	s.scratch.Put(sc)
	return now
}

// lockAll finds the segments of all charges and locks each once, in the order of
// their ids. If one is gone by then it begins anew.
func (s *Store) lockAll(sc *scratch, charges []stint.Charge, now stint.Micros) []*segment {
	for i := range charges {
		sc.items[i].hash = s.hash(charges[i].Key)
	}
	for {
		locked := sc.locked[:0]
		for i := range charges {
			it := &sc.items[i]
			it.home = s.home(charges[i].Policy, now)
			it.segment = it.home.table.segment(it.hash)
			locked = append(locked, it.segment)
		}
		slices.SortFunc(locked, func(a, b *segment) int { return cmp.Compare(a.id, b.id) })
		locked = slices.Compact(locked)
		gone := false
		for _, g := range locked {
			g.mu.Lock()
			gone = gone || g.gone
		}
		if !gone {
			return locked
		}
		for _, g := range locked {
			g.mu.Unlock()
		}
	}
}

// monotonic is a reading of the store's own clock under the locks of segments.
// One made before the locks were had may be older than that of whoever had one
// before; then the clock is read again.
func (s *Store) monotonic(read stint.Micros, locked []*segment) stint.Micros {
	for _, g := range locked {
		if read < g.last {
			read = max(s.clock(), g.last)
		}
	}
	for _, g := range locked {
		g.last = read
	}
	return read
}

// ask settles the i-th item as if those before it were charged.
func (s *Store) ask(items []item, i int, ask stint.Ask, now stint.Micros, v *stint.Verdict) {
	it := &items[i]
	it.twin, it.changed, it.list = nil, false, it.list[:0]
	for j := range items[:i] {
		if items[j].hash == it.hash && items[j].segment == it.segment {
			it.twin = &items[j]
		}
	}
	slot := it.segment.find(it.hash)
	if slot < 0 && it.twin == nil && s.full == RefuseNew && s.refuseNew(it.segment, ask, now, v) {
		it.before, it.cell = stint.Cell{}, stint.Cell{}
		return
	}
	if it.home.table.lists != nil {
		it.askList(slot, ask, now, v)
		return
	}
	it.before = stint.Cell{}
	switch {
	case it.twin != nil:
		it.before = it.twin.cell
	case slot >= 0:
		it.before = it.segment.cellUnder(slot, it.home, now)
	}
	it.cell, *v = it.home.table.cells.Take(it.before, &it.home.policy.Params, now, ask)
	it.changed = it.cell != it.before || it.twin != nil && it.twin.changed
}

// askList is ask for a table of lists. The item's list is a copy.
func (it *item) askList(slot int, ask stint.Ask, now stint.Micros, v *stint.Verdict) {
	switch {
	case it.twin != nil:
		it.list = append(it.list, it.twin.list...)
	case slot >= 0:
		it.list = append(it.list, it.segment.list(slot)...)
	}
	ahead := len(it.list) > 1 && it.list[len(it.list)-2] > int64(now)
	it.list, *v = it.home.table.lists.TakeList(it.list, &it.home.policy.Params, now, ask)
	it.changed = ask.Cost != 0 && (v.OK || ahead) || it.twin != nil && it.twin.changed
}

// untouched reads the bucket of a charge that fits but was not made, because
// another one of the request was refused.
func (it *item) untouched(now stint.Micros, v *stint.Verdict) {
	p := &it.home.policy.Params
	if it.home.table.cells != nil {
		before := it.before
		for t := it.twin; t != nil; t = t.twin {
			before = t.before
		}
		_, *v = it.home.table.cells.Take(before, p, now, stint.Ask{})
	} else {
		it.list = it.list[:0]
		if slot := it.segment.find(it.hash); slot >= 0 {
			it.list = append(it.list, it.segment.list(slot)...)
		}
		_, *v = it.home.table.lists.TakeList(it.list, p, now, stint.Ask{})
	}
	v.OK, v.RetryAfter = true, 0
}
