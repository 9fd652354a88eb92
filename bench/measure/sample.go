// Package measure times functions beside each other on a machine that others use
// too: each is given many short turns, in turn, and what is reported is a median.
package measure

import (
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Sample is what some operations cost, for each of them.
type Sample struct {
	// Wall is the time from the first to the last, CPU what the process used
	// meanwhile, in nanoseconds.
	Wall, CPU float64
	// Bytes and Allocs are what was allocated.
	Bytes, Allocs float64
}

// Of calls f in workers goroutines, each with its number, and charges the cost to
// ops operations.
func Of(ops, workers int, f func(worker int)) Sample {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	together(workers, f)
	wall, used := time.Since(start), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	n := float64(ops)
	return Sample{
		Wall:   float64(wall) / n,
		CPU:    float64(used) / n,
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
		Allocs: float64(after.Mallocs-before.Mallocs) / n,
	}
}

func together(workers int, f func(worker int)) {
	if workers == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(w) })
	}
	wg.Wait()
}

// cpuTime is the time the process has used, in user and in system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
