package resp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/memstore"
)

// newConn returns a connection without a client, with counts in memory.
func newConn(t testing.TB) *conn {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Limiter: &stint.Limiter{Store: store}})
	if err != nil {
		t.Fatal(err)
	}
	return &conn{server: s, authenticated: true}
}

func TestIdleLimitMakesRoom(t *testing.T) {
	l := &limits{name: "resp", most: 2, known: make(map[shape]*limit), scanned: -1}
	get := func(burst, second int64) error {
		_, err := l.get(shape{burst, 1, 1}, second)
		return err
	}
	for _, c := range []struct {
		burst, second int64
		ok            bool
	}{
		{1, 0, true},
		{2, 10, true},
		{3, 20, false},
		{1, 30, true},
		{3, 60, false},
		{3, 70, false},
		{3, 71, true}, // in the place of 2, which was used last at 10
		{2, 72, false},
		{1, 72, true},
	} {
		if err := get(c.burst, c.second); (err == nil) != c.ok {
			t.Errorf("limit %d at %d: %v", c.burst, c.second, err)
		}
	}
}

// TestForgottenLimitIsNotUsed: a connection remembers its last limit, which may have
// lost its room meanwhile.
func TestForgottenLimitIsNotUsed(t *testing.T) {
	c := newConn(t)
	c.server.limits.most = 1
	ask := func(burst, second int64) string {
		c.out.b, c.second = nil, second
		c.run(words(fmt.Sprint("CL.THROTTLE k ", burst, " 1 1 0")))
		return string(c.out.b[:1])
	}
	got := ask(1, 0)
	other := &conn{server: c.server, authenticated: true, second: 100}
	other.run(words("CL.THROTTLE k 2 1 1 0"))
	got += string(other.out.b[:1]) + ask(1, 100)
	if got != "**-" {
		t.Errorf("answers %s, want two arrays and an error", got)
	}
}

// TestUseOutlivesItsLimit: a limit that lost its room comes back to the same counts.
func TestUseOutlivesItsLimit(t *testing.T) {
	c := newConn(t)
	c.server.limits.most = 1
	c.run(words("CL.THROTTLE k 9 1 1000 5"))
	for i := range 600 {
		c.out.b, c.second = nil, c.second+idleSeconds+1
		c.run(words(fmt.Sprint("CL.THROTTLE other 9 1 ", i+1, " 0")))
	}
	c.out.b, c.second = nil, c.second+idleSeconds+1
	c.run(words("CL.THROTTLE k 9 1 1000 0"))
	if got := string(c.out.b); got != "*5\r\n:0\r\n:10\r\n:5\r\n:-1\r\n:5000\r\n" {
		t.Errorf("%q", got)
	}
}

// TestThrottleAllocatesNothing: one command of a pipeline from its bytes to its
// answer.
func TestThrottleAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := newConn(t)
	step := func() {
		c.in.filled(copy(c.in.free(), "*6\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser123\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n$1\r\n1\r\n"))
		args, err := c.in.next()
		if err != nil {
			t.Fatal(err)
		}
		c.run(args)
		c.out.b = c.out.b[:0]
	}
	if n := testing.AllocsPerRun(1000, step); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkThrottle(b *testing.B) {
	c := newConn(b)
	b.ReportAllocs()
	for b.Loop() {
		c.in.filled(copy(c.in.free(), "*6\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser123\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n$1\r\n1\r\n"))
		args, _ := c.in.next()
		c.run(args)
		c.out.b = c.out.b[:0]
	}
}

// words splits a command at its blanks.
func words(s string) [][]byte {
	var out [][]byte
	for w := range strings.SplitSeq(s, " ") {
		out = append(out, []byte(w))
	}
	return out
}
