package main

import (
	"fmt"
	"time"

	"github.com/stint-dev/stint/bench/measure"
)

// turns are the results of every target, one for each round.
type turns struct {
	names []string
	of    map[string][]result
}

// alternate loads the targets one after the other, in every round from another
// one on. The first round warms up.
func alternate(o options, targets []target, l load) (*turns, error) {
	t := &turns{of: make(map[string][]result)}
	for _, target := range targets {
		t.names = append(t.names, target.name)
	}
	for round := range o.rounds + 1 {
		for i := range targets {
			target := targets[(i+round)%len(targets)]
			before := cpuOf(target.pid)
			r, err := l.run(target.addr)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", target.name, err)
			}
			r.cpu = (cpuOf(target.pid) - before) / time.Duration(r.requests)
			if round > 0 {
				t.of[target.name] = append(t.of[target.name], r)
			}
		}
	}
	return t, nil
}

// median is the median over the rounds of a part of name's results.
func (t *turns) median(name string, part func(result) float64) float64 {
	var values []float64
	for _, r := range t.of[name] {
		values = append(values, part(r))
	}
	return measure.Median(values)
}

func (t *turns) perSecond(name string) float64 {
	return t.median(name, func(r result) float64 { return r.perSecond })
}

func (t *turns) p50(name string) float64 {
	return t.median(name, func(r result) float64 { return inMillis(r.p50) })
}

func (t *turns) p99(name string) float64 {
	return t.median(name, func(r result) float64 { return inMillis(r.p99) })
}

// cpu is in microseconds.
func (t *turns) cpu(name string) float64 {
	return t.median(name, func(r result) float64 { return float64(r.cpu) / float64(time.Microsecond) })
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// compared is the median over the rounds of how a part of a's result compares to
// that of b in the same round.
func (t *turns) compared(a, b string, how func(a, b result) float64) float64 {
	var values []float64
	for i, r := range t.of[a] {
		values = append(values, how(r, t.of[b][i]))
	}
	return measure.Median(values)
}

func byRate(a, b result) float64 { return a.perSecond / b.perSecond }

func addedP99(a, b result) float64 { return inMillis(a.p99 - b.p99) }

func (t *turns) table() *measure.Table {
	table := measure.NewTable("target", "requests/s", "× bare", "CPU µs/request", "p50 ms", "p99 ms", "p99 above bare ms")
	for _, name := range t.names {
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
	if len(full.of[command]) > 0 {
		name = command
	}
	return []measure.Goal{
		{What: "requests/s: of the bare proxy", Want: 0.95, AtLeast: true, Got: full.compared(name, bare, byRate), Unit: " ×"},
		{What: "p99 above the bare proxy's at half load", Want: 1, Got: half.compared(name, bare, addedP99), Unit: " ms"},
		{What: "p99 above no proxy at all at half load", Want: 1, Got: half.compared(name, direct, addedP99), Unit: " ms"},
	}
}
