package redisstore

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stint-dev/stint"
)

// group is the charges of a request whose buckets share a slot of the cluster.
type group struct {
	*request
	charges [stint.MaxCharges]uint8 // their places in the request
	part    uint64                  // of the cluster, a bit
	gone    bool                    // the request is no longer ours
}

// groups is a request on a cluster.
type groups struct {
	list     []group
	charges  []stint.Charge
	verdicts []stint.Verdict
}

// parts is how many parts of a cluster are told apart: neighbours among the slots
// live on one server, but for a few parts.
const parts = 64

// Parts implements [stint.PartedStore]. A single server, or one that Sentinels watch,
// is one part. The slots of a cluster are cut into 64 parts, whatever servers they
// live on today.
func (s *Store) Parts(charges []stint.Charge) uint64 {
	if !s.options.Cluster {
		return 1
	}
	var room [128]byte
	var last []byte
	about := uint64(0)
	for i := range charges {
		key := charges[i].Key
		if first := key[:firstPart(key)]; i == 0 || !bytes.Equal(first, last) {
			about |= partOf(slotOf(appendKey(room[:0], "", "", first), ""))
			last = first
		}
	}
	return about
}

// partOf is the part of a slot, as a bit.
func partOf(slot uint16) uint64 { return 1 << (slot / (slots / parts)) }

// takeGroups is Take on a cluster. A script has the buckets of one slot, so the
// charges of each slot are a request of their own. All leave at once; where some
// are refused the others are taken back. So a refused request may for the length of
// a trip hold what it does not get, and never lets more through.
func (s *Store) takeGroups(c *caller, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	g := groups{charges: charges, verdicts: verdicts}
	if err := s.split(&g, now); err != nil {
		return 0, &stint.PartError{Err: err}
	}
	if len(g.list) == 1 {
		return s.settle(c, g.list[0].request, charges, verdicts)
	}
	err := s.sendAll(c, g.list)
	at, readErr := s.readAll(&g, err != nil)
	failed := uint64(0)
	for i := range g.list {
		l := &g.list[i]
		if l.gone || l.err != nil && !isOfCharges(l.err) {
			failed |= l.part
		}
		if !l.gone {
			s.requests.Put(l.request)
		}
	}
	if err = errors.Join(err, readErr); err != nil {
		return 0, &stint.PartError{Parts: failed, Err: err}
	}
	return at, nil
}

// split makes the groups.
func (s *Store) split(g *groups, now stint.Micros) error {
	var key []byte
	for i := range g.charges {
		c := &g.charges[i]
		key = appendKey(key[:0], s.options.Prefix, c.Policy.Name, c.Key)
		slot := slotOf(key, s.options.Prefix)
		at := 0
		for at < len(g.list) && g.list[at].slot != slot {
			at++
		}
		if at == len(g.list) {
			g.list = append(g.list, group{request: s.borrow()})
			g.list[at].slot, g.list[at].now, g.list[at].part = slot, now, partOf(slot)
		}
		l := &g.list[at]
		l.charges[len(l.asks)] = uint8(i)
		if err := s.add(l.request, c); err != nil {
			for j := range g.list {
				s.requests.Put(g.list[j].request)
			}
			return err
		}
	}
	for i := range g.list {
		r := g.list[i].request
		r.asks[len(r.asks)-1].flags |= flagLast
		if len(g.list) > 1 {
			r.split()
		}
	}
	return nil
}

// sendAll sends all groups and waits for their answers. The error is that of the
// caller or of a group that could not leave.
func (s *Store) sendAll(c *caller, list []group) (failed error) {
	for i := range list {
		g := &list[i]
		if err := s.lane(g.slot).add(g.request); err != nil {
			g.err, failed = err, err
			g.state.Store(answered)
			g.done <- struct{}{}
		}
	}
	for i := range list {
		if err := list[i].wait(c); err != nil {
			list[i].gone, failed = true, err
		}
	}
	return failed
}

// readAll reads all answers, and takes back what was taken in vain.
func (s *Store) readAll(g *groups, failed bool) (at stint.Micros, err error) {
	refused := false
	for i := range g.list {
		l := &g.list[i]
		if l.gone {
			continue
		}
		at = max(at, l.at)
		if l.err == nil {
			l.err = l.fault()
		}
		if l.err != nil {
			err = l.err
			continue
		}
		refused = refused || l.refused()
	}
	failed = failed || err != nil
	for i := range g.list {
		l := &g.list[i]
		if l.gone || l.err != nil {
			continue
		}
		took := !l.refused()
		if e := g.read(l, refused); e != nil {
			err = e
		}
		if took && (refused || failed) {
			s.takeBack(l)
		}
	}
	return at, err
}

// read reads the answer of one group.
func (g *groups) read(l *group, refused bool) error {
	took, rest := !l.refused(), l.answer
	for i := range l.asks {
		a := &l.asks[i]
		answer := rest[:a.width]
		rest = rest[a.width:]
		c, v := &g.charges[l.charges[i]], &g.verdicts[l.charges[i]]
		if took && refused && answer[0] == flagOK {
			*v = a.home.look(l.firstAnswer(i), l.at)
			continue
		}
		if !a.home.read(answer, l.at, l.said(i, answer, c.Ask), refused, v) {
			return fmt.Errorf("policy %q: %w", a.home.policy.Name, errDiffers)
		}
	}
	return nil
}

// look reads what a charge that fits is told when another group was refused: of the
// bucket as it was.
func (h *home) look(answer string, at stint.Micros) (v stint.Verdict) {
	if h.cells == nil {
		v = stint.Verdict{Remaining: word(answer, 4), ResetAfter: wait(word(answer, 5)), NextAfter: wait(word(answer, 6))}
	} else {
		_, v = h.cells.Take(cellOf(answer), &h.policy.Params, at, stint.Ask{})
	}
	v.OK, v.RetryAfter = true, 0
	return v
}

// firstAnswer is the answer about the first charge of the group with the bucket of
// the i-th, which met the bucket as it was.
func (l *group) firstAnswer(i int) string {
	rest := l.answer
	for j := range i {
		if l.asks[j].width == l.asks[i].width && string(l.key(j)) == string(l.key(i)) {
			break
		}
		rest = rest[l.asks[j].width:]
	}
	return rest[:l.asks[i].width]
}

// key is the key of the i-th charge.
func (r *request) key(i int) []byte {
	start := 0
	if i > 0 {
		start = r.asks[i-1].end
	}
	return r.keys[start:r.asks[i].end]
}

// takeBack sends what takes the charges of a group back, the last one first.
// Nobody waits for it.
func (s *Store) takeBack(l *group) {
	rest := l.answer
	for i := len(l.asks) - 1; i >= 0; i-- {
		a := &l.asks[i]
		answer := rest[len(rest)-a.width:]
		rest = rest[:len(rest)-a.width]
		if answer[0] != flagOK || a.cost == 0 {
			continue
		}
		r := s.borrow()
		r.slot, r.now, r.orphan = l.slot, l.now, true
		r.keys = append(r.keys, l.key(i)...)
		back := ask{home: a.home, end: len(r.keys), cost: a.cost, width: a.home.width, flags: flagLast | flagBack}
		if a.cost < 0 {
			back.cost, back.flags = a.home.givenBack(answer, l.at, a.cost), flagLast|flagForced
		} else {
			back.taken = a.home.takenAt(answer, l.at, stint.Ask{Cost: a.cost, Forced: a.flags&flagForced != 0})
		}
		r.asks = append(r.asks, back)
		if s.lane(r.slot).add(r) != nil {
			s.requests.Put(r)
		}
	}
}

// takenAt is the instant that a charge was counted at, which is later than at if
// the clock was behind.
func (h *home) takenAt(answer string, at stint.Micros, ask stint.Ask) stint.Micros {
	if h.cells == nil {
		reset := stint.Micros(word(answer, 2)) // a window after the charge
		return at + reset - stint.Micros(h.policy.Limit.Window.Microseconds())
	}
	cell, _ := h.cells.Take(cellOf(answer), &h.policy.Params, at, ask)
	return cell.At
}

// givenBack is how many of -cost units a bucket could take back, or more where it
// was in debt.
func (h *home) givenBack(answer string, at stint.Micros, cost int64) int64 {
	if h.cells == nil {
		return -cost
	}
	v := h.look(answer, at)
	if v.Remaining == 0 {
		return -cost
	}
	return min(-cost, h.policy.Capacity()-v.Remaining)
}
