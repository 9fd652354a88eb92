//go:build race

package rls_test

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = true
