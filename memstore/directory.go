package memstore

import (
	"iter"
	"sync/atomic"
	"unsafe"
)

const (
	// spreadDepth is the depth up to which segments split early, so that the locks of
	// a table are apart from each other: 64 segments.
	spreadDepth = 6
	// maxDepth bounds the directory.
	maxDepth = 24
)

// directory finds the segment of a hash by the hash's highest depth bits. A
// segment of a smaller depth stands at several places.
type directory struct {
	depth    uint8
	segments []atomic.Pointer[segment]
}

func newDirectory(t *table) *directory {
	d := &directory{segments: make([]atomic.Pointer[segment], 1)}
	d.segments[0].Store(t.newSegment(0))
	t.store.memory.Add(d.size())
	return d
}

// size is what the directory holds, in bytes.
func (d *directory) size() int64 {
	return int64(unsafe.Sizeof(directory{})) + int64(len(d.segments))*int64(unsafe.Sizeof(d.segments[0]))
}

func (t *table) newSegment(depth uint8) *segment {
	g := &segment{id: t.store.ids.Add(1), depth: depth, buckets: buckets{table: t, width: minWidth}}
	g.account()
	return g
}

// segment returns the segment of h. By the time its lock is had it may be gone;
// then the caller asks again.
func (t *table) segment(h uint64) *segment {
	d := t.dir.Load()
	return d.segments[h>>(64-d.depth)].Load()
}

// locked yields every segment once, locked. Splits meanwhile hide none: the halves of
// a segment share its part of the hashes.
func (t *table) locked() iter.Seq[*segment] {
	return func(yield func(*segment) bool) {
		for from := uint64(0); ; {
			g := t.segment(from)
			g.mu.Lock()
			if g.gone {
				g.mu.Unlock()
				continue
			}
			more := yield(g)
			from += 1 << (64 - g.depth) // 0 behind the last one
			g.mu.Unlock()
			if from == 0 || !more {
				return
			}
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
	if g.gone || !g.crowded() {
		return
	}
	halves := [2]*segment{t.newSegment(g.depth + 1), t.newSegment(g.depth + 1)}
	var n [2]int
	var hash uint64 // of one of them
	for i := range g.all() {
		hash = g.hash(i)
		n[hash>>(63-g.depth)&1]++
	}
	width := g.widest()
	for i, half := range halves {
		half.last = g.last
		if n[i] > 0 {
			half.allocate(half.after(n[i]), width)
		}
	}
	for i := range g.all() {
		halves[g.hash(i)>>(63-g.depth)&1].adopt(&g.buckets, i)
	}
	for _, half := range halves {
		half.account()
	}
	t.publish(halves, g, hash)
	g.clear()
}

// publish puts two halves in the place of g, to which hash belongs; t.mu is held.
func (t *table) publish(halves [2]*segment, g *segment, hash uint64) {
	d := t.dir.Load()
	if g.depth == d.depth {
		wide := &directory{depth: d.depth + 1, segments: make([]atomic.Pointer[segment], 2*len(d.segments))}
		for i := range wide.segments {
			wide.segments[i].Store(d.segments[i/2].Load())
		}
		t.store.memory.Add(wide.size() - d.size())
		t.dir.Store(wide)
		d = wide
	}
	places := 1 << (d.depth - g.depth)
	first := int(hash>>(64-g.depth)) * places
	for i := range places {
		d.segments[first+i].Store(halves[i/(places/2)])
	}
}
