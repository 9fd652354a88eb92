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

// ask runs one command and returns its answer on one line.
func (c *conn) ask(command string) string {
	c.out.b = nil
	c.run(words(command), false)
	c.settle()
	return strings.Join(strings.Fields(strings.ReplaceAll(string(c.out.b), ":", "")), " ")
}

// TestTenThousandLimits: a program has a limit for each of its customers. Each is kept,
// and what a key has used stays when its limit changes, also to one of another key.
func TestTenThousandLimits(t *testing.T) {
	const many = 10_000
	c := newConn(t)
	for round := range 2 {
		for i := range many {
			burst := (i+round*many/2)%many + 10
			command := fmt.Sprintf("CL.THROTTLE user%d %d 1 1000 2", i, burst)
			want := fmt.Sprintf("*5 0 %d %d -1 ", burst+1, burst+1-2*(round+1))
			if got := c.ask(command); !strings.HasPrefix(got, want) {
				t.Fatalf("%s: %s, want %s", command, got, want)
			}
		}
	}
}

// TestKnownLimitsAreBounded: however many limits there were, few are remembered, and
// no count is lost with those that are forgotten.
func TestKnownLimitsAreBounded(t *testing.T) {
	c := newConn(t)
	c.server.limits.most = 50
	c.ask("CL.THROTTLE k 9 1 1000 5")
	for i := range 2000 {
		c.ask(fmt.Sprintf("CL.THROTTLE user%d 9 1 %d 1", i%100, i+1))
		if n := c.server.limits.known(); n > 100 {
			t.Fatalf("%d limits are known after %d", n, i+2)
		}
	}
	if got := c.ask("CL.THROTTLE k 9 1 1000 0"); !strings.HasPrefix(got, "*5 0 10 5 -1 ") {
		t.Error(got)
	}
}

// TestLimitInUseIsNotForgotten: others come and go.
func TestLimitInUseIsNotForgotten(t *testing.T) {
	l := newLimits(&Options{Name: "resp", MaxLimits: 20})
	get := func(burst int64) *stint.Policy {
		p, err := l.get(limit{shape: shape{burst, 1, 1}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	mine := get(0)
	for i := range int64(1000) {
		if get(i + 1); i%5 == 0 && get(0) != mine {
			t.Fatalf("made again after %d others", i+1)
		}
	}
}

// TestNameOfAKey: servers that share a store must agree, in all versions.
func TestNameOfAKey(t *testing.T) {
	for key, want := range map[string]uint8{"": 0, "user123": 0x77, "a\x00b\r\n": 0x7d} {
		if got := nameOf([]byte(key)); got != want {
			t.Errorf("%q: %#x, want %#x", key, got, want)
		}
	}
	used := make(map[uint8]bool)
	for i := range 10_000 {
		used[nameOf(fmt.Appendf(nil, "user%d", i))] = true
	}
	if len(used) != names {
		t.Errorf("%d names are used, want %d", len(used), names)
	}
}

// TestObserverSeesOnePolicy: metrics have one line for the door.
func TestObserverSeesOnePolicy(t *testing.T) {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	s, err := New(Options{Name: "throttle", Limiter: &stint.Limiter{Store: store, Observe: func(d *stint.Decision) {
		seen[d.Policy+" "+d.Results[0].Policy]++
	}}})
	if err != nil {
		t.Fatal(err)
	}
	c := &conn{server: s, authenticated: true}
	for i := range 1000 {
		c.ask(fmt.Sprintf("CL.THROTTLE user%d 9 1 1000", i))
	}
	if len(seen) != 1 || seen["throttle throttle"] != 1000 {
		t.Errorf("%v", seen)
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
		c.run(args, false)
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
		c.run(args, false)
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
