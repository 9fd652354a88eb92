package main

import (
	"fmt"
	"time"

	"github.com/stint-dev/stint/bench/measure"
)

// turns are the results of everyone.
type turns struct{ *measure.Turns[result] }

// alternate loads the targets in turn.
func alternate(o options, targets []target, l load) (*turns, error) {
	var all []measure.Taker[result]
	for _, target := range targets {
		all = append(all, measure.Taker[result]{Name: target.name, Run: func() (result, error) {
			before := cpuOf(target.pid)
			r, err := l.run(target.addr)
			if err == nil {
				r.cpu = (cpuOf(target.pid) - before) / time.Duration(r.requests)
			}
			return r, err
		}})
	}
	t, err := measure.TakeTurns(o.rounds, all)
	return &turns{t}, err
}

func (t *turns) perSecond(name string) float64 {
	return t.Median(name, func(r result) float64 { return r.perSecond })
}

func (t *turns) p50(name string) float64 {
	return t.Median(name, func(r result) float64 { return inMillis(r.p50) })
}

func (t *turns) p99(name string) float64 {
	return t.Median(name, func(r result) float64 { return inMillis(r.p99) })
}

// cpu is in microseconds.
func (t *turns) cpu(name string) float64 {
	return t.Median(name, func(r result) float64 { return float64(r.cpu) / float64(time.Microsecond) })
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// compared is the median over the rounds of how a part of a's result compares to
// that of b in the same round.
func (t *turns) compared(a, b string, how func(a, b result) float64) float64 {
	var values []float64
	for i, r := range t.Of[a] {
		values = append(values, how(r, t.Of[b][i]))
	}
	return measure.Median(values)
}

func byRate(a, b result) float64 { return a.perSecond / b.perSecond }

func addedP99(a, b result) float64 { return inMillis(a.p99 - b.p99) }

func (t *turns) table() *measure.Table {
	table := measure.NewTable("target", "requests/s", "× bare", "CPU µs/request", "p50 ms", "p99 ms", "p99 above bare ms")
	for _, name := range t.Names {
		cpu := "-"
		if c := t.cpu(name); c > 0 {
			cpu = fmt.Sprintf("%.1f", c)
		}
		table.Row(name, fmt.Sprintf("%.0f", t.perSecond(name)), fmt.Sprintf("%.2f", t.compared(name, bare, byRate)), cpu,
			fmt.Sprintf("%.2f", t.p50(name)), fmt.Sprintf("%.2f", t.p99(name)),
			fmt.Sprintf("%+.2f", t.compared(name, bare, addedP99)))
	}
	return table
}

// goals are those of Stint's gateway, the command's where it was measured.
func goals(full, half *turns) []measure.Goal {
	name := library
	if len(full.Of[command]) > 0 {
		name = command
	}
	return []measure.Goal{
		{What: "requests/s: of the bare proxy", Want: 0.95, AtLeast: true, Got: full.compared(name, bare, byRate), Unit: " ×"},
		{What: "p99 above the bare proxy's at half load", Want: 1, Got: half.compared(name, bare, addedP99), Unit: " ms"},
		{What: "p99 above no proxy at all at half load", Want: 1, Got: half.compared(name, direct, addedP99), Unit: " ms"},
	}
}
