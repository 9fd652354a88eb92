package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf is the time that all threads of a process have used so far, to the
// nanosecond: on Linux every process has a clock for it, whose number is made of
// its own. /proc tells the same in steps of 10 ms, as much as a turn may cost.
func cpuOf(pid int) (time.Duration, error) {
	const ofProcess = 2 // the time that the scheduler counts
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|ofProcess), &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}
