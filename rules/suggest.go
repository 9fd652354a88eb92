package rules

import (
	"slices"
	"strings"
)

// didYouMean returns what to write instead of an unknown name: the nearest of the
// known ones if one is near, else all of them.
func didYouMean(name string, known []string) string {
	best, bestAt := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < bestAt {
			best, bestAt = k, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	if len(known) == 0 {
		return "there is none"
	}
	const most = 12
	if len(known) > most {
		return "one of " + strings.Join(known[:most], ", ") + " and others"
	}
	return "one of " + strings.Join(known, ", ")
}

// distance is the number of letters to insert, delete, change or swap with their
// neighbour to make b of a. Names of more than 64 bytes are far from all others.
func distance(a, b string) int {
	const most = 64
	if len(a) > most || len(b) > most {
		return most
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
