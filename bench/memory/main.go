// Command memory measures memory limiters beside Stint in one run and prints
// tables in Markdown.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

func main() {
	resident := flag.String("resident", "", "only fill the limiter of this name and print what it holds; used by the program itself")
	keys := flag.Int("keys", 1_000_000, "number of keys")
	rounds := flag.Int("rounds", 5, "rounds of the scenarios that fill a limiter; the short ones make four times as many")
	flag.Parse()
	if *resident != "" {
		if err := report(os.Stdout, *resident, *keys); err != nil {
			fail(err)
		}
		return
	}
	if err := run(os.Stdout, *keys, *rounds); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "memory:", err)
	os.Exit(1)
}

// run measures every scenario and prints its table, then the targets.
func run(w io.Writer, keys, rounds int) error {
	if keys < 1000 || rounds < 1 {
		return fmt.Errorf("%d keys and %d rounds: at least 1000 and 1", keys, rounds)
	}
	var goals []measure.Goal
	for _, s := range []scenario{
		{title: "One key, serial, allowed", run: oneKey(20*rounds, 1, plenty), goal: oneKeyGoal},
		{title: "One key, serial, refused", run: oneKey(20*rounds, 1, spent), goal: nil},
		{title: "One key, 32 goroutines, allowed", run: oneKey(4*rounds, workers, plenty)},
		{title: fmt.Sprintf("%d keys live, zipf 1.1, 32 goroutines", keys), run: zipfKeys(4*rounds, keys), goal: zipfGoal},
		{title: fmt.Sprintf("%d new keys, 32 goroutines", keys), run: newKeys(rounds, keys), goal: newKeysGoal},
	} {
		r, err := s.run()
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		fieldTable(r).Write(w, s.title)
		if s.goal != nil {
			goals = append(goals, s.goal(r)...)
		}
	}
	own, err := ownTables(w, 20*rounds)
	if err != nil {
		return err
	}
	waits, err := waitTable(w, rounds)
	if err != nil {
		return err
	}
	held, err := residentTable(w, keys)
	if err != nil {
		return err
	}
	measure.WriteGoals(w, slices.Concat(goals, own, waits, held))
	return nil
}

// scenario is one table.
type scenario struct {
	title string
	run   func() (*measure.Rounds, error)
	goal  func(*measure.Rounds) []measure.Goal
}

// fieldTable prints the median of everyone and what it is by Stint's.
func fieldTable(r *measure.Rounds) *measure.Table {
	t := measure.NewTable("limiter", "ns/op", "CPU ns/op", "× stint", "B/op", "allocs/op")
	for _, name := range r.Names() {
		s, ok := r.Median(name)
		if !ok {
			continue
		}
		t.Row(name, measure.Num(s.Wall), measure.Num(s.CPU), fmt.Sprintf("%.2f", r.Ratio(name, field.Stint)),
			measure.Num(s.Bytes), measure.Num(s.Allocs))
	}
	return t
}

// keyed are the names of all but Stint that keep keys apart.
func keyed() []string {
	var names []string
	for _, e := range field.Entries() {
		if e.Keyed && e.Name != field.Stint {
			names = append(names, e.Name)
		}
	}
	return names
}
