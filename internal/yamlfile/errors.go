package yamlfile

import (
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

// Errors are faults in the order of their places.
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
