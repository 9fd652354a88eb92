//go:build race

package config

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = true
