package clientip

// A chain hands out the elements of a header's lines from right to left: the
// last line first, and of each line the last element first. It never looks
// left of the element it hands out, so that what a client wrote cannot change
// how the words of a proxy further right are read.
type chain struct {
	lines []string // The lines not begun.
	line  string   // What is left of the line begun.
	begun bool     // Whether line holds another element, if an empty one.
}

// next returns the next element, without the blanks around it; ok is false when
// there is none, or none that can be read. A comma inside a quoted string does
// not part elements.
func (c *chain) next() (element string, ok bool) {
	if !c.begun {
		if len(c.lines) == 0 {
			return "", false
		}
		last := len(c.lines) - 1
		c.line, c.lines = c.lines[last], c.lines[:last]
	}
	comma, ok := lastComma(c.line)
	if !ok {
		return "", false
	}
	element, c.begun = c.line[comma+1:], comma >= 0
	c.line = c.line[:max(comma, 0)]
	return trimBlanks(element), true
}

// lastComma returns the index of the comma before the last element of line, or
// -1 where line is one element. It is not ok where the element is longer than
// maxElementBytes or its quotes do not pair.
func lastComma(line string) (int, bool) {
	quoted := false
	for i := len(line) - 1; i >= 0; i-- {
		if len(line)-1-i > maxElementBytes {
			return 0, false
		}
		switch {
		case isQuote(line, i):
			quoted = !quoted
		case line[i] == ',' && !quoted:
			return i, true
		}
	}
	return -1, len(line) <= maxElementBytes && !quoted
}

// isQuote reports whether a quoted string begins or ends at s[i]. A quote
// behind an odd number of backslashes is an escaped one.
func isQuote(s string, i int) bool {
	if s[i] != '"' {
		return false
	}
	before := i
	for before > 0 && i-before <= maxElementBytes && s[before-1] == '\\' {
		before--
	}
	return (i-before)%2 == 0
}
