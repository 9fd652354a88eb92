package descriptors

import (
	"strings"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// Error is one fault in a file: its File, Line and Column, the Text that stands
// there, the Message, and as a Hint what to write instead. Lines and columns count
// from 1, columns in characters, and are 0 where the fault is not at one place. The
// Text is cut if it is long, and empty where it is not a single value. The Hint may
// be empty.
type Error = yamlfile.Error

// Errors are all faults of the files, in the order of the files and of the places
// in them. All errors of [Load] and [Parse] are of this type.
type Errors = yamlfile.Errors

// didYouMean names the one of known that is nearest to name, or all of them.
func didYouMean(name string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := edits(strings.ToLower(name), k); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "write " + yamlfile.OneOf(known)
}

// edits is the number of letters to add, drop or change between two words, for
// words of a sensible length.
func edits(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
