package memstore

import "math/bits"

// listWidth is the width of a slot of a list: the hash, where the list begins in
// the segment's arena, and how many words it has.
const listWidth = 3

// arena holds the lists of a segment in blocks whose sizes are powers of two.
// Free blocks of one size form a chain through their first words.
type arena struct {
	words []int64
	free  [32]int64 // first free block of each size plus 1, 0 if there is none
}

// class is the number of the block size that holds n words.
func class(n int) int { return bits.Len(uint(max(n, 2) - 1)) }

func (a *arena) alloc(n int) int64 {
	c := class(n)
	if at := a.free[c]; at != 0 {
		a.free[c] = a.words[at-1]
		return at - 1
	}
	at := len(a.words)
	a.words = append(a.words, make([]int64, 1<<c)...)
	return int64(at)
}

func (a *arena) release(at int64, n int) {
	c := class(n)
	a.words[at] = a.free[c]
	a.free[c] = at + 1
}

// list returns the list of slot i; it is valid until the next change.
func (g *buckets) list(i int) []int64 {
	if g.table.lists == nil {
		return nil
	}
	at, n := g.slots[i+1]&wordMask, g.slots[i+2]
	return g.log.words[at : at+n]
}

// setList writes the list of slot i, which may be new.
func (g *buckets) setList(i int, tag int64, list []int64) {
	at, n := g.slots[i+1]&wordMask, int(g.slots[i+2])
	if n == 0 || class(n) != class(len(list)) {
		g.freeList(i)
		at = g.log.alloc(len(list))
	}
	copy(g.log.words[at:], list)
	g.slots[i+1], g.slots[i+2] = at|tag<<tagShift, int64(len(list))
}

// freeList gives the block of slot i back.
func (g *buckets) freeList(i int) {
	if g.table.lists == nil || g.slots[i+2] == 0 {
		return
	}
	g.log.release(g.slots[i+1]&wordMask, int(g.slots[i+2]))
	g.slots[i+2] = 0
}
