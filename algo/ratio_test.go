package algo

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/stint-dev/stint"
)

// TestRatio: exact where it fits, else below by at most one in a million, else
// refused.
func TestRatio(t *testing.T) {
	number := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 1<<40), rapid.Int64Range(1, stint.MaxUnits),
		rapid.SampledFrom([]int64{1, 86_400_000_000, 999_983, stint.MaxUnits, stint.MaxUnits - 1, 1_000_000_007}))
	rapid.Check(t, func(t *rapid.T) {
		count, capacity := number.Draw(t, "count"), number.Draw(t, "capacity")
		window := min(number.Draw(t, "window"), maxWindow.Microseconds())
		a, b, ok := ratio(count, window, capacity)
		want := big.NewRat(count, window)
		room := new(big.Int).Mul(want.Denom(), big.NewInt(capacity))
		exact := room.Cmp(big.NewInt(stint.MaxUnits)) <= 0
		if exact && (!ok || big.NewRat(a, b).Cmp(want) != 0) {
			t.Fatalf("ratio %d/%d, %v: want exactly %v", a, b, ok, want)
		}
		if !ok {
			return
		}
		if a < 1 || b < 1 || b > stint.MaxUnits/capacity {
			t.Fatalf("ratio %d/%d with capacity %d", a, b, capacity)
		}
		short := new(big.Rat).Sub(want, big.NewRat(a, b))
		if short.Sign() < 0 || short.Cmp(new(big.Rat).Mul(want, big.NewRat(1, 1_000_000))) > 0 {
			t.Fatalf("ratio %d/%d for %v", a, b, want)
		}
	})
}

// TestBelowIsTheNearest tries all fractions with small denominators.
func TestBelowIsTheNearest(t *testing.T) {
	for p := int64(1); p < 40; p++ {
		for q := int64(1); q < 40; q++ {
			for most := int64(1); most < 25; most++ {
				bestA, bestB := int64(0), int64(1)
				for b := int64(1); b <= most; b++ {
					if a := p * b / q; a*bestB > bestA*b {
						bestA, bestB = a, b
					}
				}
				a, b, short := below(p, q, most)
				if a*bestB != bestA*b || b > most || short != p*b-a*q {
					t.Fatalf("below(%d, %d, %d) = %d/%d, short %d; want %d/%d", p, q, most, a, b, short, bestA, bestB)
				}
			}
		}
	}
}
