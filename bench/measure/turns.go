package measure

import "fmt"

// Turns are the results of every subject, one for each round.
type Turns[R any] struct {
	// Names are those of the subjects, in their order.
	Names []string
	// Of has the results by name.
	Of map[string][]R
}

// Taker is what takes turns.
type Taker[R any] struct {
	Name string
	Run  func() (R, error)
}

// TakeTurns runs the subjects one after the other, in every round from another one
// on, so that nobody always follows the same neighbour. The first round only warms up.
func TakeTurns[R any](rounds int, subjects []Taker[R]) (*Turns[R], error) {
	t := &Turns[R]{Of: make(map[string][]R)}
	for _, s := range subjects {
		t.Names = append(t.Names, s.Name)
	}
	for round := range rounds + 1 {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)]
			r, err := s.Run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			if round > 0 {
				t.Of[s.Name] = append(t.Of[s.Name], r)
			}
		}
	}
	return t, nil
}

// Has says whether name was measured.
func (t *Turns[R]) Has(name string) bool { return len(t.Of[name]) > 0 }

// Median is the median over the rounds of a part of name's results.
func (t *Turns[R]) Median(name string, part func(R) float64) float64 {
	var values []float64
	for _, r := range t.Of[name] {
		values = append(values, part(r))
	}
	return Median(values)
}

// Ratio is the median over the rounds of a part of a's result by that of b in the
// same round.
func (t *Turns[R]) Ratio(a, b string, part func(R) float64) float64 {
	var values []float64
	for i, r := range t.Of[a] {
		if i < len(t.Of[b]) {
			values = append(values, part(r)/part(t.Of[b][i]))
		}
	}
	return Median(values)
}
