//go:build !linux

package stint

import "time"

// canNap is false where the runtime's timers are left to themselves.
const canNap = false

func nanosleep(time.Duration) {}
