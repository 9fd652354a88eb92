//go:build race

package admin

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = true
