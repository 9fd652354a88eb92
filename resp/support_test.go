package resp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/resp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is a whole minute.
var start = time.Unix(1772409600, 0).UTC()

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newLimiter(t testing.TB, c *clock) *stint.Limiter {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &stint.Limiter{Store: store}
	if c != nil {
		l.Clock = c.Now
	}
	return l
}

// serve starts a server on a free port and returns it and its address.
func serve(t testing.TB, o resp.Options) (*resp.Server, string) {
	t.Helper()
	s, err := resp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, resp.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, l.Addr().String()
}

// client is a connection to a server.
type client struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return newClient(t, conn)
}

func newClient(t testing.TB, conn net.Conn) *client {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn, r: bufio.NewReader(conn)}
}

// connect serves counts in memory on a clock that tests move.
func connect(t testing.TB) (*client, *clock) {
	t.Helper()
	c := newClock()
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, c)})
	return dial(t, addr), c
}

func (c *client) write(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, s); err != nil {
		c.t.Fatal(err)
	}
}

// wire is a command as clients send it.
func wire(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// ask sends a command, a word for each blank, and returns the answer on one line.
func (c *client) ask(command string) string {
	c.t.Helper()
	c.write(wire(strings.Split(command, " ")...))
	return c.answer()
}

// answer reads one answer: integers and texts as they are, errors with their minus,
// arrays and maps in brackets.
func (c *client) answer() string {
	c.t.Helper()
	s, err := c.read()
	if err != nil {
		c.t.Fatalf("reading: %v", err)
	}
	return s
}

func (c *client) read() (string, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(line, "\r\n") {
		return "", fmt.Errorf("line %q", line)
	}
	kind, rest := line[0], line[1:len(line)-2]
	n, _ := strconv.Atoi(rest)
	switch kind {
	case ':', '+':
		return rest, nil
	case '-':
		return "-" + rest, nil
	case '_':
		return "null", nil
	case '$':
		if n < 0 {
			return "null", nil
		}
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.r, b)
		return string(b[:n]), err
	case '%':
		n *= 2
	case '*':
	default:
		return "", fmt.Errorf("line %q", line)
	}
	parts := make([]string, n)
	for i := range parts {
		if parts[i], err = c.read(); err != nil {
			return "", err
		}
	}
	return "[" + strings.Join(parts, " ") + "]", nil
}

// gone says whether the server has closed the connection.
func (c *client) gone() bool {
	_, err := c.r.ReadByte()
	return errors.Is(err, io.EOF)
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// story asks one command after the other; each line is a command and its answer with
// => between, or a time to let pass.
func (c *client) story(clock *clock, lines string) {
	c.t.Helper()
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
		command, answer, isCommand := strings.Cut(line, " => ")
		switch {
		case line == "":
		case isCommand:
			want(c.t, command, strings.TrimSpace(c.ask(strings.TrimSpace(command))), strings.TrimSpace(answer))
		default:
			d, err := time.ParseDuration(line)
			if err != nil {
				c.t.Fatal(err)
			}
			clock.add(d)
		}
	}
}
