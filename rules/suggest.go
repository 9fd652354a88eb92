package rules

import "strings"

// DidYouMean says what to write instead of name, which is none of known: the
// nearest of them if one is near, else all of them. Case does not count, and
// neither does a hyphen for an underscore.
func DidYouMean(name string, known []string) string {
	if near, ok := nearest(name, known); ok {
		return "did you mean " + near + "?"
	}
	const most = 20
	switch n := len(known); {
	case n == 0:
		return "there is none"
	case n == 1:
		return "write " + known[0]
	case n > most:
		return "write " + strings.Join(known[:most], ", ") + " or another"
	default:
		return "write " + strings.Join(known[:n-1], ", ") + " or " + known[n-1]
	}
}

// maxKnown is how many words a name is compared with.
const maxKnown = 1000

// nearest returns the known word that name is probably meant to be. Of very many words
// it looks at the first only: names come from requests too.
func nearest(name string, known []string) (near string, ok bool) {
	name = plainWord(name)
	best := 4
	for _, k := range known[:min(len(known), maxKnown)] {
		if d := distance(name, plainWord(k)); d < best && d <= max(1, len(k)/4) {
			near, best, ok = k, d, true
		}
	}
	return near, ok
}

// plainWord is a word without what people mix up first.
func plainWord(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }

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
