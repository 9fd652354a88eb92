package stint

import (
	"syscall"
	"time"
)

// canNap: Linux wakes a thread about 0.1 ms late.
const canNap = true

// nanosleep blocks the thread for d, or less when a signal arrives.
func nanosleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
