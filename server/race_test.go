//go:build race

package server_test

// raceEnabled says that the race detector is on: it allocates.
const raceEnabled = true
