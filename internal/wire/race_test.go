//go:build race

package wire_test

// raceEnabled says that the race detector is on: it allocates.
const raceEnabled = true
