package memstore

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/stint-dev/stint"
)

// variant is a limit that counts buckets of a table. Policies of one name share it if
// their limits are the same: before and after a reload that left the limit alone.
type variant struct {
	table    *table
	cells    stint.CellAlgorithm // nil for a variant of lists
	lists    stint.ListAlgorithm // nil for a variant of cells
	params   stint.Params
	capacity int64
	queues   bool
	width    int // words of a slot, at least
	// tag is the number by which a slot names the variant, below 0 if the table has
	// no number left: then the buckets name it in their notes.
	tag     int64
	retired atomic.Bool // its number is about to be used again
}

const (
	// maxVariants is how many numbers a table gives to its variants.
	maxVariants = 1 << 9
	// numberless is the tag of a variant without a number.
	numberless = -1
)

func newVariant(t *table, p *stint.Policy) *variant {
	v := &variant{table: t, params: p.Params, capacity: p.Capacity(), width: minWidth, tag: numberless}
	_, v.queues = p.Algorithm.(stint.QueueAlgorithm)
	switch a := p.Algorithm.(type) {
	case stint.CellAlgorithm:
		v.cells, v.width = a, 1+a.Words()
	case stint.ListAlgorithm:
		v.lists = a
	}
	return v
}

// same says whether two variants are the same limit.
func (v *variant) same(w *variant) bool {
	return v == w || v.params == w.params && v.cells == w.cells && v.lists == w.lists
}

// counts says whether v is the limit of p.
func (v *variant) counts(p *stint.Policy) bool {
	if v.params != p.Params {
		return false
	}
	if v.lists != nil {
		return stint.Algorithm(v.lists) == p.Algorithm
	}
	return stint.Algorithm(v.cells) == p.Algorithm
}

// stale says whether the policies of v should be given another one.
func (v *variant) stale() bool {
	return v.retired.Load() || v.tag == numberless && v.table.vacant.Load()
}

// renew gives a policy another variant if its own is stale.
func (s *Store) renew(v *variant, p *stint.Policy) *variant {
	if !v.stale() {
		return v
	}
	return s.settle(p)
}

// variant finds or makes the variant of a policy. It may be stale.
func (s *Store) variant(p *stint.Policy) *variant {
	known := p.Home()
	if known != nil && known.Store == stint.Store(s) {
		return known.Counts.(*variant)
	}
	if v, ok := s.shared.Load(p); ok {
		return v.(*variant)
	}
	return s.settle(p)
}

// settle gives a policy its variant.
func (s *Store) settle(p *stint.Policy) *variant {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[p.Name]
	if t == nil {
		t = s.newTable(p.Name)
	}
	v := t.variantOf(p)
	if known := p.Home(); known == nil || known.Store == stint.Store(s) {
		p.SetHome(&stint.Home{Store: s, Counts: v})
	} else { // The policy is also used with another store.
		s.shared.Store(p, v)
	}
	return v
}

// variantOf returns the variant of p's limit, a new one if need be; the store's mu is
// held.
func (t *table) variantOf(p *stint.Policy) *variant {
	known := *t.variants.Load()
	place := -1
	for i, v := range known {
		switch {
		case v == nil:
			place = i
		case !v.retired.Load() && v.counts(p):
			return v
		}
	}
	v := newVariant(t, p)
	switch {
	case place >= 0:
		known = slices.Clone(known)
	case len(known) < maxVariants:
		place, known = len(known), append(slices.Clip(known), nil)
	default:
		t.vacant.Store(false)
		return v
	}
	v.tag = int64(place)
	known[place] = v
	t.variants.Store(&known)
	t.store.memory.Add(int64(unsafe.Sizeof(variant{}) + unsafe.Sizeof(v)))
	return v
}

// retire takes the numbers away that no bucket has, once a table has given out all.
// used says which it saw in a walk over all buckets. It takes two walks: after the
// first no policy gets an unused number any more, and what had it then is seen by the
// second.
func (t *table) retire(used *[maxVariants]bool) {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	known := *t.variants.Load()
	if len(known) < maxVariants {
		return
	}
	left := slices.Clone(known)
	for i, v := range known {
		switch {
		case v == nil || used[i]:
		case v.retired.Load():
			left[i] = nil
			s.memory.Add(-int64(unsafe.Sizeof(variant{}) + unsafe.Sizeof(v)))
		default:
			v.retired.Store(true)
		}
	}
	t.variants.Store(&left)
	t.vacant.Store(slices.Contains(left, nil))
}

// tagged returns the variant that has a number.
func (t *table) tagged(tag int64) *variant { return (*t.variants.Load())[tag] }
