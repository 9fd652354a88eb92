package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is a bare server where the program runs itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-serve" {
		sizes := ""
		if len(os.Args) > 4 {
			sizes = os.Args[4]
		}
		if err := serve(os.Args[2], sizes); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestRun runs every part, as short as can be.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server")
	}
	program := filepath.Join(t.TempDir(), "stint")
	build := exec.Command("go", "build", "-o", program, "./cmd/stint")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var b strings.Builder
	if err := run(&b, options{rounds: 1, turn: 30 * time.Millisecond, command: program, ratelimit: "no-such-program"}, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"left out: there is no no-such-program", "one descriptor of 10000", "at the same rate", "three descriptors", "one key over its limit",
		"a described request", "an explicit charge", "a batch of 100", "CL.THROTTLE, 1 at a time", "CL.THROTTLE, 1000 at a time",
		"CPU of a call on Redis, three descriptors",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in what was printed", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose("e, a")
	if err != nil || len(chosen) != 2 || chosen[0].name != "e" || chosen[1].name != "a" {
		t.Errorf("got %v, %v", chosen, err)
	}
	if _, err := choose("a,z"); err == nil {
		t.Error("a part that is not there is taken")
	}
}

// TestProcessorTime has a process burn some.
func TestProcessorTime(t *testing.T) {
	before, err := cpuOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
		n++
	}
	after, err := cpuOf(os.Getpid())
	if used := after - before; err != nil || used <= 0 || used > 10*time.Second {
		t.Errorf("%v used by %d turns of a loop, %v", used, n, err)
	}
	if _, err := cpuOf(1 << 24); err == nil {
		t.Error("a process that does not exist has used time")
	}
}

// TestRunCounts has callers of which one in four questions of two units is refused.
func TestRunCounts(t *testing.T) {
	s := &subject{name: "s", pid: os.Getpid(), refused: 0.25}
	for range 4 {
		n := 0
		s.callers = append(s.callers, func() (answer, error) {
			if n++; n%2 == 0 {
				return answer{2, 1}, nil
			}
			time.Sleep(time.Millisecond)
			return answer{2, 0}, nil
		})
	}
	r, err := load{time: 40 * time.Millisecond, rate: 400}.run(s)
	if err != nil {
		t.Fatal(err)
	}
	if r.perSecond < 400 || r.perSecond > 1000 || r.p50 > r.p99 || r.p99 > r.p999 || r.p99 < 1000 {
		t.Errorf("got %+v: want about 800 units a second, and 1 ms for the slower ones", r)
	}
	s.refused = 0
	if _, err := (load{time: 10 * time.Millisecond}).run(s); err == nil {
		t.Error("refusals where none are due are no error")
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		text    string
		limited bool
		ok      bool
	}{
		{":7\r\n", false, true},
		{"*5\r\n:0\r\n:1\r\n:2\r\n:-1\r\n:3\r\n", false, true},
		{"*5\r\n:1\r\n:1\r\n:2\r\n:-1\r\n:3\r\n", true, true},
		{"-ERR no\r\n", false, false},
		{"*1000\r\n", false, false},
		{"\r\n", false, false},
		{"", false, false},
	} {
		limited, err := (&respConn{r: reader(t, c.text).r}).reply()
		if limited != c.limited || (err == nil) != c.ok {
			t.Errorf("%q: got %v, %v: want %v, ok %v", c.text, limited, err, c.limited, c.ok)
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"HTTP/1.1 200 OK\r\nX: y\r\ncontent-length: 2\r\n\r\nhi", true},
		{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", false},
		{"HTTP/1.1 200 OK\r\n\r\n", false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", false},
		{"", false},
	} {
		h := reader(t, c.text)
		if err := h.read(); (err == nil) != c.ok || c.ok && !bytes.Equal(h.body, []byte("hi")) {
			t.Errorf("%q: got %q, %v: want ok %v", c.text, h.body, err, c.ok)
		}
	}
}

// reader is a connection whose other end says text and closes it.
func reader(t *testing.T, text string) *httpConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := dialHTTP(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return c
}
