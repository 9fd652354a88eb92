package descriptors

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is one fault in a file.
type Error struct {
	// File is the file's name.
	File string
	// Line and Column count from 1, the column in characters. They are 0 where the
	// fault is not at one place.
	Line, Column int
	// Text is what stands there, cut if it is long; empty where it is not a single
	// value.
	Text string
	// Message says what is wrong.
	Message string
	// Hint says what to write instead. It may be empty.
	Hint string
}

// Error returns file:line:column, the message and the hint in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line))
	}
	if e.Line > 0 && e.Column > 0 {
		b.WriteString(":" + strconv.Itoa(e.Column))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

// Errors are all faults of the files, in the order of the files and of the places
// in them. All errors of [Load] and [Parse] are of this type.
type Errors []*Error

// Error returns one fault in each line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults, for errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

const (
	maxFaults = 100 // that are told; more of them are only counted
	maxShown  = 60  // characters of a file's text that a message repeats
)

// faults collects what is wrong.
type faults struct {
	list  Errors
	more  int
	order map[string]int // the files, in their order
}

// add keeps e unless there are too many, or it was said before about this place.
func (f *faults) add(e *Error) {
	if n := len(f.list); n > 0 && *f.list[n-1] == *e {
		return
	}
	if len(f.list) >= maxFaults {
		f.more++
		return
	}
	if f.order == nil {
		f.order = make(map[string]int)
	}
	if _, known := f.order[e.File]; !known {
		f.order[e.File] = len(f.order)
	}
	f.list = append(f.list, e)
}

// err returns what was collected, nil if that is nothing.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(f.order[a.File], f.order[b.File]),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if f.more > 0 {
		return append(f.list, &Error{Message: fmt.Sprintf("and %d more faults", f.more)})
	}
	return f.list
}

// cut shortens s to maxShown characters.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown-1]) + "…"
}

// quote is s in quotes, cut.
func quote(s string) string { return strconv.Quote(cut(s)) }

// oneOf joins words to "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

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
	return "write " + oneOf(known)
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
