package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is one fault in a file, or one warning.
type Error struct {
	// File is the file's name as it was given.
	File string
	// Line and Column count from 1, the column in characters. They are 0 where
	// the fault is not at one place, such as a file that is not there.
	Line, Column int
	// Text is what stands there, cut if it is long; empty where it is a secret or
	// not a single value.
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

// Errors are all faults of a file in the order of their places. All errors of
// [Load] and [Parse] are of this type.
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

// maxFaults is how many faults are told; more of them are only counted.
const maxFaults = 100

// faults collects what is wrong with a file.
type faults struct {
	file string // the rules file: its faults come first
	list Errors
	more int
	seen map[Error]bool
}

// add keeps e unless the same was said about the same place: what an alias
// repeats is told once.
func (f *faults) add(e *Error) {
	switch {
	case f.seen[*e]:
		return
	case len(f.list) >= maxFaults:
		f.more++
		return
	case f.seen == nil:
		f.seen = make(map[Error]bool)
	}
	f.seen[*e] = true
	f.list = append(f.list, e)
}

// sorted returns what was collected in the order of the places.
func (f *faults) sorted() Errors {
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		if c := strings.Compare(f.rank(a), f.rank(b)); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if f.more == 0 {
		return f.list
	}
	return append(f.list, &Error{File: f.file, Message: fmt.Sprintf("and %d more faults", f.more)})
}

// rank puts the rules file before the files it names.
func (f *faults) rank(e *Error) string {
	if e.File == f.file {
		return ""
	}
	return e.File
}
