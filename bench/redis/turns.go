package main

import (
	"fmt"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

// subject is a limiter that is open.
type subject struct {
	name string
	field.Shared
}

// turns are the results of every subject, one for each round.
type turns struct {
	names []string
	of    map[string][]result
}

// alternate loads the subjects one after the other, in every round from another
// one on. The first round warms up.
func alternate(rounds int, subjects []subject, d *load) (*turns, error) {
	t := &turns{of: make(map[string][]result)}
	for _, s := range subjects {
		t.names = append(t.names, s.name)
	}
	for round := range rounds + 1 {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)]
			r, err := d.run(s.Shared)
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
func redisCPU(r result) float64  { return r.redis }
func clientCPU(r result) float64 { return r.client }
func reads(r result) float64     { return r.reads }
func commands(r result) float64  { return r.commands }
func allocs(r result) float64    { return r.allocs }
func refusals(r result) float64  { return 100 * r.refused }
func failures(r result) float64  { return 100 * r.failed }

// column is one of a table.
type column struct {
	head string
	part func(result) float64
}

// columns of all tables. The processor time of Redis is that of INFO, reads are
// those of its sockets, and commands those of clients and of scripts.
var columns = []column{
	{"p50 µs", p50},
	{"p99 µs", p99},
	{"Redis CPU µs", redisCPU},
	{"client CPU µs", clientCPU},
	{"reads", reads},
	{"commands", commands},
	{"allocs", allocs},
	{"refused %", refusals},
	{"failed %", failures},
}

// table prints the medians of everyone; what counts is requests, by Stint's.
func (t *turns) table(what string) *measure.Table {
	head := []string{"limiter", what + "/s", "× stint"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	table := measure.NewTable(head...)
	for _, name := range t.names {
		row := []string{name, fmt.Sprintf("%.0f", t.median(name, perSecond)), fmt.Sprintf("%.2f", t.ratio(name, field.Stint, perSecond))}
		for _, c := range columns {
			row = append(row, measure.Num(t.median(name, c.part)))
		}
		table.Row(row...)
	}
	return table
}
