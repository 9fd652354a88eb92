package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint/redisstore/redistest"
)

// printed is what a server prints. It is safe for concurrent use.
type printed struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// await waits until the server has printed what pattern matches.
func (p *printed) await(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := re.FindStringSubmatch(p.String()); m != nil {
			return m
		}
	}
	t.Fatalf("never printed %s:\n%s", pattern, p)
	return nil
}

// startServer runs stint serve with rules until the test ends, and returns the
// addresses of its gateway and of its admin.
func startServer(t *testing.T, rules string) (gateway, admin string, out *printed) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	out = new(printed)
	anywhere := "127.0.0.1:0"
	p := process{in: strings.NewReader(""), out: out, err: out, env: noEnv}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- p.serve(ctx, serveFlags{config: path, gateway: &anywhere, admin: &anywhere})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	gateway = "http://" + out.await(t, `gateway listens on (\S+),`)[1]
	admin = "http://" + out.await(t, `admin listens on (\S+)`)[1]
	out.await(t, `counts in`)
	return gateway, admin, out
}

// ask sends a request and returns its answer without the body.
func ask(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Client", "one")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res
}

// sharedRules count in the store at addr, which may take its time: a machine that
// runs many tests can be slow.
func sharedRules(addr string) string {
	return "store: { redis: { url: 'redis://" + addr + "', deadline: 10s } }" + `
upstream: demo
keys: { client: { header: X-Client } }
rules:
  - { id: per-client, key: client, algorithm: fixed_window, limit: 100 per day }
`
}

func TestC055TwoServersCountTogether(t *testing.T) {
	redis := redistest.Start(t)
	first, _, out := startServer(t, sharedRules(redis.Addr))
	out.await(t, `level=INFO msg="shared store" .*is="Redis `)
	second, _, _ := startServer(t, sharedRules(redis.Addr))
	var left []int
	for i := range 200 {
		res := ask(t, []string{first, second}[i%2])
		remaining, err := strconv.Atoi(res.Header.Get("X-RateLimit-Remaining"))
		if err != nil {
			t.Fatalf("request %d: %v %v", i, res.Status, res.Header)
		}
		if allowed := res.StatusCode == http.StatusOK; allowed != (i < 100) {
			t.Fatalf("request %d: %s", i, res.Status)
		}
		if i < 100 {
			left = append(left, remaining)
		}
	}
	slices.Reverse(left)
	for i, n := range left {
		if n != i {
			t.Fatalf("remaining fell like this, from behind: %v", left)
		}
	}
}

// TestC070AStoreThatComesLate: a server starts without its store, counts by itself,
// and uses the store once it is there.
func TestC070AStoreThatComesLate(t *testing.T) {
	redis := redistest.Start(t)
	redis.Stop()
	gateway, admin, out := startServer(t, sharedRules(redis.Addr))
	for range 10 {
		if res := ask(t, gateway); res.StatusCode != http.StatusOK || res.Header.Get("X-RateLimit-Remaining") == "" {
			t.Fatalf("without the store: %s %v", res.Status, res.Header)
		}
	}
	out.await(t, `level=ERROR msg="the shared store fails`)
	if up := metric(t, admin, "stint_store_up"); up != "0" {
		t.Errorf("stint_store_up %s", up)
	}
	if n := metric(t, admin, "stint_degraded_decisions_total"); n != "10" {
		t.Errorf("%s decisions degraded, want 10", n)
	}
	redis.Restart()
	for end := time.Now().Add(20 * time.Second); metric(t, admin, "stint_store_up") != "1"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the store is back and not used:\n%s", out)
		}
		ask(t, gateway)
	}
	if len(redis.Keys(0)) == 0 {
		t.Error("nothing is counted in the store")
	}
	out.await(t, `level=INFO msg="the shared store answers again`)
}

// metric reads the value of a metric without labels.
func metric(t *testing.T, admin, name string) string {
	t.Helper()
	res, err := http.Get(admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no metric %s", name)
	}
	return string(m[1])
}
