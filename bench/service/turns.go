package main

import (
	"fmt"

	"github.com/stint-dev/stint/bench/measure"
)

// turns are the results of everyone.
type turns struct{ *measure.Turns[result] }

// alternate loads the subjects in turn.
func (b *bench) alternate(subjects []*subject, l load) (*turns, error) {
	var all []measure.Taker[result]
	for _, s := range subjects {
		all = append(all, measure.Taker[result]{Name: s.name, Run: func() (result, error) { return l.run(s) }})
	}
	t, err := measure.TakeTurns(b.rounds, all)
	return &turns{t}, err
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
	for _, name := range t.Names {
		shared = shared || t.Median(name, storeCPU) > 0
	}
	head := []string{"server", "CPU µs/" + what, "× " + by, what + "s/CPU-second", what + "s/s", "p50 µs", "p99 µs", "p999 µs"}
	if shared {
		head = append(head, "Redis CPU µs")
	}
	table := measure.NewTable(head...)
	for _, name := range t.Names {
		used := t.Median(name, cpu)
		row := []string{
			name, measure.Num(used), fmt.Sprintf("%.2f", t.Ratio(name, by, cpu)), measure.Num(1e6 / used),
			measure.Num(t.Median(name, perSecond)), measure.Num(t.Median(name, p50)), measure.Num(t.Median(name, p99)), measure.Num(t.Median(name, p999)),
		}
		if n := t.Median(name, storeCPU); shared && n > 0 {
			row = append(row, measure.Num(n))
		} else if shared {
			row = append(row, "-")
		}
		table.Row(row...)
	}
	return table
}
