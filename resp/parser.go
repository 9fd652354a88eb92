package resp

import (
	"bytes"
	"errors"
)

// Bounds of a command.
const (
	maxArgs   = 128      // arguments, the command's name included
	maxBulk   = 16 << 10 // bytes of an argument
	maxInline = 16 << 10 // bytes of an inline command
	maxBytes  = 64 << 10 // bytes of a whole command
	firstSize = 4 << 10  // of the buffer of a connection
	maxDigits = 20       // of a length
)

// errMore says that the buffer holds no whole command.
var errMore = errors.New("more bytes are needed")

// protocolError ends a connection: what follows can not be told apart any more.
type protocolError string

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

// parser splits what a client sent into commands. It holds at most maxBytes and
// what comes with them in one read.
type parser struct {
	buf  []byte
	r, w int // buf[r:w] is what was not parsed yet
	args [][]byte
}

// free returns where to read into. There is always room: it is called when there is
// no whole command, and a command has at most maxBytes.
func (p *parser) free() []byte {
	switch {
	case p.buf == nil:
		p.buf = make([]byte, firstSize)
	case p.r == p.w:
		p.r, p.w = 0, 0
	case p.r > 0 && (p.w == len(p.buf) || p.r > len(p.buf)/2):
		p.w, p.r = copy(p.buf, p.buf[p.r:p.w]), 0
	}
	if p.w == len(p.buf) {
		p.buf = append(p.buf, make([]byte, len(p.buf))...)
	}
	return p.buf[p.w:]
}

// filled says that n bytes were read. A buffer that was filled up grows, so that
// long pipelines need few reads.
func (p *parser) filled(n int) {
	p.w += n
	if p.w == len(p.buf) && len(p.buf) < maxBytes {
		p.buf = append(p.buf, make([]byte, len(p.buf))...)
	}
}

// begun says whether part of a command is there.
func (p *parser) begun() bool { return p.r < p.w }

// next returns the next command; its arguments are valid until free is called. A
// command of no arguments is skipped.
func (p *parser) next() ([][]byte, error) {
	for p.begun() {
		p.args = p.args[:0]
		var n int
		var err error
		if p.buf[p.r] == '*' {
			n, err = p.array(p.buf[p.r:p.w])
		} else {
			n, err = p.inline(p.buf[p.r:p.w])
		}
		if err != nil {
			if errors.Is(err, errMore) && p.w-p.r >= maxBytes {
				err = protocolError("command of more than 65536 bytes")
			}
			return nil, err
		}
		p.r += n
		if len(p.args) > 0 {
			return p.args, nil
		}
	}
	return nil, errMore
}

// array parses an array of bulk strings at the beginning of b and returns its
// length.
func (p *parser) array(b []byte) (int, error) {
	count, at, err := length(b, 1)
	switch {
	case errors.Is(err, errMore):
		return 0, err
	case err != nil || count > maxArgs:
		return 0, protocolError("invalid multibulk length")
	}
	for range count {
		if at == len(b) {
			return 0, errMore
		}
		if b[at] != '$' {
			return 0, protocolError("expected '$', got '" + printable(b[at:at+1]) + "'")
		}
		size, from, err := length(b, at+1)
		switch {
		case errors.Is(err, errMore):
			return 0, err
		case err != nil || size < 0 || size > maxBulk:
			return 0, protocolError("invalid bulk length")
		}
		end := from + size
		if len(b) < end+2 {
			return 0, errMore
		}
		if b[end] != '\r' || b[end+1] != '\n' {
			return 0, protocolError("no line end behind a bulk string")
		}
		p.args = append(p.args, b[from:end:end])
		at = end + 2
	}
	return at, nil
}

// tooMany is above every bound of a length, and ten times as much fits an int of 32
// bits.
const tooMany = 1 << 27

// length reads a number and its line end at b[at:] and returns what is behind. Numbers
// from tooMany on are alike.
func length(b []byte, at int) (n, next int, err error) {
	bad := protocolError("not a number")
	negative := at < len(b) && b[at] == '-'
	if negative {
		at++
	}
	start := at
	for ; at < len(b) && b[at] >= '0' && b[at] <= '9'; at++ {
		if at-start == maxDigits {
			return 0, 0, bad
		}
		n = min(n*10+int(b[at]-'0'), tooMany)
	}
	switch {
	case at == len(b):
		return 0, 0, errMore
	case at == start || b[at] != '\r':
		return 0, 0, bad
	case at+1 == len(b):
		return 0, 0, errMore
	case b[at+1] != '\n':
		return 0, 0, bad
	}
	if negative {
		n = -n
	}
	return n, at + 2, nil
}

// inline parses a line of words at the beginning of b, as people type it, and
// returns its length.
func (p *parser) inline(b []byte) (int, error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 && len(b) < maxInline {
		return 0, errMore
	}
	if end < 0 || end >= maxInline {
		return 0, protocolError("too big inline request")
	}
	line := bytes.TrimSuffix(b[:end], []byte("\r"))
	for {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 {
			return end + 1, nil
		}
		if len(p.args) == maxArgs {
			return 0, protocolError("too many words in an inline request")
		}
		word, rest, ok := cutWord(line)
		if !ok {
			return 0, protocolError("unbalanced quotes in request")
		}
		p.args, line = append(p.args, word), rest
	}
}

// cutWord splits the first word off a line, as Redis does: a part in quotes can hold
// blanks, in double quotes also escapes. The word is written over the line.
func cutWord(line []byte) (word, rest []byte, ok bool) {
	word = line[:0]
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			return word, line[i+1:], true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			after := line[i+1:]
			return word, after, len(after) == 0 || after[0] == ' ' || after[0] == '\t'
		case quote == '"' && c == '\\':
			c, i = unescape(line, i+1)
			word = append(word, c)
		case quote == '\'' && c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			i++
			word = append(word, '\'')
		default:
			word = append(word, c)
		}
	}
	return word, nil, quote == 0
}

// unescape reads the escape behind a backslash, at line[i:], and returns the index
// of its last byte.
func unescape(line []byte, i int) (byte, int) {
	if i >= len(line) {
		return '\\', i
	}
	if line[i] == 'x' && i+2 < len(line) {
		high, low := unhex(line[i+1]), unhex(line[i+2])
		if high >= 0 && low >= 0 {
			return byte(high<<4 | low), i + 2
		}
	}
	switch line[i] {
	case 'n':
		return '\n', i
	case 'r':
		return '\r', i
	case 't':
		return '\t', i
	case 'b':
		return '\b', i
	case 'a':
		return '\a', i
	}
	return line[i], i
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
