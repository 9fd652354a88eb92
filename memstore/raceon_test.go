//go:build race

package memstore

const underRace = true
