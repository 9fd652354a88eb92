//go:build !race

package httplimit_test

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = false
