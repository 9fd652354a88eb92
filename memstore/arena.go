package memstore

import (
	"math/bits"
	"unsafe"
)

// arena holds the lists of a segment in blocks whose sizes are powers of two.
// Free blocks of one size form a chain through their first words.
type arena struct {
	words []int64
	idle  int       // words of free blocks
	free  [32]int64 // first free block of each size plus 1, 0 if there is none
}

// class is the number of the block size that holds n words.
func class(n int) int { return bits.Len(uint(max(n, 2) - 1)) }

// fits is the smallest size from c on of which there is a free block, 0 if there is
// none.
func (a *arena) fits(c int) int {
	for ; c < len(a.free); c++ {
		if a.free[c] != 0 {
			return c
		}
	}
	return 0
}

func (a *arena) alloc(n int) int64 {
	c := class(n)
	have := a.fits(c)
	if have == 0 {
		return a.extend(1 << c)
	}
	at := a.free[have]
	a.free[have] = a.words[at-1]
	a.idle -= 1 << c
	for have > c { // the upper half is a block of its own
		have--
		a.chain(at-1+1<<have, have)
	}
	return at - 1
}

// extend makes n words at the end.
func (a *arena) extend(n int) int64 {
	at := len(a.words)
	if cap(a.words)-at < n {
		a.words = append(make([]int64, 0, a.grown(n)), a.words...)
	}
	a.words = a.words[:at+n]
	return int64(at)
}

// grown is the capacity of an arena that gets n words more than it has room for.
func (a *arena) grown(n int) int { return len(a.words) + max(n, len(a.words)/8) }

// chain puts a block into the chain of its size.
func (a *arena) chain(at int64, c int) {
	a.words[at] = a.free[c]
	a.free[c] = at + 1
}

func (a *arena) release(at int64, n int) {
	c := class(n)
	a.chain(at, c)
	a.idle += 1 << c
}

// sparse says whether so much of the arena is free that it is worth a rebuild.
func (a *arena) sparse() bool { return a != nil && a.idle > 64 && a.idle > len(a.words)/4 }

// needed is the number of words of blocks that are in use.
func (a *arena) needed() int { return len(a.words) - a.idle }

// size is what the arena holds, in bytes.
func (a *arena) size() int64 { return int64(unsafe.Sizeof(arena{})) + int64(cap(a.words))*8 }

// store writes a list into the log and returns where it begins.
func (g *buckets) store(list []int64) int64 {
	if g.log == nil {
		g.log = new(arena)
	}
	at := g.log.alloc(len(list))
	copy(g.log.words[at:], list)
	return at
}
