package main

import (
	"fmt"

	"github.com/stint-dev/stint/bench/measure"
)

// turns are the results of every subject, one for each round.
type turns struct {
	names []string
	of    map[string][]result
}

// alternate loads the subjects one after the other, in every round from another
// one on. The first round warms up.
func (b *bench) alternate(subjects []*subject, l load) (*turns, error) {
	t := &turns{of: make(map[string][]result)}
	for _, s := range subjects {
		t.names = append(t.names, s.name)
	}
	for round := range b.rounds + 1 {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)]
			r, err := l.run(s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if round > 0 {
				t.of[s.name] = append(t.of[s.name], r)
			}
		}
	}
	return t, nil
}

// has says whether name was measured.
func (t *turns) has(name string) bool { return len(t.of[name]) > 0 }

// median is the median over the rounds of a part of name's results.
func (t *turns) median(name string, part func(result) float64) float64 {
	var values []float64
	for _, r := range t.of[name] {
		values = append(values, part(r))
	}
	return measure.Median(values)
}

// ratio is the median over the rounds of a part of a's result by that of b in the
// same round.
func (t *turns) ratio(a, b string, part func(result) float64) float64 {
	var values []float64
	for i, r := range t.of[a] {
		if i < len(t.of[b]) {
			values = append(values, part(r)/part(t.of[b][i]))
		}
	}
	return measure.Median(values)
}

// Parts of a result.
func perSecond(r result) float64 { return r.perSecond }
func p50(r result) float64       { return r.p50 }
func p99(r result) float64       { return r.p99 }
func p999(r result) float64      { return r.p999 }
func cpu(r result) float64       { return r.cpu }
func storeCPU(r result) float64  { return r.store }

// table prints the medians of everyone: what is counted, and the processor time of
// each beside that of the subject called by.
func (t *turns) table(what, by string) *measure.Table {
	shared := false
	for _, name := range t.names {
		shared = shared || t.median(name, storeCPU) > 0
	}
	head := []string{"server", "CPU µs/" + what, "× " + by, what + "s/CPU-second", what + "s/s", "p50 µs", "p99 µs", "p999 µs"}
	if shared {
		head = append(head, "Redis CPU µs")
	}
	table := measure.NewTable(head...)
	for _, name := range t.names {
		used := t.median(name, cpu)
		row := []string{
			name, measure.Num(used), fmt.Sprintf("%.2f", t.ratio(name, by, cpu)), measure.Num(1e6 / used),
			measure.Num(t.median(name, perSecond)), measure.Num(t.median(name, p50)), measure.Num(t.median(name, p99)), measure.Num(t.median(name, p999)),
		}
		if n := t.median(name, storeCPU); shared && n > 0 {
			row = append(row, measure.Num(n))
		} else if shared {
			row = append(row, "-")
		}
		table.Row(row...)
	}
	return table
}
