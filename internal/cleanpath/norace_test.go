//go:build !race

package cleanpath

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = false
