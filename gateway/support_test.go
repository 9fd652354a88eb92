package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// frozen is the time at which limits are decided unless a test says otherwise.
func frozen() time.Time { return time.Unix(1772409600, 0).UTC() }

// loopback trusts the clients of these tests as proxies.
func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

// decide returns a decider for rules, on a clock that stands still.
func decide(t testing.TB, spec rules.Spec) stint.Decider {
	t.Helper()
	set, err := rules.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules.NewDecider(&stint.Limiter{Store: store, Clock: frozen}, set)
}

// limits returns the spec of one rule by address.
func limits(t testing.TB, limit string, paths ...string) rules.Spec {
	t.Helper()
	return rules.Spec{Rules: []rules.Rule{{
		ID: "r", Match: rules.Match{Path: paths}, Key: []string{"ip"}, Algorithm: "fixed_window",
		Limits: []stint.Limit{parseLimit(t, limit)},
	}}}
}

func parseLimit(t testing.TB, s string) stint.Limit {
	t.Helper()
	l, err := stint.ParseLimit(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// anything lets everything through.
func anything(t testing.TB) stint.Decider {
	t.Helper()
	return decide(t, rules.Spec{})
}

// upstream starts an HTTP server and returns its URL.
func upstream(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// gateway is a running gateway.
type gateway struct {
	t      testing.TB
	addr   string
	url    string
	stop   context.CancelFunc // begins the drain
	served chan error
	client *http.Client
}

// start runs a gateway on a free port until the test ends.
func start(t testing.TB, o Options, server Server) *gateway {
	t.Helper()
	handler, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	if server.Handler = handler; server.DrainTimeout == 0 {
		server.DrainTimeout = 10 * time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}
	g := &gateway{
		t: t, addr: l.Addr().String(), url: "http://" + l.Addr().String(), stop: stop,
		served: make(chan error, 1),
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	go func() {
		g.served <- server.Serve(ctx, l)
		close(g.served)
	}()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-g.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		handler.Close()
	})
	return g
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// simple runs a gateway that limits nothing before h.
func simple(t testing.TB, h http.HandlerFunc) *gateway {
	t.Helper()
	return start(t, Options{Upstream: upstream(t, h), Limit: httplimit.Options{Decider: anything(t)}}, Server{})
}

// do sends a request and reads the answer whole.
func (g *gateway) do(r *http.Request) (*http.Response, string) {
	g.t.Helper()
	res, err := g.client.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return res, string(b)
}

// get sends a GET. Options are "Name: value" header lines.
func (g *gateway) get(path string, lines ...string) (*http.Response, string) {
	g.t.Helper()
	return g.do(newRequest(g.t, http.MethodGet, g.url+path, nil, lines...))
}

func newRequest(t testing.TB, method, url string, body io.Reader, lines ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// dial opens a connection that is closed with the test.
func (g *gateway) dial() *wire {
	g.t.Helper()
	c, err := net.Dial("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		g.t.Fatal(err)
	}
	return &wire{t: g.t, Conn: c, r: bufio.NewReader(c)}
}

// wire is a connection on which requests are written by hand.
type wire struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

// send writes text with its line ends made those of HTTP.
func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads the next answer to a request with the method.
func (w *wire) answer(method string) *http.Response {
	w.t.Helper()
	res, err := http.ReadResponse(w.r, &http.Request{Method: method})
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// raw sends one request with the target as it is, and returns the answer.
func (g *gateway) raw(method, target string, lines ...string) (*http.Response, string) {
	g.t.Helper()
	w := g.dial()
	defer w.Close()
	head := fmt.Sprintf("%s %s HTTP/1.1\nHost: api.example\nConnection: close\n", method, target)
	for _, line := range lines {
		head += line + "\n"
	}
	w.send(head + "\n")
	res := w.answer(method)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return res, string(b)
}

// logs is what was logged.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logs) want(t testing.TB, text string, times int) {
	t.Helper()
	if got := strings.Count(l.String(), text); got != times {
		t.Errorf("%q was logged %d times, want %d:\n%s", text, got, times, l)
	}
}

// failures counts what OnFailure tells.
type failures struct {
	mu sync.Mutex
	n  map[Failure]int
}

func (f *failures) add(kind Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = make(map[Failure]int)
	}
	f.n[kind]++
}

func (f *failures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.n)
}

func wantStatus(t testing.TB, res *http.Response, want int) {
	t.Helper()
	if res.StatusCode != want {
		t.Errorf("status %d, want %d", res.StatusCode, want)
	}
}

func wantString(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// eventually waits until f holds.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}
