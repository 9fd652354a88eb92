//go:build race

package gateway

// raceEnabled says that the race detector, which allocates and is slow, is on.
const raceEnabled = true
