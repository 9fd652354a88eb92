//go:build !race

package grpclimit_test

// raceEnabled says whether the race detector, which allocates, is on.
const raceEnabled = false
