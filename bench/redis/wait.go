package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
	"github.com/stint-dev/stint/redisstore"
)

const (
	// waitProcesses share a limit that their callers wait for.
	waitProcesses = 2
	waitTurn      = time.Second
	// waitStart is until when the processes have connected.
	waitStart = time.Second
)

// waiting is what one of the processes is told.
type waiting struct {
	addr      string
	perSecond int
	workers   int
	start     time.Time
}

func (o waiting) args() []string {
	return []string{"-waiting", fmt.Sprintf("%s %d %d %d", o.addr, o.perSecond, o.workers, o.start.UnixNano())}
}

// waitAsTold is the whole of such a process: it prints how many passed, and when the
// last one did.
func waitAsTold(w io.Writer, told string) error {
	var o waiting
	var start int64
	if _, err := fmt.Sscan(told, &o.addr, &o.perSecond, &o.workers, &start); err != nil {
		return err
	}
	s, err := redisstore.New(redisstore.Options{Addrs: []string{o.addr}})
	if err != nil {
		return err
	}
	defer s.Close()
	// Connect and load the script before the start.
	if err := field.WaitStint(s, 1_000_000)(context.Background()); err != nil {
		return err
	}
	got, err := field.WaitStint(s, o.perSecond).Run(o.workers, time.Unix(0, start), waitTurn)
	fmt.Fprintln(w, got.Passed, got.Last.UnixNano())
	return err
}

// wait measures how much of a limit in Redis callers of two processes get who wait for
// it. Of the field only Stint lets them.
func (b *bench) wait() error {
	t := measure.NewTable("Wait through Redis, burst 1, two processes", "workers each", "of the limit", "most")
	most := 0.0
	for _, perSecond := range []int{200, 1000} {
		for _, workers := range []int{1, 8} {
			var parts []float64
			for range b.rounds {
				part, err := b.waitTogether(perSecond, workers)
				if err != nil {
					return err
				}
				parts = append(parts, part)
			}
			slices.Sort(parts)
			median := parts[len(parts)/2]
			most = max(most, parts[len(parts)-1])
			t.Row(fmt.Sprintf("%d/s", perSecond), fmt.Sprint(workers), fmt.Sprintf("%.3f", median), fmt.Sprintf("%.4f", parts[len(parts)-1]))
			b.goals = append(b.goals, measure.Goal{
				What: fmt.Sprintf("Wait at %d/s through Redis, workers: 2 × %d: of the limit", perSecond, workers), Want: 0.99, AtLeast: true, Got: median,
			})
		}
	}
	t.Write(b.w, "Waiting in two processes")
	b.goals = append(b.goals, measure.Goal{What: "Wait through Redis: the most of the limit in any turn", Want: 1, Got: most})
	return nil
}

// waitTogether is one turn of both processes: the part of the limit that they got.
func (b *bench) waitTogether(perSecond, workers int) (float64, error) {
	if err := b.one.clear(); err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	o := waiting{addr: b.one[0].addr, perSecond: perSecond, workers: workers, start: time.Now().Add(waitStart)}
	said := make([]strings.Builder, waitProcesses)
	var running []*exec.Cmd
	for i := range said {
		cmd := exec.Command(self, o.args()...)
		cmd.Stdout, cmd.Stderr = &said[i], os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if startErr := cmd.Start(); startErr != nil {
			err = errors.Join(err, startErr)
			continue
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		late := time.AfterFunc(waitStart+waitTurn+patience, func() { _ = cmd.Process.Kill() })
		err = errors.Join(err, cmd.Wait())
		late.Stop()
	}
	if err != nil {
		return 0, err
	}
	return partOf(o, said)
}

// partOf sums up what the processes have said.
func partOf(o waiting, said []strings.Builder) (float64, error) {
	var all field.Waited
	for i := range said {
		var n int
		var last int64
		if _, err := fmt.Sscan(said[i].String(), &n, &last); err != nil {
			return 0, fmt.Errorf("a process says %q: %w", said[i].String(), err)
		}
		all.Passed += n
		if at := time.Unix(0, last); at.After(all.Last) {
			all.Last = at
		}
	}
	return all.OfLimit(o.start, o.perSecond), nil
}
