// Command service loads Stint's decision service, envoyproxy/ratelimit and bare
// servers in turn and prints tables in Markdown: Envoy's rate limit service over
// gRPC, checks over HTTP, and CL.THROTTLE beside Redis. Servers are processes of
// their own on free ports of the loopback; it talks to nobody else, and ends by
// itself after about two minutes.
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

// users is how many keys are asked about.
const users = 10_000

// options say how much is measured, and where programs are.
type options struct {
	rounds    int
	turn      time.Duration // of each subject in each round
	command   string        // the stint command
	ratelimit string        // the program of envoyproxy/ratelimit
}

// part is some tables.
type part struct {
	name string
	run  func(*bench) error
}

// parts are what can be asked for by -only.
var parts = []part{
	{"a", (*bench).oneDescriptor},
	{"b", (*bench).threeDescriptors},
	{"c", (*bench).hotKey},
	{"d", (*bench).checks},
	{"e", (*bench).pipelines},
}

func main() {
	var o options
	only := flag.String("only", "", "the parts to run, such as a,b; all of them if empty:\n"+
		"a Envoy with one descriptor, b with three, c one hot key, d checks over HTTP, e pipelines of CL.THROTTLE")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	flag.DurationVar(&o.turn, "time", 600*time.Millisecond, "time of each turn")
	flag.StringVar(&o.command, "stint", "../bin/stint", "the stint command")
	flag.StringVar(&o.ratelimit, "ratelimit", "../.cache/bin/service_cmd", "the `program` of envoyproxy/ratelimit; it is left out if it is not there")
	kind := flag.String("serve", "", "be a server: grpc or http; used by the program itself")
	sizes := flag.String("sizes", "", "the sizes of answers of -serve http")
	flag.Parse()
	var err error
	if *kind != "" {
		err = serve(*kind, *sizes)
	} else {
		o.turn = min(o.turn, 5*time.Second)
		err = run(os.Stdout, o, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	options
	w       io.Writer
	folder  string // of configurations
	started []target
	goals   []measure.Goal
}

func run(w io.Writer, o options, only string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if o.rounds < 1 || o.turn <= 0 {
		return fmt.Errorf("%d rounds of %v: at least 1 of more than 0s", o.rounds, o.turn)
	}
	b := &bench{options: o, w: w}
	if b.folder, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	defer b.stop()
	for _, p := range chosen {
		if err := p.run(b); err != nil {
			return fmt.Errorf("part %s: %w", p.name, errors.Join(err, b.fallen()))
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
			return nil, fmt.Errorf("no part is called %q: from a to e", name)
		}
		chosen = append(chosen, parts[i])
	}
	return chosen, nil
}

// limit adds a target: got is to be at most want.
func (b *bench) limit(what string, want, got float64, unit string) {
	b.goals = append(b.goals, measure.Goal{What: what, Want: want, Got: got, Unit: unit})
}
