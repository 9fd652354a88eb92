package memstore

import (
	"time"
	"unsafe"

	"github.com/stint-dev/stint"
)

// forcedPart is the part of the bounds by which forced charges may pass them in a store
// that refuses new keys. What they charge beyond is not kept.
const forcedPart = 16

// exceeds says whether so many bytes more pass the bound.
func (s *Store) exceeds(need int64) bool { return s.memory.Load()+need > s.maxMemory }

// fits says whether the segment can keep b as it is: a cell that needs no note.
func (g *segment) fits(fresh bool, b *bucket) bool {
	return (!fresh || !g.full()) && g.width >= b.variant.width && b.variant.lists == nil &&
		b.variant.tag != numberless && b.debt == (stint.Debt{})
}

// growth is how many bytes more the segment needs to keep b.
func (g *segment) growth(fresh bool, b *bucket) int64 {
	if g.fits(fresh, b) {
		return 0
	}
	need, width := int64(0), max(g.width, b.variant.width)
	switch {
	case fresh && g.full():
		need = g.slotGrowth(width)
	case width > g.width:
		need = int64(wordsFor(g.room(), width)-cap(g.slots)) * 8
	}
	if b.variant.lists != nil {
		need += g.logGrowth(len(b.list))
	}
	if b.debt != (stint.Debt{}) || b.variant.tag == numberless {
		need += g.noteGrowth()
	}
	return need
}

// slotGrowth is how many bytes the next step of the slots takes.
func (g *segment) slotGrowth(width int) int64 {
	return max(0, int64(wordsFor(g.more(), width)-cap(g.slots))*8)
}

// logGrowth is how many bytes more the log needs for a list of n words.
func (g *segment) logGrowth(n int) int64 {
	words := 1 << class(n)
	if g.log == nil {
		return int64(unsafe.Sizeof(arena{})) + 8*int64(words)
	}
	if g.log.fits(class(n)) != 0 || cap(g.log.words)-len(g.log.words) >= words {
		return 0
	}
	return int64(g.log.grown(words)-cap(g.log.words)) * 8
}

// noteGrowth is how many bytes more a note needs.
func (g *segment) noteGrowth() int64 {
	switch {
	case g.notes == nil:
		return int64(unsafe.Sizeof(notes{}) + unsafe.Sizeof(note{}))
	case g.notes.full():
		return int64(cap(g.notes.all)) * int64(unsafe.Sizeof(note{}))
	}
	return 0
}

// prepare makes the room that growth tells of, but for what is behind the end of the
// log and of the notes.
func (g *segment) prepare(fresh bool, b *bucket) {
	width := max(g.width, b.variant.width)
	switch {
	case fresh && g.full():
		g.rebuild(g.more(), width)
	case width > g.width, b.variant.lists != nil && g.log.sparse() && g.logGrowth(len(b.list)) > 0:
		g.rebuild(g.room(), width)
	}
}

// lacksRoom says whether a store that refuses new keys has no room for what the last
// charge of a request would make of a bucket.
func (s *Store) lacksRoom(items []item, wants *bucket, now stint.Micros) bool {
	it := &items[len(items)-1]
	others := int64(0) // new buckets of the charges before it
	for i := range items[:len(items)-1] {
		if items[i].fresh {
			others++
		}
	}
	for g := it.segment; ; {
		fresh := it.fresh || !it.granted
		tooMany := fresh && s.live.Load()+others >= s.max
		if need := g.growth(fresh, wants); !tooMany && (need == 0 || !s.exceeds(need)) {
			return false
		}
		n := g.drop(now, items)
		if n == 0 {
			return true
		}
		s.live.Add(-int64(n))
		g.shrink()
	}
}

// untilRoom is what a charge is told that a full store refuses: the time until one of
// the neighbours is worth nothing, between a millisecond and a second.
func (g *segment) untilRoom(now stint.Micros) time.Duration {
	wait := time.Second
	for i := range g.all() {
		wait = min(wait, time.Duration(g.expires(i)-now)*time.Microsecond)
	}
	return max(wait, time.Millisecond)
}
