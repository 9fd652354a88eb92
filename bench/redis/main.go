// Command redis measures limiters that count in Redis beside Stint, on the same
// server in one run, and prints tables in Markdown. It starts the servers it needs
// on free ports of the loopback, talks to nobody else, and ends by itself after
// about three minutes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stint-dev/stint/bench/measure"
)

const (
	// callers is how many goroutines ask at once.
	callers = 64
	// users is how many keys they ask about.
	users = 10_000
)

// options say how much is measured.
type options struct {
	rounds int
	turn   time.Duration // of each subject in each round
	keys   int           // of Stint where buckets are weighed; a quarter of the others
}

// part is some tables.
type part struct {
	name string
	run  func(*bench) error
}

// parts are what can be asked for by -only.
var parts = []part{
	{"a", (*bench).many},
	{"b", (*bench).alone},
	{"c", (*bench).threeRules},
	{"d", (*bench).hotKey},
	{"e", (*bench).weigh},
	{"f", (*bench).cluster},
	{"g", (*bench).logs},
	{"h", (*bench).wait},
}

func main() {
	var o options
	only := flag.String("only", "", "the parts to run, such as a,b; all of them if empty:\n"+
		"a many callers, b one caller, c three rules, d one hot key, e bytes of a bucket, f a cluster,\n"+
		"g a log of 10,000 entries, h waiting")
	waiting := flag.String("waiting", "", "only wait as told; used by the program itself")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	flag.DurationVar(&o.turn, "time", 300*time.Millisecond, "time of each turn")
	flag.IntVar(&o.keys, "keys", 1_000_000, "buckets that are weighed")
	flag.Parse()
	o.turn = min(o.turn, 5*time.Second)
	if *waiting != "" {
		if err := waitAsTold(os.Stdout, *waiting); err != nil {
			fmt.Fprintln(os.Stderr, "redis:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(os.Stdout, o, *only); err != nil {
		fmt.Fprintln(os.Stderr, "redis:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	options
	w     io.Writer
	one   servers // a single one
	goals []measure.Goal
}

func run(w io.Writer, o options, only string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if o.rounds < 1 || o.turn <= 0 || o.keys < 1000 {
		return fmt.Errorf("%d rounds of %v and %d keys: at least 1, more than 0s, and 1000", o.rounds, o.turn, o.keys)
	}
	s, err := startServer()
	if err != nil {
		return err
	}
	b := &bench{options: o, w: w, one: servers{s}}
	defer b.one.stop()
	for _, p := range chosen {
		if err := errors.Join(b.one.clear(), p.run(b)); err != nil {
			return fmt.Errorf("part %s: %w", p.name, err)
		}
	}
	measure.WriteGoals(w, b.goals)
	return nil
}

// choose reads a list of parts.
func choose(only string) ([]part, error) {
	if only == "" {
		return parts, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("no part is called %q: from a to h", name)
		}
		chosen = append(chosen, parts[i])
	}
	return chosen, nil
}
