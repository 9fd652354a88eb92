package memstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/stint-dev/stint"
)

// A table that has seen too many limits keeps those that most of its buckets are
// counted under. A bucket of another one goes on under a limit that stands in for
// its own until it is asked again: one that forgets no sooner, or its count would be
// gone before its time.

// heirs gives fresh the limits that it keeps of t, and returns for each variant of t
// the one of fresh under which its buckets go on. t.mu is held.
func (t *table) heirs(fresh *table, now stint.Micros) []int64 {
	known, uses := *t.variants.Load(), t.uses(now)
	order := make([]int, len(known))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(uses[b], uses[a]) })
	kept := slices.Clip(*fresh.variants.Load())
	heirs := make([]int64, len(known))
	var dropped []*stint.Policy
	for n, v := range order {
		if n >= maxVariants/2 || uses[v] == 0 {
			dropped = append(dropped, known[v])
			continue
		}
		heirs[v] = int64(len(kept))
		kept = append(kept, known[v])
		t.store.leave(known[v])
	}
	standIn := standIn(dropped)
	for _, v := range order[len(known)-len(dropped):] {
		heirs[v] = int64(len(kept))
		if standIn == nil {
			heirs[v] = nearest(kept, known[v])
		}
	}
	if standIn != nil {
		kept = append(kept, standIn)
	}
	fresh.variants.Store(&kept)
	return heirs
}

// leave makes p forget its home here, which would hold the table of before, and that
// one the tables before it.
func (s *Store) leave(p *stint.Policy) {
	if h := p.Home(); h != nil && h.Store == stint.Store(s) {
		p.SetHome(nil)
	}
}

// uses counts the buckets of each variant that are worth something.
func (t *table) uses(now stint.Micros) []int {
	uses := make([]int, len(*t.variants.Load()))
	for g := range t.all() {
		g.mu.Lock()
		for i := range g.all() {
			if g.expires(i) > now {
				uses[g.tag(i)]++
			}
		}
		g.mu.Unlock()
	}
	return uses
}

// inherit is the bucket at slot i of g under heir, a policy of the same algorithm.
func (t *table) inherit(g *segment, i int, heir *stint.Policy, now stint.Micros) state {
	if t.lists != nil {
		return state{list: g.list(i)}
	}
	c, old := g.cell(i), t.variant(g.tag(i))
	if old.Params != heir.Params {
		c, _ = t.cells.Convert(c, &old.Params, &heir.Params)
	}
	return state{cell: c}
}

// standIn makes a policy that forgets no sooner than any of dropped, or at least has
// the longest window and the most room. It is nil if the algorithm has none.
func standIn(dropped []*stint.Policy) *stint.Policy {
	if len(dropped) == 0 {
		return nil
	}
	var l stint.Limit
	slowest := time.Microsecond // for one unit
	for _, p := range dropped {
		l.Count, l.Window = max(l.Count, p.Capacity()), max(l.Window, p.Limit.Window)
		if n := p.Limit.Count; n > 0 {
			slowest = max(slowest, (p.Limit.Window/time.Duration(n)).Truncate(time.Microsecond)+time.Microsecond)
		}
	}
	p := dropped[0]
	if l.Count > 0 && int64(slowest) <= int64(stint.Never)/l.Count {
		slow := stint.Limit{Count: l.Count, Window: max(l.Window, slowest*time.Duration(l.Count))}
		if p, err := stint.NewPolicy(p.Name, slow, p.Algorithm); err == nil {
			return p
		}
	}
	p, err := stint.NewPolicy(p.Name, l, p.Algorithm)
	if err != nil {
		return nil
	}
	return p
}

// nearest returns the index of the limit that is to stand for p's.
func nearest(kept []*stint.Policy, p *stint.Policy) int64 {
	best := 0
	for i, k := range kept {
		if nearer(k, kept[best], p) {
			best = i
		}
	}
	return int64(best)
}

// nearer says whether a rather than b is to stand for p: one that keeps a count as
// long, then one that has room for it, then the one with the nearest window.
func nearer(a, b, p *stint.Policy) bool {
	return cmp.Or(
		-cmp.Compare(missing(a.Limit.Window, p.Limit.Window), missing(b.Limit.Window, p.Limit.Window)),
		-cmp.Compare(missing(a.Capacity(), p.Capacity()), missing(b.Capacity(), p.Capacity())),
		-cmp.Compare((a.Limit.Window-p.Limit.Window).Abs(), (b.Limit.Window-p.Limit.Window).Abs()),
	) > 0
}

// missing is what have is short of want.
func missing[T int64 | time.Duration](have, want T) T { return max(0, want-have) }
