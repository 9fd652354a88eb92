package memstore

import (
	"iter"
	"sync/atomic"
)

// firstDepth makes 64 segments for a new table, so that its locks are apart from
// the start; maxDepth bounds the directory.
const (
	firstDepth = 6
	maxDepth   = 24
)

// directory finds the segment of a hash by the hash's highest depth bits. A
// segment of a smaller depth stands at several places.
type directory struct {
	depth    uint8
	segments []atomic.Pointer[segment]
}

func newDirectory(t *table) *directory {
	d := &directory{depth: firstDepth, segments: make([]atomic.Pointer[segment], 1<<firstDepth)}
	for i := range d.segments {
		d.segments[i].Store(t.newSegment(firstDepth))
	}
	return d
}

func (t *table) newSegment(depth uint8) *segment {
	return &segment{id: t.store.ids.Add(1), depth: depth, buckets: buckets{table: t, width: t.width}}
}

// segment returns the segment of h. By the time its lock is had it may be gone;
// then the caller asks again.
func (t *table) segment(h uint64) *segment {
	d := t.dir.Load()
	return d.segments[h>>(64-d.depth)].Load()
}

// all yields every segment once; splits meanwhile may hide some.
func (t *table) all() iter.Seq[*segment] {
	return func(yield func(*segment) bool) {
		d := t.dir.Load()
		for i := 0; i < len(d.segments); {
			g := d.segments[i].Load()
			if !yield(g) {
				return
			}
			i = d.behind(i, g)
		}
	}
}

// behind is the place behind those of g, which stands at i.
func (d *directory) behind(i int, g *segment) int {
	return (i | (1<<(d.depth-min(g.depth, d.depth)) - 1)) + 1
}

// split replaces a crowded segment by two.
func (t *table) split(g *segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone || !g.crowded() || g.depth >= maxDepth {
		return
	}
	depth := g.depth + 1
	low, high := t.newSegment(depth), t.newSegment(depth)
	low.last, high.last = g.last, g.last
	low.reserve(splitAt + 1)
	high.reserve(splitAt + 1)
	for i := range g.all() {
		h := g.hash(i)
		half := low
		if h>>(64-depth)&1 == 1 {
			half = high
		}
		half.add(h, g.tag(i), state{cell: g.cell(i), list: g.list(i)})
	}
	t.publish(low, high, g)
	g.clear()
}

// publish puts two halves in the place of g; t.mu is held.
func (t *table) publish(low, high, g *segment) {
	d := t.dir.Load()
	if g.depth == d.depth {
		wide := &directory{depth: d.depth + 1, segments: make([]atomic.Pointer[segment], 2*len(d.segments))}
		for i := range wide.segments {
			wide.segments[i].Store(d.segments[i/2].Load())
		}
		t.dir.Store(wide)
		d = wide
	}
	for i := range d.segments {
		if d.segments[i].Load() != g {
			continue
		}
		half := low
		if i>>(d.depth-low.depth)&1 == 1 {
			half = high
		}
		d.segments[i].Store(half)
	}
}
