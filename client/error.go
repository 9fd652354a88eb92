package client

import "fmt"

// An Error is a server's answer that is no decision.
type Error struct {
	// Status is that of the answer.
	Status int
	// Detail says what is wrong; Pointer where, as a JSON pointer into the question.
	Detail, Pointer string
}

// Error returns all of it in one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("the server answered %d", e.Status)
	if e.Pointer != "" {
		s += " about " + e.Pointer
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}
