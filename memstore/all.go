package memstore

import (
	"cmp"
	"fmt"
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
	home    *home
	hash    uint64
	segment *segment
	twin    *item // the last item before it on the same bucket
	state         // the bucket after the charge
	tag     int64 // the variant that state is counted under
	slot    int   // where the bucket is, below 0 if it has no slot yet
	changed bool
}

// takeAll settles charges together: it locks their segments in order, asks each
// bucket, and writes if all agree.
func (s *Store) takeAll(sc *scratch, given stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	now := given
	if given == 0 {
		now = s.clock()
	}
	items := sc.items[:len(charges)]
	locked, err := s.lockAll(sc, charges, now)
	if err != nil {
		return 0, err
	}
	if given == 0 {
		now = latest(now, locked)
	}
	refused := false
	for i := range items {
		s.ask(items, i, charges[i].Ask, now, &verdicts[i])
		refused = refused || !verdicts[i].OK && !charges[i].Shadow
	}
	settled := true // whether all buckets are where they were asked
	for i := range items {
		switch it := &items[i]; {
		case refused && verdicts[i].OK:
			it.untouched(now, &verdicts[i])
		case refused && it.twin != nil:
		case !it.changed:
		case settled && it.slot >= 0 && charges[i].Cost > 0 && it.home.table.cells != nil:
			it.segment.setCell(it.slot, it.tag, it.cell)
		default:
			s.put(it.segment, it.segment.find(it.hash), put{it.tag, it.hash, it.state, now, items})
			settled = false
		}
	}
	unlock(locked)
	return now, nil
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
func (s *Store) lockAll(sc *scratch, charges []stint.Charge, now stint.Micros) ([]*segment, error) {
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
			g.lock()
			gone = gone || g.gone
		}
		if !gone {
			return locked, nil
		}
		for _, g := range locked {
			g.mu.Unlock()
		}
		if err := checkNames(charges); err != nil {
			return nil, err
		}
	}
}

// checkNames refuses charges that would move a table from one algorithm to another
// and back for ever.
func checkNames(charges []stint.Charge) error {
	for i := range charges {
		p := charges[i].Policy
		for j := range charges[:i] {
			if q := charges[j].Policy; q.Name == p.Name && q.Algorithm != p.Algorithm {
				return fmt.Errorf("two policies of one request are called %q and count differently: give each its own name", p.Name)
			}
		}
	}
	return nil
}

// latest is a reading of the store's own clock under the locks of segments. One made
// before the locks were had may be older than that of whoever had one before: then
// that is the time.
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
func (s *Store) ask(items []item, i int, ask stint.Ask, now stint.Micros, v *stint.Verdict) {
	it := &items[i]
	it.twin, it.changed, it.list = nil, false, it.list[:0]
	for j := range items[:i] {
		if items[j].hash == it.hash && items[j].segment == it.segment {
			it.twin = &items[j]
		}
	}
	it.changed = it.twin != nil && it.twin.changed
	slot := it.segment.find(it.hash)
	it.slot = slot
	it.cell, it.tag = stint.Cell{}, it.home.tag
	if slot < 0 && !it.changed && s.full == RefuseNew && s.refuseNew(it.segment, ask, now, v) {
		return
	}
	switch {
	case it.twin != nil:
		it.cell, it.tag = it.twin.cell, it.twin.tag
	case slot >= 0:
		it.cell, it.tag = it.segment.cell(slot), it.segment.tag(slot)
	}
	if it.home.table.lists != nil {
		it.askList(slot, ask, now, v)
		return
	}
	before, newer := it.home.under(it.cell, it.tag, now)
	after, said := it.home.table.cells.Take(before, &it.home.policy.Params, now, ask)
	if *v = said; after != before || ask.Cost != 0 && it.tag != it.home.tag && (said.OK || newer) {
		it.cell, it.tag, it.changed = after, it.home.tag, true
	}
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
	if ask.Cost != 0 && (v.OK || ahead) {
		it.tag, it.changed = it.home.tag, true
	}
}

// untouched reads the bucket of a charge that fits but was not made, because
// another one of the request was refused.
func (it *item) untouched(now stint.Micros, v *stint.Verdict) {
	h, slot := it.home, it.segment.find(it.hash)
	if h.table.cells != nil {
		var before stint.Cell
		if slot >= 0 {
			before, _ = h.under(it.segment.cell(slot), it.segment.tag(slot), now)
		}
		_, *v = h.table.cells.Take(before, &h.policy.Params, now, stint.Ask{})
	} else {
		it.list = it.list[:0]
		if slot >= 0 {
			it.list = append(it.list, it.segment.list(slot)...)
		}
		_, *v = h.table.lists.TakeList(it.list, &h.policy.Params, now, stint.Ask{})
	}
	v.OK, v.RetryAfter = true, 0
}
