package redisstore

import (
	"bytes"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// stage is when a group is asked.
type stage uint8

const (
	// taking: what is taken can be taken back. All such groups leave at once.
	taking stage = iota
	// mixed: the charges of a bucket may be refused, and could not be undone. Such
	// groups leave one after the other.
	mixed
	// giving: no charge can be refused. All such groups leave at once when the others
	// have agreed.
	giving
)

// stagesOf finds the stage of each charge: that of its bucket, whose charges stay in
// one group. In a request of one tag, which has one slot, all have the same.
func stagesOf(charges []stint.Charge, stages *[stint.MaxCharges]stage) {
	later, apart := false, false
	tag := charges[0].Key[:firstPart(charges[0].Key)]
	for i := range charges {
		c := &charges[i]
		later = later || isLater(c)
		apart = apart || !bytes.Equal(c.Key[:firstPart(c.Key)], tag)
	}
	if !later || !apart {
		return
	}
	for i := range charges {
		stages[i] = stageOf(charges, &charges[i])
	}
}

// isLater says whether a charge waits for its stage: what is given back may be used by
// others at once, and a forced charge may leave a list that has no room for it as one
// that cannot be told from others before.
func isLater(c *stint.Charge) bool { return c.Cost < 0 || c.Forced }

// stageOf is the stage of the bucket of c.
func stageOf(charges []stint.Charge, c *stint.Charge) stage {
	later, refuses := false, false
	for i := range charges {
		other := &charges[i]
		if other.Policy.Name == c.Policy.Name && bytes.Equal(other.Key, c.Key) {
			later = later || isLater(other)
			refuses = refuses || !isLater(other) && !other.Shadow
		}
	}
	switch {
	case !later:
		return taking
	case refuses:
		return mixed
	}
	return giving
}

// askAll asks the groups in their stages, until one fails. Once one refuses, the
// others only say where they stand.
//
// Where several are mixed all of them say first whether they would agree, beside
// those that take, so that only a request that comes in between can make one refuse
// when another has given.
func (s *Store) askAll(c *caller, list []group) (refused bool, err error) {
	first, several := firstTrip(list)
	if several {
		s.hold(list[:first])
	}
	for n := first; ; n = together(list) {
		if refused {
			n = len(list)
			s.hold(list)
		}
		r, err := s.askSome(c, list[:n])
		refused = refused || r
		if err != nil {
			return refused, err
		}
		if !refused && several {
			n -= release(list[:n])
			several = false
		}
		if list = list[n:]; len(list) == 0 {
			return refused, nil
		}
	}
}

// askSome asks groups at once.
func (s *Store) askSome(c *caller, list []group) (refused bool, err error) {
	err = s.sendAll(c, list)
	for i := range list {
		l := &list[i]
		if l.gone {
			continue
		}
		if l.err == nil {
			l.err = l.fault()
		}
		if l.err != nil {
			err = l.err
			continue
		}
		refused = refused || l.refuses()
	}
	return refused, err
}

// firstTrip is how many groups leave in the first trip, and whether there are several
// mixed ones among them.
func firstTrip(list []group) (n int, several bool) {
	mixes := 0
	for n < len(list) && list[n].stage != giving {
		if list[n].stage == mixed {
			mixes++
		}
		n++
	}
	if mixes < 2 {
		return together(list), false
	}
	return n, true
}

// together is how many of the groups leave at once.
func together(list []group) int {
	n := 1
	for list[0].stage != mixed && n < len(list) && list[n].stage == list[0].stage {
		n++
	}
	return n
}

// newRefuser returns the home of a policy that refuses everything, which holds a group.
func (s *Store) newRefuser() (*home, error) {
	p, err := stint.NewPolicy("hold", stint.Limit{Window: 1e9}, algo.FixedWindow)
	if err != nil {
		return nil, err
	}
	return s.newHome(p)
}

// hold makes groups settle nothing: all that do not only take get a charge that never
// fits, on a bucket of their slot that is never written. Policies have names, that
// one's bucket has none.
func (s *Store) hold(list []group) {
	for i := range list {
		l := &list[i]
		if l.stage == taking || l.held {
			continue
		}
		first := l.key(0)[len(s.options.Prefix):]
		tag := first[:bytes.IndexByte(first, tagClose)+1]
		l.asks[len(l.asks)-1].flags &^= flagLast
		l.keys = append(append(append(l.keys, s.options.Prefix...), tag...), 0)
		l.asks = append(l.asks, ask{
			home: s.refuser, end: len(l.keys), cost: 1, width: s.refuser.width, flags: flagLast | flagSplit,
		})
		l.held = true
	}
}

// release lets groups that were held be asked again, and returns how many they are.
func release(list []group) (n int) {
	for i := range list {
		l := &list[i]
		if !l.held {
			continue
		}
		l.asks = l.asks[:len(l.asks)-1]
		last := &l.asks[len(l.asks)-1]
		last.flags |= flagLast
		l.keys = l.keys[:last.end]
		l.answer, l.held, l.asked = "", false, false
		l.state.Store(waiting)
		n++
	}
	return n
}

// own is the charges of a group without what holds it.
func (l *group) own() []ask {
	if l.held {
		return l.asks[:len(l.asks)-1]
	}
	return l.asks
}

// refuses says whether one of its own charges does not fit.
func (l *group) refuses() bool {
	rest := l.answer
	for i := range l.own() {
		if rest[0] != flagOK && l.asks[i].flags&flagShadow == 0 {
			return true
		}
		rest = rest[l.asks[i].width:]
	}
	return false
}
