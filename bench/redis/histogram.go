package main

import (
	"math/bits"
	"time"
)

// fine is how many classes there are between a power of two and the next: a time is
// known to a part in sixty-four.
const fine = 6

// histogram counts times by classes, so that what is measured does not pay for
// what is kept of it.
type histogram [64 << fine]uint32

// class is that of a time: of small ones each nanosecond has its own.
func class(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < 1<<fine {
		return int(n)
	}
	shift := bits.Len64(n) - fine - 1
	return (shift+1)<<fine + int(n>>shift) - 1<<fine
}

// floor is the shortest time of a class.
func floor(class int) time.Duration {
	if class < 1<<fine {
		return time.Duration(class)
	}
	shift := class>>fine - 1
	return time.Duration((class&(1<<fine-1) + 1<<fine) << shift)
}

func (h *histogram) add(d time.Duration) { h[class(d)]++ }

// merge adds the counts of another.
func (h *histogram) merge(other *histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// quantile is the time that a part q of all times does not exceed, to within a
// class.
func (h *histogram) quantile(q float64) time.Duration {
	total := uint64(0)
	for _, n := range h {
		total += uint64(n)
	}
	rank, seen := uint64(q*float64(total)), uint64(0)
	for i, n := range h {
		seen += uint64(n)
		if seen > rank {
			return floor(i)
		}
	}
	return 0
}
