package algo

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/stint-dev/stint"
)

// maxWindow is the longest window. Twice as much after an instant of the next
// decades is still below 2^53 microseconds.
const maxWindow = 25_000 * 24 * time.Hour

// checkLimit refuses what no algorithm can count.
func checkLimit(l stint.Limit) error {
	switch {
	case l.Count < 0:
		return fmt.Errorf("limit %d is negative: write 0 to refuse everything", l.Count)
	case l.Burst < 0:
		return fmt.Errorf("burst %d is negative: leave it out for a burst of the limit", l.Burst)
	case l.Window <= 0:
		return fmt.Errorf("window %v must be longer than 0", l.Window)
	case l.Window%time.Microsecond != 0:
		return fmt.Errorf("window %v is not a whole number of microseconds", l.Window)
	case l.Window > maxWindow:
		return fmt.Errorf("window %v is too long: at most %v", l.Window, maxWindow)
	case l.Count == 0 && l.Burst > 0:
		return fmt.Errorf("limit 0 with burst %d would refill at no rate: write limit 0 alone to refuse everything", l.Burst)
	case l.Count > stint.MaxUnits:
		return fmt.Errorf("limit %d is too large: at most %d", l.Count, stint.MaxUnits)
	case l.Burst > stint.MaxUnits:
		return fmt.Errorf("burst %d is too large: at most %d", l.Burst, stint.MaxUnits)
	}
	return nil
}

// checkNoBurst refuses a burst where the algorithm has none.
func checkNoBurst(l stint.Limit, name string) error {
	if l.Burst != 0 && l.Burst != l.Count {
		return fmt.Errorf("burst %d: %s has no burst of its own: leave it out, or use token_bucket", l.Burst, name)
	}
	return nil
}

// ratio returns gain and price for a limit: each microsecond forgives gain, each
// unit costs price, and gain/price is count/window. Where capacity × price would
// pass [stint.MaxUnits] it is the nearest smaller ratio that does not; ok is
// false if that is off by more than one in a million.
func ratio(count, window, capacity int64) (gain, price int64, ok bool) {
	g := gcd(count, window)
	gain, price = count/g, window/g
	most := stint.MaxUnits / capacity
	if price <= most {
		return gain, price, true
	}
	a, b, short := below(gain, price, most)
	return a, b, a > 0 && withinMillionth(short, gain, b)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// below returns the largest fraction a/b that is not above p/q and has a
// denominator of at most most, and what it is short by: p×b - a×q. It walks down
// the Stern-Brocot tree, many steps at a time (Graham, Knuth, Patashnik, Concrete
// Mathematics, section 4.5).
func below(p, q, most int64) (a, b, short int64) {
	a, b, short = 0, 1, p // the fraction not above, and p×b - a×q
	ha, hb, over := int64(1), int64(0), q
	for short > 0 {
		k := short / over
		if hb > 0 {
			k = min(k, (most-b)/hb)
		}
		a, b, short = a+k*ha, b+k*hb, short-k*over
		if short == 0 || b+hb > most {
			break
		}
		k = min((over-1)/short, (most-hb)/b)
		ha, hb, over = ha+k*a, hb+k*b, over-k*short
		if b+hb > most {
			break
		}
	}
	return a, b, short
}

// withinMillionth says whether short is at most a millionth of p×b.
func withinMillionth(short, p, b int64) bool {
	lh, ll := bits.Mul64(uint64(short), 1_000_000)
	rh, rl := bits.Mul64(uint64(p), uint64(b))
	return lh < rh || lh == rh && ll <= rl
}
