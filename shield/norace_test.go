//go:build !race

package shield_test

const raceEnabled = false
