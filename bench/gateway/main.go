// Command gateway loads Stint's gateway, nginx and a bare reverse proxy in turn
// and prints tables in Markdown. It talks to 127.0.0.1 only, and ends by itself
// after about a minute.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stint-dev/stint/bench/measure"
)

// conns is the number of connections of the load.
const conns = 64

// The names of targets that the targets of this page compare.
const (
	direct  = "the upstream itself"
	bare    = "bare httputil.ReverseProxy"
	library = "stint, package gateway, 3 rules"
	command = "stint serve, 3 rules"
	nginx   = "nginx, 3 × limit_req"
)

func main() {
	kind := flag.String("serve", "", "be a proxy: bare or stint; used by the program itself")
	up := flag.String("upstream", "", "the upstream of -serve")
	rounds := flag.Int("rounds", 5, "rounds")
	turn := flag.Duration("time", 1500*time.Millisecond, "time of each turn")
	program := flag.String("stint", "../bin/stint", "the stint command")
	flag.Parse()
	var err error
	if *kind != "" {
		err = serve(*kind, *up)
	} else {
		err = run(os.Stdout, options{*rounds, min(*turn, 10*time.Second), *program})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds  int
	turn    time.Duration
	command string
}

func run(w io.Writer, o options) error {
	up, err := startUpstream()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	targets := []target{{name: direct, addr: up.addr(), stop: func() {}}}
	defer func() {
		for _, t := range targets {
			t.stop()
		}
	}()
	for _, s := range []func() (target, error){
		func() (target, error) { return startSelf(bare, serveBare, up.addr()) },
		func() (target, error) { return startSelf(library, serveStint, up.addr()) },
		func() (target, error) { return startCommand(folder, o.command, up.addr()) },
		func() (target, error) { return startNginx(folder, up.addr()) },
	} {
		t, err := s()
		switch {
		case errors.Is(err, errAbsent):
			continue
		case err != nil:
			return err
		}
		targets = append(targets, t)
	}
	sayAbsent(w, o, targets)
	return compare(w, o, targets)
}

// sayAbsent names what is left out because it is not there.
func sayAbsent(w io.Writer, o options, targets []target) {
	if findNginx() == "" {
		fmt.Fprint(w, "nginx is left out: it is not installed.\n\n")
	}
	if _, err := os.Stat(o.command); err != nil {
		fmt.Fprintf(w, "The stint command is left out: there is no %s; make build makes it.\n\n", o.command)
	}
}

// compare measures full load, then half of what the bare proxy bears.
func compare(w io.Writer, o options, targets []target) error {
	full, err := alternate(o, targets, load{conns: conns, time: o.turn})
	if err != nil {
		return err
	}
	full.table().Write(w, fmt.Sprintf("Gateway, %d connections, as fast as it goes", conns))
	rate := full.perSecond(bare) / 2
	half, err := alternate(o, targets, load{conns: conns, time: o.turn, rate: rate})
	if err != nil {
		return err
	}
	half.table().Write(w, fmt.Sprintf("Gateway at half load: %.0f requests/s", rate))
	measure.WriteGoals(w, goals(full, half))
	return nil
}
