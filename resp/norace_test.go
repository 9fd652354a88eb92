//go:build !race

package resp

// raceEnabled says whether the race detector, which allocates, is on.
const raceEnabled = false
