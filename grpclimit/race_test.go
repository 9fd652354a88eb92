//go:build race

package grpclimit_test

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = true
