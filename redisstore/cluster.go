package redisstore

import (
	"context"
	"errors"

	"github.com/stint-dev/stint"
)

// group is the charges of a request whose buckets share a slot of the cluster.
type group struct {
	*request
	charges [stint.MaxCharges]uint8 // their places in the request
	gone    bool                    // the request is no longer ours
}

// groups is a request on a cluster.
type groups struct {
	list     []group
	charges  []stint.Charge
	verdicts []stint.Verdict
}

// takeGroups is Take on a cluster. A script has the buckets of one slot, so the
// charges of each slot are a request of their own. All leave at once; where some
// are refused the others are taken back. So a refused request may for the length of
// a trip hold what it does not get, and never lets more through.
func (s *Store) takeGroups(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	g := groups{charges: charges, verdicts: verdicts}
	if err := s.split(&g, now); err != nil {
		return 0, err
	}
	if len(g.list) == 1 {
		return s.settle(ctx, g.list[0].request, charges, verdicts)
	}
	err := s.sendAll(ctx, g.list)
	at, readErr := s.readAll(&g, err != nil)
	for i := range g.list {
		if !g.list[i].gone {
			s.requests.Put(g.list[i].request)
		}
	}
	return at, errors.Join(err, readErr)
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
		asks := g.list[i].asks
		asks[len(asks)-1].flags |= flagLast
	}
	return nil
}

// sendAll sends all groups and waits for their answers. The error is that of ctx
// or of a group that could not leave.
func (s *Store) sendAll(ctx context.Context, list []group) (failed error) {
	for i := range list {
		g := &list[i]
		if err := s.lane(g.slot).add(g.request); err != nil {
			g.err, failed = err, err
			g.state.Store(answered)
			g.done <- struct{}{}
		}
	}
	for i := range list {
		if err := list[i].wait(ctx); err != nil {
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
			s.takeBack(g, l)
		}
	}
	return at, err
}

// read reads the answer of one group.
func (g *groups) read(l *group, refused bool) error {
	rest := l.answer
	for i := range l.asks {
		a, h := &l.asks[i], l.asks[i].home
		answer := rest[:h.width]
		rest = rest[h.width:]
		c, v := &g.charges[l.charges[i]], &g.verdicts[l.charges[i]]
		if answer[0] == flagOK && refused {
			answer = l.firstAnswer(i)
		}
		if !h.read(answer, l.at, c.Ask, refused, v) {
			return errDiffers
		}
		if h.cells == nil && answer[0] == flagOK && refused && !l.refused() && a.cost > 0 {
			// The script told of the list as it is with the charge.
			v.Remaining = min(v.Remaining+a.cost, h.policy.Capacity())
			v.RetryAfter = 0
		}
	}
	return nil
}

// firstAnswer is the answer about the first charge of the group with the bucket of
// the i-th, which met the bucket as it was.
func (l *group) firstAnswer(i int) string {
	key, rest := l.key(i), l.answer
	for j := range l.asks {
		if string(l.key(j)) == string(key) && l.asks[j].home.width == l.asks[i].home.width {
			return rest[:l.asks[j].home.width]
		}
		rest = rest[l.asks[j].home.width:]
	}
	return ""
}

// key is the key of the i-th charge.
func (r *request) key(i int) []byte {
	start := 0
	if i > 0 {
		start = r.asks[i-1].end
	}
	return r.keys[start:r.asks[i].end]
}

// takeBack sends what takes the charges of a group back. Nobody waits for it.
func (s *Store) takeBack(g *groups, l *group) {
	rest := l.answer
	for i := range l.asks {
		a := &l.asks[i]
		answer := rest[:a.home.width]
		rest = rest[a.home.width:]
		if answer[0] != flagOK || a.cost == 0 {
			continue
		}
		r := s.borrow()
		r.slot, r.now, r.orphan = l.slot, l.now, true
		r.keys = append(r.keys, l.key(i)...)
		back := ask{home: a.home, end: len(r.keys), cost: a.cost, flags: flagLast | flagBack, taken: l.at}
		if a.cost < 0 {
			back.cost, back.flags = a.home.givenBack(answer, l.at, a.cost), flagLast|flagForced
		} else if at := stint.Micros(word(answer, 0)); a.home.cells != nil && at > l.at {
			back.taken = at
		}
		r.asks = append(r.asks, back)
		if s.lane(r.slot).add(r) != nil {
			s.requests.Put(r)
		}
	}
}

// givenBack is how many of -cost units a bucket could take back.
func (h *home) givenBack(answer string, at stint.Micros, cost int64) int64 {
	if h.cells == nil {
		return min(-cost, h.policy.Capacity())
	}
	var v stint.Verdict
	h.read(answer, at, stint.Ask{}, true, &v)
	return min(-cost, h.policy.Capacity()-v.Remaining)
}
