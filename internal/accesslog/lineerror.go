package accesslog

import (
	"fmt"
	"strings"
)

// Reason says in a few fixed words why a line could not be read, so that it can be counted.
type Reason string

// The reasons there are.
const (
	Empty      Reason = "empty"
	TooLong    Reason = "too long"
	NotKnown   Reason = "not a known format"
	NoTime     Reason = "no time"
	BadTime    Reason = "bad time"
	NoAddress  Reason = "no address"
	BadAddress Reason = "bad address"      // A name, a socket file, or no address at all.
	BadRequest Reason = "bad request line" // Its quotes do not open or do not close.
	BadJSON    Reason = "bad JSON"

	readable Reason = ""
)

const (
	maxExcerpt  = 80
	excerptMark = "…"
)

// LineError reports a line that holds no request. Reading goes on after it.
type LineError struct {
	Line   int    // The number of the line, from 1.
	Reason Reason // Why it was not read.
	Text   string // The line's beginning, at most 80 bytes and an ellipsis, ending before a query.
}

// Error names the line, the reason and the text.
func (e *LineError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d: %s: %q", e.Line, e.Reason, e.Text)
}

// excerpt returns the beginning of a line for people to read. It ends before a query, which
// may hold secrets, and shares no memory with the line.
func excerpt(line string) string {
	text := line[:min(len(line), maxExcerpt)]
	if i := strings.IndexByte(text, '?'); i >= 0 {
		text = text[:i]
	}
	whole := len(text) == len(line)
	text = strings.Map(printable, strings.ToValidUTF8(text, "?"))
	if !whole {
		text += excerptMark
	}
	return strings.Clone(text)
}

func printable(r rune) rune {
	if r < ' ' || 0x7f <= r && r < 0xa0 {
		return '?'
	}
	return r
}
