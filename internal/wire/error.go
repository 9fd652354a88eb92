package wire

import (
	"strconv"
	"strings"
)

// An Error says what is wrong with a question and where. All errors about questions
// are of this type.
type Error struct {
	// Pointer is a JSON pointer (RFC 6901); empty for the whole question.
	Pointer string
	// Detail says what is wrong and what to write instead.
	Detail string
}

// Error returns pointer and detail in one line.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + ": " + e.Detail
}

// in puts the name of a member before the pointer of an error.
func (e *Error) in(name string) *Error {
	if e != nil {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		e.Pointer = "/" + name + e.Pointer
	}
	return e
}

// at puts the number of an element before the pointer of an error.
func (e *Error) at(i int) *Error {
	if e != nil {
		e.Pointer = "/" + strconv.Itoa(i) + e.Pointer
	}
	return e
}

// asError is e as an error: nil stays nil.
func (e *Error) asError() error {
	if e == nil {
		return nil
	}
	return e
}

// quoted returns a name that somebody made up for an error: printable and short.
func quoted(name string) string {
	const most = 60
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.QuoteToASCII(name)
}
