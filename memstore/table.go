package memstore

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stint-dev/stint"
)

// table keeps the buckets of all policies that share a name, and so counters: a
// limit before and after a reload, the limits of several plans. Each bucket
// carries the number of the variant it was counted under.
type table struct {
	store *Store
	cells stint.CellAlgorithm // nil for a table of lists
	lists stint.ListAlgorithm // nil for a table of cells
	width int                 // words of a slot

	mu       sync.Mutex // guards splits and the growth of the directory
	dir      atomic.Pointer[directory]
	variants atomic.Pointer[[]*stint.Policy] // grown under the store's lock
	moved    atomic.Bool                     // another table has taken over
}

// home is what a store knows of a policy.
type home struct {
	table  *table
	policy *stint.Policy
	tag    int64        // the number of the policy's variant
	since  stint.Micros // when the policy was first used
}

// maxVariants is bounded by the bits that the number of a variant has in a word.
const maxVariants = 1 << 9

// home finds or makes the home of a policy.
func (s *Store) home(p *stint.Policy, now stint.Micros) *home {
	known := p.Home()
	if known != nil && known.Store == stint.Store(s) {
		if h := known.Counts.(*home); !h.table.moved.Load() {
			return h
		}
	} else if h, ok := s.shared.Load(p); ok && !h.(*home).table.moved.Load() {
		return h.(*home)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.settle(p, now)
	if known == nil || known.Store == stint.Store(s) {
		p.SetHome(&stint.Home{Store: s, Counts: h})
	} else {
		s.shared.Store(p, h)
	}
	return h
}

// settle makes the home of p; s.mu is held.
func (s *Store) settle(p *stint.Policy, now stint.Micros) *home {
	t := s.tables[p.Name]
	if t == nil {
		t = s.newTable(p)
		s.publish(p.Name, t)
	}
	tag := t.tagOf(p)
	if tag < 0 {
		t = s.moveOver(t, p, now)
		s.publish(p.Name, t)
		tag = t.tagOf(p)
		s.shared.Clear()
	}
	return &home{table: t, policy: p, tag: tag, since: now}
}

// publish makes t the table of a name; s.mu is held.
func (s *Store) publish(name string, t *table) {
	s.tables[name] = t
	list := slices.Collect(maps.Values(s.tables))
	s.list.Store(&list)
}

func (s *Store) newTable(p *stint.Policy) *table {
	t := &table{store: s}
	switch a := p.Algorithm.(type) {
	case stint.CellAlgorithm:
		t.cells, t.width = a, 1+a.Words()
	case stint.ListAlgorithm:
		t.lists, t.width = a, listWidth
	}
	t.variants.Store(&[]*stint.Policy{p})
	t.dir.Store(newDirectory(t))
	return t
}

// tagOf returns the number of p's variant, a new one if need be. It is below 0 if
// the table can not take p: the algorithm is another, or the numbers are used up.
func (t *table) tagOf(p *stint.Policy) int64 {
	known := *t.variants.Load()
	if known[0].Algorithm != p.Algorithm {
		return -1
	}
	for i, v := range known {
		if v.Params == p.Params {
			return int64(i)
		}
	}
	if len(known) == maxVariants {
		return -1
	}
	grown := append(slices.Clip(known), p)
	t.variants.Store(&grown)
	return int64(len(known))
}

// variant returns the policy a bucket was counted under.
func (t *table) variant(tag int64) *stint.Policy { return (*t.variants.Load())[tag] }

// moveOver makes a table for p and moves the buckets of t there, because the
// algorithm has changed or t has seen too many limits. Calls on t that are under
// way see that their segment is gone and look for the policy's home again.
func (s *Store) moveOver(t *table, p *stint.Policy, now stint.Micros) *table {
	fresh := s.newTable(p)
	to := &home{table: fresh, policy: p, since: now}
	t.moved.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	var heirs []int64
	if t.variant(0).Algorithm == p.Algorithm {
		heirs = t.heirs(fresh, now)
	}
	for g := range t.all() {
		g.mu.Lock()
		at := max(now, g.last)
		for i := range g.all() {
			tag, st := to.tag, state{}
			switch {
			case heirs == nil:
				st = t.use(g, i, to, at)
			case g.expires(i) > at:
				tag = heirs[g.tag(i)]
				st = t.inherit(g, i, fresh.variant(tag), at)
			}
			if !fresh.adopt(tag, g.hash(i), st) {
				s.live.Add(-1)
			}
		}
		g.clear()
		g.mu.Unlock()
	}
	return fresh
}

// state is a bucket outside of its table.
type state struct {
	cell stint.Cell
	list []int64
}

// use expresses the bucket at slot i of g under a policy of another algorithm, at now.
func (t *table) use(g *segment, i int, to *home, now stint.Micros) state {
	old := t.variant(g.tag(i))
	var left int64
	if t.cells != nil {
		_, v := t.cells.Take(g.cell(i), &old.Params, now, stint.Ask{})
		left = v.Remaining
	} else {
		_, v := t.lists.TakeList(slices.Clone(g.list(i)), &old.Params, now, stint.Ask{})
		left = v.Remaining
	}
	used := min(old.Capacity()-left, to.policy.Capacity())
	if used <= 0 {
		return state{}
	}
	force := stint.Ask{Cost: used, Forced: true}
	var st state
	if to.table.cells != nil {
		st.cell, _ = to.table.cells.Take(st.cell, &to.policy.Params, now, force)
	} else {
		st.list, _ = to.table.lists.TakeList(nil, &to.policy.Params, now, force)
	}
	return st
}

// adopt puts a bucket into a table that nobody else knows yet. It reports whether
// there was anything to keep.
func (t *table) adopt(tag int64, h uint64, st state) bool {
	if st.cell == (stint.Cell{}) && len(st.list) == 0 {
		return false
	}
	g := t.segment(h)
	g.add(h, tag, st)
	if g.crowded() {
		t.split(g)
	}
	return true
}
