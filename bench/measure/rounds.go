package measure

import "slices"

// Rounds holds the samples of several subjects, one for each in each round.
type Rounds struct {
	Names   []string
	samples [][]Sample // by subject
}

// Subject is something to measure.
type Subject struct {
	Name string
	// Run makes one sample.
	Run func() Sample
}

// Alternate measures all subjects in turn, for as many rounds, and starts each
// round with another one, so that nobody always follows the same neighbour. The
// first round only warms up.
func Alternate(rounds int, subjects []Subject) *Rounds {
	r := &Rounds{samples: make([][]Sample, len(subjects))}
	for _, s := range subjects {
		r.Names = append(r.Names, s.Name)
	}
	for round := range rounds + 1 {
		for i := range subjects {
			k := (i + round) % len(subjects)
			s := subjects[k].Run()
			if round > 0 {
				r.samples[k] = append(r.samples[k], s)
			}
		}
	}
	return r
}

// Median returns the median of each part of name's samples. The second result is
// false if there are none.
func (r *Rounds) Median(name string) (Sample, bool) {
	i := slices.Index(r.Names, name)
	if i < 0 || len(r.samples[i]) == 0 {
		return Sample{}, false
	}
	s := r.samples[i]
	return Sample{
		Wall:   part(s, func(s Sample) float64 { return s.Wall }),
		CPU:    part(s, func(s Sample) float64 { return s.CPU }),
		Bytes:  part(s, func(s Sample) float64 { return s.Bytes }),
		Allocs: part(s, func(s Sample) float64 { return s.Allocs }),
	}, true
}

func part(samples []Sample, of func(Sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return Median(values)
}

// Ratio is the median over the rounds of a's wall time by b's in the same round.
// What disturbs a whole round disturbs it less than the medians of the two.
func (r *Rounds) Ratio(a, b string) float64 {
	i, j := slices.Index(r.Names, a), slices.Index(r.Names, b)
	if i < 0 || j < 0 {
		return 0
	}
	ratios := make([]float64, len(r.samples[i]))
	for k := range ratios {
		ratios[k] = r.samples[i][k].Wall / r.samples[j][k].Wall
	}
	return Median(ratios)
}

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
