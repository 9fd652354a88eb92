package measure

import "slices"

// Rounds are the turns of subjects that give samples.
type Rounds struct{ turns *Turns[Sample] }

// Subject is something to measure.
type Subject struct {
	Name string
	// Run makes one sample.
	Run func() Sample
}

// Alternate measures all subjects in turn, as [TakeTurns] does.
func Alternate(rounds int, subjects []Subject) *Rounds {
	var all []Taker[Sample]
	for _, s := range subjects {
		all = append(all, Taker[Sample]{Name: s.Name, Run: func() (Sample, error) { return s.Run(), nil }})
	}
	turns, _ := TakeTurns(rounds, all) // Nobody fails.
	return &Rounds{turns}
}

// Names are those of the subjects, in their order.
func (r *Rounds) Names() []string { return r.turns.Names }

// Median returns the median of each part of name's samples. The second result is
// false if there are none.
func (r *Rounds) Median(name string) (Sample, bool) {
	return Sample{
		Wall:   r.turns.Median(name, wall),
		CPU:    r.turns.Median(name, func(s Sample) float64 { return s.CPU }),
		Bytes:  r.turns.Median(name, func(s Sample) float64 { return s.Bytes }),
		Allocs: r.turns.Median(name, func(s Sample) float64 { return s.Allocs }),
	}, r.turns.Has(name)
}

func wall(s Sample) float64 { return s.Wall }

// Ratio is the median over the rounds of a's wall time by b's in the same round.
// What disturbs a whole round disturbs it less than the medians of the two.
func (r *Rounds) Ratio(a, b string) float64 { return r.turns.Ratio(a, b, wall) }

// Best is the name among names with the smallest median wall time.
func (r *Rounds) Best(names []string) string {
	best, least := "", 0.0
	for _, name := range names {
		if s, ok := r.Median(name); ok && (best == "" || s.Wall < least) {
			best, least = name, s.Wall
		}
	}
	return best
}

// Median returns the middle of values, 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
