package memstore

import (
	"iter"
	"sync"

	"github.com/stint-dev/stint"
)

const (
	// minSlots is the size of the smallest table. A quarter of the slots stays
	// empty, so that a search that finds nothing ends after some eight of them.
	minSlots = 8
	// splitAt is the number of buckets from which a segment splits.
	splitAt = 2048
	// splitLog is the number of words of lists from which it splits.
	splitLog = 1 << 17
	// tagShift is the first bit of a variant's number in the first word of a
	// bucket, above what an algorithm uses.
	tagShift = 53
	wordMask = int64(1)<<tagShift - 1
)

// segment is a part of a table: an open-addressing table with linear probing. A
// slot is the key's hash, 0 where there is none, and the words of a bucket, of
// which the first holds the number of its variant too.
//
// The home slot of a hash is its lower half, scaled to the number of slots, so
// that a segment can have any size and grow in small steps.
type segment struct {
	id    uint64 // locks are taken in this order
	depth uint8  // how many of the highest bits its hashes share

	mu   sync.Mutex   // guards all below
	gone bool         // split, or moved to another table
	last stint.Micros // the latest reading of the store's clock here
	hand int          // where the search for a bucket to evict goes on
	buckets
}

// spins is how often the lock of a segment is tried before a goroutine goes to sleep
// for it. Locks are held for less than it takes to fall asleep, and the mutex by
// itself does not spin while other goroutines are ready to run.
const spins = 64

// lock locks the segment.
func (g *segment) lock() {
	for range spins {
		if g.mu.TryLock() {
			return
		}
	}
	g.mu.Lock()
}

// buckets are the slots of a segment.
type buckets struct {
	table *table
	width int
	used  int
	slots []int64
	log   arena
}

// count is the number of slots.
func (g *buckets) count() int { return len(g.slots) / g.width }

// start is the index of the home slot of h.
func (g *buckets) start(h uint64) int {
	return int(uint64(uint32(h))*uint64(g.count())>>32) * g.width
}

// next is the index of the slot behind i.
func (g *buckets) next(i int) int {
	if i += g.width; i == len(g.slots) {
		return 0
	}
	return i
}

// find returns the index of h's slot, below 0 if it has none.
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

func (g *buckets) hash(i int) uint64 { return uint64(g.slots[i]) }

func (g *buckets) tag(i int) int64 { return g.slots[i+1] >> tagShift }

// cell returns the bucket at slot i of a table of cells.
func (g *buckets) cell(i int) stint.Cell {
	var c stint.Cell
	if g.table.lists != nil {
		return c
	}
	words := g.slots[i : i+g.width]
	c.At, c.Used = stint.Micros(words[1]&wordMask), words[2]
	if len(words) > 3 {
		c.Prior = words[3]
	}
	return c
}

// set writes the bucket at slot i.
func (g *buckets) set(i int, tag int64, st state) {
	if g.table.lists != nil {
		g.setList(i, tag, st.list)
		return
	}
	g.setCell(i, tag, st.cell)
}

// setCell writes the bucket at slot i of a table of cells.
func (g *buckets) setCell(i int, tag int64, c stint.Cell) {
	words := g.slots[i : i+g.width]
	words[1], words[2] = int64(c.At)|tag<<tagShift, c.Used
	if len(words) > 3 {
		words[3] = c.Prior
	}
}

// add makes a slot for h, which has none, and writes its bucket.
func (g *buckets) add(h uint64, tag int64, st state) {
	if g.full() {
		g.reserve(g.more())
	}
	i := g.start(h)
	for g.slots[i] != 0 {
		i = g.next(i)
	}
	g.slots[i] = int64(h)
	g.used++
	g.set(i, tag, st)
}

// room is how many buckets the slots have room for.
func (g *buckets) room() int { return g.count() / 4 * 3 }

// full says whether add would have to grow.
func (g *buckets) full() bool { return g.used >= g.room() }

// roomy says whether a full segment had better grow than wait for more buckets to
// become worth nothing.
func (g *buckets) roomy() bool { return g.used >= g.room()/4*3 }

// more is the number of buckets to make room for when there is no room left: twice
// as many while the segment is small, up to where it splits.
func (g *buckets) more() int {
	return max(g.used+g.used/4, min(2*g.used, splitAt+1))
}

// crowded says whether the segment should split.
func (g *buckets) crowded() bool {
	return g.used >= splitAt || len(g.log.words) >= splitLog && g.used > 8
}

// reserve gives the segment slots for n buckets and moves what it has.
func (g *buckets) reserve(n int) {
	old := *g
	g.slots = make([]int64, max(minSlots, (n+2)/3*4)*g.width)
	g.used, g.log = 0, arena{}
	for i := range old.all() {
		g.add(old.hash(i), old.tag(i), state{cell: old.cell(i), list: old.list(i)})
	}
}

// remove empties slot i and moves those behind it that had to pass it (Knuth, The
// Art of Computer Programming, volume 3, 6.4, algorithm R).
func (g *buckets) remove(i int) {
	g.freeList(i)
	g.used--
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

// expires is the instant from which the bucket at slot i is worth nothing.
func (g *buckets) expires(i int) stint.Micros {
	t := g.table
	p := t.variant(g.tag(i))
	if t.lists != nil {
		return t.lists.ExpiresList(g.list(i), &p.Params)
	}
	return t.cells.Expires(g.cell(i), &p.Params)
}

// clear marks the segment as gone and lets go of its buckets.
func (g *segment) clear() {
	g.gone, g.slots, g.used, g.log = true, nil, 0, arena{}
}

// drop removes the buckets that are worth nothing at now and returns how many.
func (g *buckets) drop(now stint.Micros) int {
	n := 0
	for i := 0; i < len(g.slots); {
		if g.slots[i] != 0 && g.expires(i) <= now {
			g.remove(i) // what moves up to i is looked at next
			n++
			continue
		}
		i += g.width
	}
	return n
}
