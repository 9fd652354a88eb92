package storetest

import (
	"os"
	"strconv"
)

// Games is how many games of [Turns] a test plays: 300, or a thousandth of the number
// in STINT_TWINS, which a campaign sets.
func Games() int { return max(300, Size(0)/1000) }

// Size is the number in STINT_TWINS, or else n: how many random operations a test does.
func Size(n int) int {
	if size, err := strconv.Atoi(os.Getenv("STINT_TWINS")); err == nil {
		return size
	}
	return n
}
