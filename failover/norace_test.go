//go:build !race

package failover_test

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = false
