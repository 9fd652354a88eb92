package config

import (
	"fmt"
	"strings"
)

// suggest says what may have been meant by name among known.
func suggest(name string, known []string) string {
	best, distance := "", 4
	if len(name) <= 64 {
		for _, k := range known {
			d := edits(strings.ToLower(strings.ReplaceAll(name, "-", "_")), k)
			if d < distance && d <= max(1, len(k)/4) {
				best, distance = k, d
			}
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "write " + oneOf(known)
}

// oneOf joins words to "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// edits is the number of letters to insert, drop, replace or swap with their
// neighbour to make b of a.
func edits(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
