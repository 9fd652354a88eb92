package redisstore

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
)

// scanned follows text in pieces of n bytes, and returns how many bytes are right
// and how many answers begin in them.
func scanned(text string, n int) (right, answers int, ok bool) {
	var f framing
	for at := 0; at < len(text); at += n {
		piece := text[at:min(at+n, len(text))]
		k, ok := f.scan([]byte(piece), func(int) bool {
			answers++
			return true
		})
		if !ok {
			return at + k, answers, false
		}
	}
	return len(text), answers, true
}

func TestFraming(t *testing.T) {
	for _, c := range []struct {
		text    string
		answers int
		right   int // where it ends to be right, -1 if it does not
	}{
		{"+OK\r\n:12\r\n-ERR no\r\n", 3, -1},
		{"$3\r\n\r\n\n\r\n$0\r\n\r\n$-1\r\n_\r\n", 4, -1},
		{"*2\r\n*0\r\n*2\r\n:1\r\n$1\r\na\r\n*-1\r\n+a\r\n", 3, -1},
		{"%1\r\n+a\r\n~1\r\n#t\r\n,1.5\r\n(12\r\n=5\r\ntxt:a\r\n>1\r\n+x\r\n", 5, -1},
		{"$", 1, -1},
		{"$-5\r\n", 1, 4},
		{"$-0\r\n", 1, 4},
		{"$-\r\n", 1, 2},
		{"$\r\n", 1, 1},
		{"$?\r\n", 1, 1},
		{"$99999999999999999999\r\n", 1, 8},
		{"$1\r\nab\r\n", 1, 5},
		{"*-7\r\n", 1, 4},
		{"*1048577\r\n", 1, 9},
		{"%-1\r\n", 1, 1},
		{"~-1\r\n", 1, 1},
		{"|1\r\n+a\r\n+b\r\n+c\r\n", 1, 1},
		{"+a\nb\r\n", 1, 2},
		{"+a\rb\r\n", 1, 3},
		{"\n", 1, -1},
		{"HTTP/1.1 400 Bad Request\r\n", 1, 1},
		{"#x\r\n", 1, 1},
		{"_x\r\n", 1, 1},
		{strings.Repeat("*1\r\n", maxDepth) + "*1\r\n", 1, 4*maxDepth + 3},
		{"+" + strings.Repeat("a", maxLine+1), 1, maxLine + 1},
		{"*2\r\n$16777216\r\n" + strings.Repeat("a", maxBytes) + "\r\n$1\r\na\r\n", 1, 4 + 11 + maxBytes + 2 + 3},
	} {
		for _, n := range []int{1, 3, 1 << 25} {
			if len(c.text) > maxBytes && n < 1<<25 {
				continue
			}
			right, answers, ok := scanned(c.text, n)
			if ok != (c.right < 0) || !ok && right != c.right || answers != c.answers {
				t.Errorf("%.40q in pieces of %d: right up to %d, %v, %d answers; want %d, %d answers",
					c.text, n, right, ok, answers, c.right, c.answers)
			}
		}
	}
}

// FuzzFraming: how the bytes come in pieces makes no difference, and what is right
// stays right.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{"+OK\r\n$3\r\nabc\r\n", "*2\r\n:1\r\n$-1\r\n%1\r\n+a\r\n_\r\n", "$-5\r\n", "*1\r\n*1\r\n#t\r\n>0\r\n"} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		right, answers, ok := scanned(text, max(len(text), 1))
		if r, a, o := scanned(text, int(n)+1); r != right || a != answers || o != ok {
			t.Fatalf("in pieces of %d: %d %d %v, in one %d %d %v", n+1, r, a, o, right, answers, ok)
		}
		if r, _, ok := scanned(text[:right], int(n)+1); r != right || !ok {
			t.Fatalf("what is right is not: %d of %d", r, right)
		}
	})
}

// scriptedConn is a connection that answers each Write with the same text.
type scriptedConn struct {
	net.Conn
	text, rest string
	fails      error // the next time
}

func (c *scriptedConn) Close() error { return nil }

func (c *scriptedConn) Write(b []byte) (int, error) {
	if c.fails != nil {
		return 0, c.fails
	}
	c.rest += c.text
	return len(b), nil
}

func (c *scriptedConn) Read(b []byte) (int, error) {
	if c.fails != nil {
		return 0, c.fails
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

const (
	command = "*4\r\n$7\r\nEVALSHA\r\n$3\r\nsha\r\n$1\r\n1\r\n$3\r\nkey\r\n"
	answer  = "$25\r\n0123456789012345678901234\r\n"
)

func TestGuardAllocatesNothing(t *testing.T) {
	g := &guard{Conn: new(scriptedConn)}
	question, buffer := []byte(command), make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = g.Write(question)
		g.Conn.(*scriptedConn).rest = answer
		if n, err := g.Read(buffer); n != len(answer) || err != nil {
			t.Fatal(n, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

func TestGuardLetsNothingThroughThatNobodyAskedFor(t *testing.T) {
	for _, c := range []struct {
		name, command, text string
		right               int // bytes, -1 if all are
	}{
		{"an answer", command, answer, -1},
		{"two commands at once", command + command, answer + answer, -1},
		{"one more answer", command, answer + answer, len(answer)},
		{"a message", command, ">2\r\n+a\r\n+b\r\n" + answer, 0},
		{"a message behind the answer", command, answer + ">2\r\n+a\r\n+b\r\n", len(answer)},
		{"a message in the answer", command, "*2\r\n>2\r\n+a\r\n+b\r\n+c\r\n", 4},
		{"messages although some are asked for", "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n", ">1\r\n+a\r\n", 0},
	} {
		g := &guard{Conn: &scriptedConn{text: c.text}}
		if _, err := g.Write([]byte(c.command)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 1000)
		n, err := g.Read(buffer)
		if c.right < 0 && (n != len(c.text) || err != nil) || c.right >= 0 && (n != c.right || !errors.Is(err, errGarbled)) {
			t.Errorf("%s: %d bytes, error %v, want %d of %d", c.name, n, err, c.right, len(c.text))
		}
		if _, err := g.Read(buffer); c.right >= 0 && !errors.Is(err, errGarbled) {
			t.Errorf("%s: goes on with %v", c.name, err)
		}
	}
}

// TestGuardLetsNothingThroughThatComesTooLate: the client has forgotten the question
// when it gives up on the answer.
func TestGuardLetsNothingThroughThatComesTooLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		giveUp func(g *guard, conn *scriptedConn) error
	}{
		{"a deadline", func(g *guard, conn *scriptedConn) error {
			conn.fails = os.ErrDeadlineExceeded
			_, err := g.Read(make([]byte, 10))
			conn.fails = nil
			return err
		}},
		{"a question that did not leave", func(g *guard, conn *scriptedConn) error {
			conn.fails = os.ErrDeadlineExceeded
			_, err := g.Write([]byte(command))
			conn.fails = nil
			return err
		}},
		{"closed, slowly", func(g *guard, conn *scriptedConn) error {
			_ = g.Close()
			return os.ErrDeadlineExceeded
		}},
	} {
		conn := &scriptedConn{text: answer}
		g := &guard{Conn: conn}
		if _, err := g.Write([]byte(command)); err != nil {
			t.Fatal(err)
		}
		if err := c.giveUp(g, conn); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if n, err := g.Read(make([]byte, 1000)); n != 0 || err == nil {
			t.Errorf("%s: %d bytes come late, error %v", c.name, n, err)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	g := &guard{Conn: &scriptedConn{}}
	question, buffer := []byte(command), make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = g.Write(question)
		g.Conn.(*scriptedConn).rest = answer
		if _, err := g.Read(buffer); err != nil {
			b.Fatal(err)
		}
	}
}
