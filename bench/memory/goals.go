package main

import (
	"fmt"
	"math"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

func oneKeyGoal(r *measure.Rounds) []measure.Goal {
	return append(against(r, "one key", 0.8), measure.Goal{What: "one key: allocations", Got: allocs(r)})
}

func zipfGoal(r *measure.Rounds) []measure.Goal {
	return append(against(r, "zipf", 0.8), measure.Goal{What: "zipf: allocations", Got: allocs(r)})
}

func newKeysGoal(r *measure.Rounds) []measure.Goal {
	return append(against(r, "new keys", 0.5), measure.Goal{What: "new keys: allocations", Got: allocs(r)})
}

// against compares Stint with the fastest that keeps keys apart.
func against(r *measure.Rounds, what string, want float64) []measure.Goal {
	best := r.Best(keyed())
	return []measure.Goal{{
		What: fmt.Sprintf("%s: of the best keyed (%s)", what, best),
		Want: want, Got: r.Ratio(field.Stint, best), Unit: " ×",
	}}
}

// allocs is Stint's for each operation, rounded down as the testing package does:
// a table that grows adds some now and then.
func allocs(r *measure.Rounds) float64 {
	s, _ := r.Median(field.Stint)
	return math.Floor(s.Allocs)
}
