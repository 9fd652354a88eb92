package memstore

import (
	"slices"
	"testing"
	"unsafe"
)

// checkStructure demands that a store that nobody uses is sound.
func checkStructure(t testing.TB, s *Store) {
	t.Helper()
	live := int64(0)
	for _, table := range *s.list.Load() {
		live += checkTable(t, table)
	}
	if got := s.live.Load(); got != live {
		t.Errorf("the store counts %d buckets, its tables hold %d", got, live)
	}
	if got, want := s.memory.Load(), weigh(s); got != want {
		t.Errorf("the store counts %d bytes, its tables hold %d", got, want)
	}
}

// weigh adds up what the tables of a store hold.
func weigh(s *Store) (n int64) {
	for name, t := range s.tables {
		d := t.dir.Load()
		n += tableBytes + int64(len(name)) + d.size()
		for _, v := range *t.variants.Load() {
			if v != nil {
				n += int64(unsafe.Sizeof(*v) + unsafe.Sizeof(v))
			}
		}
		for g := range t.locked() {
			n += int64(unsafe.Sizeof(*g)) + int64(cap(g.slots))*8
			if g.log != nil {
				n += int64(unsafe.Sizeof(*g.log)) + int64(cap(g.log.words))*8
			}
			if g.notes != nil {
				n += int64(unsafe.Sizeof(*g.notes)) + int64(cap(g.notes.all))*int64(unsafe.Sizeof(note{}))
			}
		}
	}
	return n
}

func checkTable(t testing.TB, table *table) (live int64) {
	t.Helper()
	d := table.dir.Load()
	if len(d.segments) != 1<<d.depth {
		t.Fatalf("a directory of depth %d with %d places", d.depth, len(d.segments))
	}
	for i := 0; i < len(d.segments); {
		g := d.segments[i].Load()
		if g.gone || g.depth > d.depth {
			t.Fatalf("place %d of depth %d: a segment of depth %d, gone %v", i, d.depth, g.depth, g.gone)
		}
		places := 1 << (d.depth - g.depth)
		if i%places != 0 {
			t.Fatalf("a segment of %d places begins at %d", places, i)
		}
		for j := range places {
			if d.segments[i+j].Load() != g {
				t.Fatalf("another segment stands in the places from %d on", i)
			}
		}
		checkSegment(t, g, uint64(i/places))
		live += int64(g.used)
		i += places
	}
	return live
}

func checkSegment(t testing.TB, g *segment, prefix uint64) {
	t.Helper()
	n := 0
	for i := range g.all() {
		n++
		h := g.hash(i)
		if h>>(64-g.depth) != prefix {
			t.Errorf("hash %x in the segment of prefix %x, depth %d", h, prefix, g.depth)
		}
		if at := g.find(h); at != i {
			t.Errorf("the bucket at %d of %d is found at %d", i, len(g.slots), at)
		}
		if tag := g.tag(i); tag < 0 || tag > noted || tag < noted && g.table.tagged(tag) == nil {
			t.Errorf("a bucket of variant %d", tag)
			continue
		}
		if b := g.view(i); b.variant.table != g.table || b.variant.width > g.width {
			t.Errorf("a bucket of %d words, or of another table, in a segment of %d", b.variant.width, g.width)
		}
	}
	if n != g.used || g.used > 0 && g.used > g.room() {
		t.Errorf("%d slots are used, %d are counted, room for %d", n, g.used, g.room())
	}
	if g.log != nil {
		checkArena(t, g)
	}
	checkNotes(t, g)
}

// checkArena demands that the blocks of an arena, used and free, fill it exactly.
func checkArena(t testing.TB, g *segment) {
	t.Helper()
	var blocks [][2]int // from, to
	for i := range g.all() {
		if at, v, _ := g.first(i); v.lists != nil {
			blocks = append(blocks, [2]int{int(at), int(at) + 1<<class(int(g.slots[i+2]))})
		}
	}
	idle := 0
	for c, at := range g.log.free {
		for at != 0 && len(blocks) <= len(g.log.words) {
			blocks = append(blocks, [2]int{int(at - 1), int(at-1) + 1<<c})
			idle += 1 << c
			at = g.log.words[at-1]
		}
	}
	slices.SortFunc(blocks, func(a, b [2]int) int { return a[0] - b[0] })
	end := 0
	for _, b := range blocks {
		if b[0] != end {
			t.Fatalf("a block begins at %d, the one before ends at %d", b[0], end)
		}
		end = b[1]
	}
	if end != len(g.log.words) || idle != g.log.idle {
		t.Errorf("the blocks end at %d of %d words; %d are idle, %d are counted", end, len(g.log.words), idle, g.log.idle)
	}
}

// checkNotes demands that each note belongs to one bucket or is free.
func checkNotes(t testing.TB, g *segment) {
	t.Helper()
	owners := make(map[int64]int)
	for i := range g.all() {
		if g.tag(i) == noted {
			owners[g.slots[i+1]&wordMask]++
		}
	}
	if g.notes == nil {
		if len(owners) > 0 {
			t.Error("buckets with notes, and no notes")
		}
		return
	}
	for at := g.notes.free; at != 0 && len(owners) <= len(g.notes.all); at = g.notes.all[at-1].first {
		owners[at-1]++
	}
	for at := range g.notes.all {
		if owners[int64(at)] != 1 {
			t.Errorf("note %d has %d owners", at, owners[int64(at)])
		}
	}
}
