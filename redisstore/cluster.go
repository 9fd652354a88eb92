package redisstore

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/stint-dev/stint"
)

// group is the charges of a request that a cluster settles in one call and at one
// stage: their buckets share a slot.
type group struct {
	*request
	charges [stint.MaxCharges]uint8 // their places in the request
	stage   stage
	part    uint64 // of the cluster, a bit
	asked   bool
	gone    bool // the request is no longer ours
	held    bool // a charge that never fits is behind its own
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
// charges of each slot are a request of their own. Those that only take leave at once;
// where some are refused the others are taken back. What gives waits until all that
// can refuse has agreed: it could not be taken back once somebody has used it. So a
// refused request may for the length of a trip hold what it does not get, and never
// lets more through.
func (s *Store) takeGroups(c *caller, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	g := groups{charges: charges, verdicts: verdicts}
	if err := s.split(&g, now); err != nil {
		return 0, &stint.PartError{Err: err}
	}
	if len(g.list) == 1 {
		return s.settle(c, g.list[0].request, charges, verdicts)
	}
	refused, err := s.askAll(c, g.list)
	if err == nil {
		err = g.read(refused)
	}
	if refused || err != nil {
		s.takeAllBack(g.list)
	}
	at, failed := stint.Micros(0), uint64(0)
	for i := range g.list {
		l := &g.list[i]
		if l.gone || l.err != nil && !isOfCharges(l.err) {
			failed |= l.part
		}
		if !l.gone {
			at = max(at, l.at)
			s.requests.Put(l.request)
		}
	}
	if err != nil {
		return 0, &stint.PartError{Parts: failed, Err: err}
	}
	return at, nil
}

// split makes the groups, in the order of their stages.
func (s *Store) split(g *groups, now stint.Micros) error {
	var stages [stint.MaxCharges]stage
	stagesOf(g.charges, &stages)
	var key []byte
	for i := range g.charges {
		c := &g.charges[i]
		key = appendKey(key[:0], s.options.Prefix, c.Policy.Name, c.Key)
		slot := slotOf(key, s.options.Prefix)
		at := 0
		for at < len(g.list) && (g.list[at].slot != slot || g.list[at].stage != stages[i]) {
			at++
		}
		if at == len(g.list) {
			g.list = append(g.list, group{request: s.borrow(), stage: stages[i], part: partOf(slot)})
			g.list[at].slot, g.list[at].now = slot, now
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
	slices.SortStableFunc(g.list, func(a, b group) int { return int(a.stage) - int(b.stage) })
	return nil
}

// sendAll sends groups and waits for their answers. The error is that of the caller or
// of a group that could not leave.
func (s *Store) sendAll(c *caller, list []group) (failed error) {
	for i := range list {
		g := &list[i]
		g.asked = true
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

// read reads all answers.
func (g *groups) read(refused bool) error {
	for i := range g.list {
		if err := g.readOne(&g.list[i], refused); err != nil {
			return err
		}
	}
	return nil
}

// readOne reads the answer of one group. Where one that took is refused with the
// others, it is told of its buckets as they were.
func (g *groups) readOne(l *group, refused bool) error {
	before := refused && !l.held && !l.refuses()
	rest := l.answer
	for i := range l.own() {
		a := &l.asks[i]
		answer := rest[:a.width]
		rest = rest[a.width:]
		c, v := &g.charges[l.charges[i]], &g.verdicts[l.charges[i]]
		if !a.home.read(answer, l.at, l.said(i, answer, c.Ask), refused && !before, v) {
			return fmt.Errorf("policy %q: %w", a.home.policy.Name, errDiffers)
		}
		if before {
			l.readBefore(i, c.MaxDelay, v)
		}
	}
	return nil
}

// readBefore makes the verdict of the i-th charge one of its bucket as it was.
func (l *group) readBefore(i int, delay time.Duration, v *stint.Verdict) {
	h, first := l.asks[i].home, l.firstAnswer(i)
	if v.OK {
		*v = h.look(first, l.at)
		v.OK, v.RetryAfter = true, 0
		return
	}
	// A shadow, since the group took. It keeps the verdict behind the charges before it
	// where all that is wanted fits: one was a shadow too, or a refund that was clamped.
	wanted := l.wanted(i)
	if h.cells != nil {
		_, said := h.cells.Take(cellOf(first), &h.policy.Params, l.at, stint.Ask{Cost: wanted, MaxDelay: delay})
		if !said.OK {
			*v = said
		}
		return
	}
	look := h.look(first, l.at)
	if wanted <= look.Remaining {
		return
	}
	// A list tells one wait, which here may count other shadows.
	if look.RetryAfter = v.RetryAfter; wanted > h.policy.Capacity() {
		look.RetryAfter = stint.Never
	}
	look.OK = false
	*v = look
}

// look reads what a look would be told of the bucket that the answer is about.
func (h *home) look(answer string, at stint.Micros) (v stint.Verdict) {
	if h.cells == nil {
		return stint.Verdict{Remaining: word(answer, 4), ResetAfter: wait(word(answer, 5)), NextAfter: wait(word(answer, 6))}
	}
	_, v = h.cells.Take(cellOf(answer), &h.policy.Params, at, stint.Ask{})
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
