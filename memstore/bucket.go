package memstore

import (
	"github.com/stint-dev/stint"
)

// bucket is a bucket outside of its slot. The zero bucket was never seen.
type bucket struct {
	variant *variant // the one that counted it last
	count
	debt stint.Debt // what that one has let off
}

// count is a cell or a list.
type count struct {
	cell stint.Cell
	list []int64
}

// read makes b the bucket at slot i of g, or the zero bucket if i is below 0. It keeps
// the room of its list.
func (b *bucket) read(g *segment, i int) {
	room := b.list[:0]
	var found bucket
	if i >= 0 {
		found = g.view(i)
	}
	room = append(room, found.list...)
	*b = found
	b.list = room
}

// settle asks b, under the limit v, and says whether b has become another bucket.
// Its list may be changed in place.
func (b *bucket) settle(v *variant, now stint.Micros, ask stint.Ask, said *stint.Verdict) (changed bool) {
	if b.variant == nil || b.variant == v && b.debt == (stint.Debt{}) {
		if changed = v.take(&b.count, now, ask, said); changed {
			b.variant = v
		}
		return changed
	}
	after, debt := b.under(v, now)
	if debt != (stint.Debt{}) && !v.queues {
		ask.MaxDelay = 0 // What is let off must not be booked on top of again.
	}
	changed = v.take(&after, now, ask, said)
	switch {
	case ask.Cost == 0 || v.capacity == 0:
		return false
	case said.OK:
		if debt != (stint.Debt{}) {
			debt = debt.Charge(now, ask.Cost, v.owes(after).Rate)
		}
	case !changed:
		return false
	default:
		debt.At = min(debt.At, now) // The clock was set back.
	}
	*b = bucket{variant: v, count: after, debt: debt}
	return true
}

// take asks a count and says whether it has changed.
func (v *variant) take(c *count, now stint.Micros, ask stint.Ask, said *stint.Verdict) (changed bool) {
	if v.lists == nil {
		before := c.cell
		c.cell, *said = v.cells.Take(before, &v.params, now, ask)
		return c.cell != before
	}
	last := lastOf(c.list)
	c.list, *said = v.lists.TakeList(c.list, &v.params, now, ask)
	if said.OK {
		return ask.Cost != 0 && v.capacity > 0
	}
	return last != lastOf(c.list) // moved, because the clock was set back
}

// lastOf is the instant of the last charge in a list.
func lastOf(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-2]
}

// under is b as v counts it, and the debt to keep beside it. A bucket is worth
// something until both its count and its debt are gone: were one of them left out
// before, a wait that was told from both would not be true.
func (b *bucket) under(v *variant, now stint.Micros) (count, stint.Debt) {
	switch {
	case b.expires() <= now:
		return count{list: b.list[:0]}, stint.Debt{}
	case b.variant.same(v):
		return b.count, b.debt
	}
	seen, whole := b.convert(v)
	if b.debt != (stint.Debt{}) {
		if assumed, _ := v.assume(b.debt); v.owes(assumed).Owed > v.owes(seen).Owed {
			seen = assumed
		}
		return seen, b.debt
	}
	if whole {
		return seen, stint.Debt{}
	}
	return seen, b.variant.owes(b.count)
}

// convert is the count of b as v would have counted it.
func (b *bucket) convert(v *variant) (count, bool) {
	switch {
	case b.variant.cells != v.cells || b.variant.lists != v.lists:
		return v.assume(b.variant.owes(b.count))
	case v.lists != nil:
		return b.count, v.lists.ConvertList(b.list, &b.variant.params, &v.params)
	}
	cell, whole := v.cells.Convert(b.cell, &b.variant.params, &v.params)
	return count{cell: cell}, whole
}

func (v *variant) assume(d stint.Debt) (count, bool) {
	if v.lists != nil {
		list, whole := v.lists.AssumeList(d, &v.params)
		return count{list: list}, whole
	}
	cell, whole := v.cells.Assume(d, &v.params)
	return count{cell: cell}, whole
}

func (v *variant) owes(c count) stint.Debt {
	if v.lists != nil {
		return v.lists.OwesList(c.list, &v.params)
	}
	return v.cells.Owes(c.cell, &v.params)
}

func (v *variant) expires(c count) stint.Micros {
	if v.lists != nil {
		return v.lists.ExpiresList(c.list, &v.params)
	}
	return v.cells.Expires(c.cell, &v.params)
}

// expires is the instant from which b is worth no more than the zero bucket.
func (b *bucket) expires() stint.Micros {
	at := b.variant.expires(b.count)
	if b.debt != (stint.Debt{}) {
		at = max(at, b.debt.Expires())
	}
	return at
}
