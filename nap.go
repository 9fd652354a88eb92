package stint

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// shortNap is below what the runtime's timers can do: a process that has nothing
	// else to do sleeps in whole milliseconds, so a shorter wait takes one all the same.
	shortNap = time.Millisecond
	// early is how much before its time a nap ends, about what the kernel takes to wake
	// a thread. What is left then is spent in letting other goroutines run.
	early = 100 * time.Microsecond
	// mostYields bounds that where time is simulated and stands still.
	mostYields = 2000
)

// naps are short waits that the kernel times. Each blocks a thread, and so it does not
// see that a context ends: there are only short ones, and fewer at once than there are
// processors for Go code.
type naps struct{ under atomic.Int32 }

// nap blocks for d, if d is short and the machine can do that better than a timer. It
// reports whether it did.
func (n *naps) nap(d time.Duration) bool {
	if d > shortNap || !canNap {
		return false
	}
	defer n.under.Add(-1)
	if int(n.under.Add(1)) >= runtime.GOMAXPROCS(0) {
		return false
	}
	due := time.Now().Add(d)
	if d > early {
		nanosleep(d - early)
	}
	for i := 0; i < mostYields && time.Now().Before(due); i++ {
		runtime.Gosched()
	}
	return true
}
