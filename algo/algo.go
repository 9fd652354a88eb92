// Package algo is the arithmetic of rate limiting: each algorithm a pure
// function over integers below 2^53, in microseconds, with only + - *, floor
// division, min and max, so that any language with IEEE doubles can repeat it to
// the bit.
//
// Time that steps back is part of every algorithm. A reading a little older than
// the one a bucket was last charged at counts as that one, and waits are
// lengthened by the difference, so that disorder creates no room. A reading that
// is further behind than a spent bucket needs to become worthless means that the
// clock was set back: the bucket is moved to the reading, so that nobody is
// locked out for longer.
package algo

import (
	"time"

	"github.com/stint-dev/stint"
)

// All lists the algorithms a rules file can name. The leaky queue is missing: it
// is a leaky bucket with bounds of its own.
var All = []stint.Algorithm{
	TokenBucket, LeakyBucket, FixedWindow, SlidingWindowCounter, SlidingWindowLog,
}

// ByName returns the algorithm called name. "gcra" is another name of the token
// bucket, whose decisions are the same.
func ByName(name string) (stint.Algorithm, bool) {
	if name == "gcra" {
		return TokenBucket, true
	}
	for _, a := range All {
		if a.Name() == name {
			return a, true
		}
	}
	return nil, false
}

// micros turns a number of microseconds into a duration.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// ceilDiv returns a/b rounded up, for a ≥ 0 and b > 0.
func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
