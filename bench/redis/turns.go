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

// turns are the results of everyone.
type turns struct{ *measure.Turns[result] }

// alternate loads the subjects in turn.
func alternate(rounds int, subjects []subject, d *load) (*turns, error) {
	var all []measure.Taker[result]
	for _, s := range subjects {
		all = append(all, measure.Taker[result]{Name: s.name, Run: func() (result, error) { return d.run(s.Shared) }})
	}
	t, err := measure.TakeTurns(rounds, all)
	return &turns{t}, err
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
	for _, name := range t.Names {
		row := []string{name, fmt.Sprintf("%.0f", t.Median(name, perSecond)), fmt.Sprintf("%.2f", t.Ratio(name, field.Stint, perSecond))}
		for _, c := range columns {
			row = append(row, measure.Num(t.Median(name, c.part)))
		}
		table.Row(row...)
	}
	return table
}
