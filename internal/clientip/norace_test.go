//go:build !race

package clientip

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = false
