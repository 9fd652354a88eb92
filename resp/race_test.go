//go:build race

package resp

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = true
