package redisstore

import (
	"errors"
	"net"
	"sync/atomic"
)

// errGarbled means that what answers is not Redis, or that bytes of its answers
// have been lost. The connection is given up.
var errGarbled = errors.New("what answers does not speak like Redis")

// guard is a connection that looks at answers before the client reads them. The
// client believes what it reads: of a length that can not be, and of an answer to
// nothing, it panics. Of all that the guard lets through it makes an answer or an
// error.
//
// A server that says that it is not the one to ask, see [refusalOf], gets asked no more:
// the guard ends the connection in the place of that answer, so that the next call makes
// another one. Calls on other connections are not concerned.
//
// What has failed once stays so: an answer that comes after the client has given up
// on it would be one to nothing too.
type guard struct {
	net.Conn
	out, in framing
	asked   atomic.Int64 // commands on their way that are not answered
	closed  atomic.Bool
	failed  error       // of Read
	refused func(error) // is told why the server is asked no more
}

// newGuard guards a connection.
func newGuard(c net.Conn, refused func(error)) *guard {
	g := &guard{Conn: c, refused: refused}
	g.in.refusal = refusalOf
	return g
}

// Write implements [net.Conn].
func (g *guard) Write(b []byte) (int, error) {
	// What the client says is right; it is only counted.
	_, _ = g.out.scan(b, func(int) bool {
		g.asked.Add(1)
		return true
	})
	n, err := g.Conn.Write(b)
	if err != nil {
		g.closed.Store(true)
	}
	return n, err
}

// Close implements [net.Conn]. Nothing is read any more, also where TLS takes its
// time to say goodbye.
func (g *guard) Close() error {
	g.closed.Store(true)
	return g.Conn.Close()
}

// Read implements [net.Conn]. It returns what is right before what is not.
func (g *guard) Read(b []byte) (n int, err error) {
	if g.failed != nil {
		return 0, g.failed
	}
	if n, err = g.Conn.Read(b); g.closed.Load() {
		n, err = 0, net.ErrClosed
	}
	right, ok := g.in.scan(b[:n], func(i int) bool { return b[i] != '>' && g.asked.Add(-1) >= 0 })
	if !ok {
		n, err = right, errGarbled
		if g.in.refused != nil {
			err = g.in.refused
			g.refused(err)
		}
	}
	g.failed = err
	return n, err
}

// Bounds of what is read. An answer of the script is a few kilobytes, the longest
// that the client asks for is about the nodes of a cluster.
const (
	maxDepth    = 16      // of lists in lists
	maxElements = 1 << 20 // of an answer, in all its lists
	maxBytes    = 1 << 24 // of an answer, in all its texts
	maxLine     = 1 << 16
	maxError    = 1 << 8 // of an error, as much as is looked at
)

// framing follows the protocol of Redis through the pieces in which it comes.
type framing struct {
	kind   byte // of the line under way, 0 before one
	line   int  // its bytes so far, without kind
	number int64
	minus  bool
	last   byte // the byte before

	body  int64           // bytes to come of a text, with its end
	depth int             // lists under way
	left  [maxDepth]int64 // elements to come of each

	elements, bytes int64 // of the answer so far

	refusal func(answer []byte) error // of an answer that is an error; nil: there is none
	said    []byte                    // of that answer, its beginning
	refused error                     // what refusal has returned, if scan has ended by it
}

// scan follows b, telling begin where each answer or command begins. It returns
// how many bytes are right, and whether that is all. Once it is not, framing is of
// no use any more.
func (f *framing) scan(b []byte, begin func(i int) bool) (right int, ok bool) {
	for i := 0; i < len(b); i++ {
		switch {
		case f.body > 2:
			n := min(f.body-2, int64(len(b)-i))
			f.body -= n
			i += int(n) - 1
		case f.body > 0:
			if b[i] != "\n\r"[f.body-1] {
				return i, false
			}
			if f.body--; f.body == 0 {
				f.end()
			}
		case f.kind == 0:
			if f.depth == 0 {
				f.elements, f.bytes = 0, 0
				if !begin(i) {
					return i, false
				}
			} else if b[i] == '>' {
				return i, false // no message comes in the middle of an answer
			}
			f.kind, f.line, f.number, f.minus = b[i], 0, 0, false
		case !f.next(b[i]):
			return i, false
		}
	}
	return len(b), true
}

// next follows a byte of a line behind its kind.
func (f *framing) next(c byte) bool {
	before := f.last
	f.last = c
	f.line++
	if c == '\n' {
		return f.line > 1 && before == '\r' && f.close()
	}
	if f.line > maxLine || f.line > 1 && before == '\r' {
		return false
	}
	switch f.kind {
	case '+', ':', ',', '(':
		return true
	case '-':
		f.hear(c)
		return true
	case '_':
		return c == '\r'
	case '#':
		return (f.line == 1) == (c == 't' || c == 'f') && f.line <= 2
	case '$', '!', '=', '*', '%', '~', '>':
		return f.digit(c)
	}
	return false // among others what is of no known length, and what nobody asks for
}

// hear keeps a byte of an answer that is an error.
func (f *framing) hear(c byte) {
	switch {
	case f.refusal == nil || f.depth > 0:
	case f.line == 1:
		f.said = append(f.said[:0], c)
	case len(f.said) < maxError && c != '\r':
		f.said = append(f.said, c)
	}
}

// digit follows a byte of a length.
func (f *framing) digit(c byte) bool {
	switch {
	case c == '\r':
		return f.line > 1 && (!f.minus || f.line > 2)
	case c == '-':
		f.minus = true
		return f.line == 1 && (f.kind == '$' || f.kind == '*')
	case c < '0' || c > '9':
		return false
	}
	f.number = f.number*10 + int64(c-'0')
	return f.number <= maxBytes
}

// close follows the end of a line.
func (f *framing) close() bool {
	kind, n := f.kind, f.number
	f.kind = 0
	switch kind {
	case '-':
		if f.refusal != nil && f.depth == 0 {
			f.refused = f.refusal(f.said)
		}
		if f.refused != nil {
			return false
		}
	case '$', '!', '=':
		if !f.minus {
			f.body = n + 2
			f.bytes += n
			return f.bytes <= maxBytes
		}
	case '%':
		return f.open(2 * n)
	case '*', '~', '>':
		if !f.minus {
			return f.open(n)
		}
	}
	if f.minus && n != 1 {
		return false
	}
	f.end()
	return true
}

// open begins a list of n elements.
func (f *framing) open(n int64) bool {
	if n == 0 {
		f.end()
		return true
	}
	if f.elements += n; f.depth == maxDepth || f.elements > maxElements {
		return false
	}
	f.left[f.depth] = n
	f.depth++
	return true
}

// end ends an element, and the lists of which it is the last.
func (f *framing) end() {
	for f.depth > 0 {
		if f.left[f.depth-1]--; f.left[f.depth-1] > 0 {
			return
		}
		f.depth--
	}
}
