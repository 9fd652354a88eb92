package redisstore

import (
	"time"

	"github.com/stint-dev/stint"
)

// takeAllBack undoes what groups have done in vain. What was given at the last stage
// stays so: all had agreed, and it is nothing that was taken for this request.
func (s *Store) takeAllBack(list []group) {
	for i := range list {
		l := &list[i]
		if l.asked && !l.gone && l.err == nil && !l.held && !l.refuses() {
			s.takeBack(l)
		}
	}
}

// takeBack sends what undoes the charges of a group, the last one first. Nobody waits
// for it.
func (s *Store) takeBack(l *group) {
	rest := l.answer
	for i := len(l.asks) - 1; i >= 0; i-- {
		a := &l.asks[i]
		answer := rest[len(rest)-a.width:]
		rest = rest[:len(rest)-a.width]
		n := a.moved(answer, l.at)
		if answer[0] != flagOK || n == 0 || a.cost < 0 && l.stage == giving {
			continue
		}
		r := s.borrow()
		r.slot, r.now, r.orphan = l.slot, l.now, true
		r.keys = append(r.keys, l.key(i)...)
		back := ask{home: a.home, end: len(r.keys), cost: n, width: a.home.width, flags: flagLast | flagForced}
		if a.cost > 0 {
			back.flags = flagLast | flagBack
			back.taken = a.takenAt(answer, l.at)
		}
		r.asks = append(r.asks, back)
		if s.lane(r.slot).add(r) != nil {
			s.requests.Put(r)
		}
	}
}

// asked is what the charge asked its bucket.
func (a *ask) asked(cost int64) stint.Ask {
	return stint.Ask{Cost: cost, Forced: a.flags&flagForced != 0, MaxDelay: time.Duration(a.delay * 1000)}
}

// takenAt is the instant that a charge was counted at, which is later than at if
// the clock was behind.
func (a *ask) takenAt(answer string, at stint.Micros) stint.Micros {
	h := a.home
	if h.cells == nil {
		reset := stint.Micros(word(answer, 2)) // a window after the charge
		return at + reset - stint.Micros(h.policy.Limit.Window.Microseconds())
	}
	cell, _ := h.cells.Take(cellOf(answer), &h.policy.Params, at, a.asked(a.cost))
	return cell.At
}

// moved is how many units the charge took from its bucket or gave to it: the fewest
// that do the same. A refund gives no more than was used, and a forced charge takes no
// more than a bucket can owe.
func (a *ask) moved(answer string, at stint.Micros) int64 {
	most, sign := a.cost, int64(1)
	if most < 0 {
		most, sign = -most, -1
	}
	h := a.home
	switch {
	case most == 0:
		return 0
	case h.cells == nil && sign > 0:
		return most
	case h.cells == nil:
		return min(most, givenToList(answer, h.policy.Capacity(), most))
	}
	cell := cellOf(answer)
	if sign < 0 && h.look(answer, at).Remaining == h.policy.Capacity() {
		return 0
	}
	whole, _ := h.cells.Take(cell, &h.policy.Params, at, a.asked(a.cost))
	least := int64(1)
	for least < most {
		n := least + (most-least)/2
		if c, _ := h.cells.Take(cell, &h.policy.Params, at, a.asked(sign*n)); c == whole {
			most = n
		} else {
			least = n + 1
		}
	}
	return least
}

// givenToList is how many of most units a list took back. What it owes beyond its
// capacity it does not tell; where all of it was forgiven that stays so.
func givenToList(answer string, capacity, most int64) int64 {
	before, after := word(answer, 4), word(answer, 0)
	if after < capacity {
		return most
	}
	return capacity - before
}
