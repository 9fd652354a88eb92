package memstore

import (
	"iter"
	"unsafe"
)

// minSlots is the size of the smallest table. A quarter of the slots stays empty, so
// that a search that finds nothing ends after some eight of them.
const minSlots = 8

// buckets is an open-addressing table with linear probing. A slot is the key's hash,
// 0 where there is none, and two or three words. The first one also holds the number of
// the variant that counted the bucket. The words are those of a cell; or, for a list,
// where it begins in the log and how many words it has.
//
// A bucket with a debt, or of a variant without a number, has a note: then its first
// word is the note's place, and the note keeps that word.
//
// The home slot of a hash is its lower half, scaled to the number of slots, so
// that a segment can have any size and grow in small steps.
type buckets struct {
	table *table
	width int  // words of a slot
	count int  // slots
	used  int  // slots that are used
	moves uint // grows when buckets move to other slots
	slots []int64
	log   *arena // nil while there are no lists
	notes *notes // nil while there are none
}

// start is the index of the home slot of h.
func (g *buckets) start(h uint64) int {
	return int(uint64(uint32(h))*uint64(g.count)>>32) * g.width
}

// next is the index of the slot behind i.
func (g *buckets) next(i int) int {
	if i += g.width; i == len(g.slots) {
		return 0
	}
	return i
}

// find returns the index of h's slot, below 0 if it has none. It is good until moves
// changes.
func (g *buckets) find(h uint64) int {
	if g.used == 0 {
		return -1
	}
	for i := g.start(h); ; i = g.next(i) {
		switch g.slots[i] {
		case int64(h):
			return i
		case 0:
			return -1
		}
	}
}

// add makes a slot for h, which has none, and writes its bucket.
func (g *buckets) add(h uint64, b *bucket) {
	g.fill(g.place(h), b)
}

// place makes a slot for h, which has none.
func (g *buckets) place(h uint64) int {
	if g.full() {
		g.rebuild(g.more(), g.width)
	}
	i := g.vacant(h)
	g.slots[i] = int64(h)
	g.used++
	return i
}

// vacant is the index of the slot that h would get.
func (g *buckets) vacant(h uint64) int {
	i := g.start(h)
	for g.slots[i] != 0 {
		i = g.next(i)
	}
	return i
}

// adopt copies the bucket at slot i of old, of which g has none of the hash and no
// less width. There is room for it.
func (g *buckets) adopt(old *buckets, i int) {
	at := g.vacant(old.hash(i))
	g.used++
	if old.log == nil && old.notes == nil && old.width == g.width {
		copy(g.slots[at:at+g.width], old.slots[i:i+g.width])
		return
	}
	g.slots[at] = old.slots[i]
	b := old.view(i)
	g.fill(at, &b)
}

// room is how many buckets the slots have room for.
func (g *buckets) room() int { return g.count / 4 * 3 }

// full says whether add would have to grow.
func (g *buckets) full() bool { return g.used >= g.room() }

// roomy says whether a full segment had better grow than wait for more buckets to
// become worth nothing.
func (g *buckets) roomy() bool { return g.used >= g.room()/4*3 }

// more is the number of buckets to make room for when there is no room left.
func (g *buckets) more() int { return g.after(g.used) }

// after is the number of buckets to make room for where there are n: twice as many
// while they are few, and half as many more up to where the segment splits.
func (g *buckets) after(n int) int {
	switch {
	case n < splitAt/4:
		return 2 * n
	case n < splitAt:
		return min(n+n/2, splitAt+1)
	}
	return n + n/4
}

// wordsFor is the number of words of slots that n buckets of a width need.
func wordsFor(n, width int) int { return max(minSlots, (n+2)/3*4) * width }

// allocate makes empty slots for n buckets.
func (g *buckets) allocate(n, width int) {
	slots := rounded(wordsFor(n, width))
	g.count, g.width, g.used = cap(slots)/width, width, 0
	g.slots = slots[:g.count*width]
	g.log, g.notes = nil, nil
	g.moves++
}

// rounded makes a slice of at least n words, and of all that the allocator gives for
// it: whole pages where it is large, and otherwise what append makes of it.
func rounded(n int) []int64 {
	const page, large = 8192 / 8, 32768 / 8
	if n > large {
		return make([]int64, (n+page-1)/page*page)
	}
	words := append([]int64(nil), make([]int64, n)...)
	clear(words[n:cap(words)])
	return words[:cap(words)]
}

// rebuild gives the segment slots for n buckets, at least those that it has, moves
// these there, and gives back what was free in the log and the notes.
func (g *buckets) rebuild(n, width int) {
	old := *g
	g.allocate(max(n, old.used), width)
	if old.log != nil {
		g.log = &arena{words: make([]int64, 0, old.log.needed())}
	}
	for i := range old.all() {
		g.adopt(&old, i)
	}
}

// widest is the width that the buckets need.
func (g *buckets) widest() int {
	if g.width == minWidth {
		return minWidth
	}
	width := minWidth
	for i := range g.all() {
		_, v, _ := g.first(i)
		width = max(width, v.width)
	}
	return width
}

// remove empties slot i and moves those behind it that had to pass it (Knuth, The
// Art of Computer Programming, volume 3, 6.4, algorithm R).
func (g *buckets) remove(i int) {
	g.vacate(i)
	g.used--
	g.moves++
	for j := g.next(i); g.slots[j] != 0; j = g.next(j) {
		if k := g.start(uint64(g.slots[j])); g.distance(k, j) >= g.distance(i, j) {
			copy(g.slots[i:i+g.width], g.slots[j:j+g.width])
			i = j
		}
	}
	clear(g.slots[i : i+g.width])
}

// distance is the number of words from i on to j, around the end.
func (g *buckets) distance(i, j int) int {
	if j < i {
		return j - i + len(g.slots)
	}
	return j - i
}

// all yields the indexes of used slots. The caller must not add or remove.
func (g *buckets) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < len(g.slots); i += g.width {
			if g.slots[i] != 0 && !yield(i) {
				return
			}
		}
	}
}

// empty gives all slots back.
func (g *buckets) empty() {
	g.slots, g.count, g.used, g.log, g.notes, g.width = nil, 0, 0, nil, nil, minWidth
	g.moves++
}

// size is what the buckets hold, in bytes.
func (g *buckets) size() int64 {
	n := int64(cap(g.slots)) * 8
	if g.log != nil {
		n += g.log.size()
	}
	if g.notes != nil {
		n += int64(unsafe.Sizeof(notes{})) + int64(cap(g.notes.all))*int64(unsafe.Sizeof(note{}))
	}
	return n
}
