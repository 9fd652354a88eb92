package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/stint-dev/stint/bench/field"
)

// load is what a limiter is asked: by so many goroutines, each one request after
// the other, for so long.
type load struct {
	callers int
	time    time.Duration
	// keys returns the keys of the i-th request.
	keys func(i int) []string
	on   servers

	times []histogram // by caller, used again
}

// result is how a limiter bore it. Costs are for each request.
type result struct {
	perSecond       float64
	p50, p99        float64 // microseconds
	redis, client   float64 // microseconds of processor time
	reads, commands float64
	allocs          float64
	refused, failed float64 // parts of all
	requests        int
}

// tally is what one caller has seen.
type tally struct {
	requests, refused, failed int
	failure                   error
	_                         [64]byte
}

// run asks l until the time is over.
func (d *load) run(l field.Shared) (result, error) {
	if len(d.times) == 0 {
		d.times = make([]histogram, d.callers)
	}
	clear(d.times)
	tallies := make([]tally, d.callers)
	before, err := d.on.stats()
	if err != nil {
		return result{}, err
	}
	allocs, cpu, begin := mallocs(), cpuTime(), time.Now()
	end := begin.Add(d.time)
	var all sync.WaitGroup
	for i := range d.callers {
		all.Go(func() { d.call(l, i, end, &tallies[i]) })
	}
	all.Wait()
	took, used, made := time.Since(begin), cpuTime()-cpu, mallocs()-allocs
	after, err := d.on.stats()
	if err != nil {
		return result{}, err
	}
	return d.sum(tallies, took, used, made, after.since(before, len(d.on)))
}

// call is one caller. Callers begin at different keys and go on by as many as there
// are callers, so that together they use each key as often as any other.
func (d *load) call(l field.Shared, caller int, end time.Time, t *tally) {
	ctx, h := context.Background(), &d.times[caller]
	for now := time.Now(); now.Before(end); t.requests++ {
		ok, err := l.Allow(ctx, d.keys(caller+t.requests*d.callers))
		switch {
		case err != nil:
			t.failed++
			t.failure = err
		case !ok:
			t.refused++
		}
		answered := time.Now()
		h.add(answered.Sub(now))
		now = answered
	}
}

func (d *load) sum(tallies []tally, took, used time.Duration, allocs uint64, did stats) (result, error) {
	var h histogram
	var t tally
	for i := range tallies {
		t.requests += tallies[i].requests
		t.refused += tallies[i].refused
		t.failed += tallies[i].failed
		if t.failure == nil {
			t.failure = tallies[i].failure
		}
		h.merge(&d.times[i])
	}
	if t.requests == t.failed {
		return result{}, fmt.Errorf("every one of %d requests failed: %w", t.requests, t.failure)
	}
	n := float64(t.requests)
	return result{
		requests: t.requests, perSecond: n / took.Seconds(),
		p50: micros(h.quantile(0.5)), p99: micros(h.quantile(0.99)),
		redis: micros(did.cpu) / n, client: micros(used) / n,
		reads: float64(did.reads) / n, commands: float64(did.commands) / n,
		allocs:  float64(allocs) / n,
		refused: float64(t.refused) / n, failed: float64(t.failed) / n,
	}, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// cpuTime is what this process has used, in user and in system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
