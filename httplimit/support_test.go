package httplimit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
)

// start is a multiple of a minute, an hour and a day.
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

// at moves the clock to s seconds after the start.
func (c *clock) at(s float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = start.Add(time.Duration(s * float64(time.Second)))
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

func newPolicy(t testing.TB, name, limit string, a stint.Algorithm) *stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newSingle limits by address on a fixed window, the simplest to foresee.
func newSingle(t testing.TB, c *clock, limit string) *httplimit.Single {
	t.Helper()
	return &httplimit.Single{
		Limiter: newLimiter(t, c), Policy: newPolicy(t, "default", limit, algo.FixedWindow), Key: httplimit.ByIP,
	}
}

func newMiddleware(t testing.TB, o httplimit.Options) func(http.Handler) http.Handler {
	t.Helper()
	m, err := httplimit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })

// answer is a response that was read.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       string
}

// read returns what came back, and closes it.
func read(t testing.TB, res *http.Response, err error) *answer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &answer{res.StatusCode, res.Header, string(body)}
}

// sendTarget sends a request with a target as it is to a server, and returns the
// answer.
func sendTarget(t testing.TB, srv *httptest.Server, target string) *answer {
	t.Helper()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: host\r\nConnection: close\r\n\r\n", target)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	return read(t, res, err)
}

// get sends a request to h without a network. Options are "Name: value" header
// lines, and "peer ADDR" for the connection's peer.
func get(t testing.TB, h http.Handler, options ...string) *answer {
	t.Helper()
	return send(t, h, httptest.NewRequest(http.MethodGet, "/", nil), options...)
}

func send(t testing.TB, h http.Handler, r *http.Request, options ...string) *answer {
	t.Helper()
	for _, o := range options {
		if peer, ok := strings.CutPrefix(o, "peer "); ok {
			r.RemoteAddr = peer
			continue
		}
		name, value, ok := strings.Cut(o, ": ")
		if !ok {
			t.Fatalf("option %q", o)
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return &answer{w.Code, w.Result().Header, w.Body.String()}
}

// statuses sends n requests and returns an A or D for each.
func statuses(t testing.TB, h http.Handler, n int, options ...string) string {
	t.Helper()
	var b strings.Builder
	for range n {
		b.WriteString(letter(get(t, h, options...)))
	}
	return b.String()
}

func letter(res *answer) string {
	switch res.StatusCode {
	case http.StatusOK:
		return "A"
	case http.StatusTooManyRequests:
		return "D"
	}
	return fmt.Sprintf("(%d)", res.StatusCode)
}

func wantHeader(t testing.TB, res *answer, name string, want ...string) {
	t.Helper()
	got := res.Header.Values(name)
	if len(got) != len(want) {
		t.Errorf("%s: %q, want %q", name, got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func wantString(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// decider is a Decider made of a function.
type decider func(src stint.Source, d *stint.Decision) error

func (f *decider) Decide(_ context.Context, src stint.Source, d *stint.Decision) error {
	d.Clear()
	return (*f)(src, d)
}

func decide(f func(src stint.Source, d *stint.Decision) error) stint.Decider {
	d := decider(f)
	return &d
}

func prefixes(s ...string) []netip.Prefix {
	var p []netip.Prefix
	for _, s := range s {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}
