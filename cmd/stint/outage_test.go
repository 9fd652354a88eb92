package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint/redisstore/redistest"
)

// campaign says whether there is time for long tests, on a machine that does
// nothing else.
func campaign() bool { return os.Getenv("STINT_CAMPAIGN") != "" }

// running is a process of stint serve.
type running struct {
	gateway, admin string
	out            *printed
}

// startProcess starts stint serve with rules and more arguments, in an environment
// with more variables, and ends it with the test.
func startProcess(t *testing.T, rules string, env []string, args ...string) *running {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &running{out: new(printed)}
	cmd := exec.Command("stint", append([]string{"serve", "-c", path, "--gateway", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = r.out, r.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("stint ended with %v:\n%s", err, r.out)
		}
	})
	r.gateway = "http://" + r.out.await(t, `gateway listens on (\S+),`)[1]
	r.admin = "http://" + r.out.await(t, `admin listens on (\S+)`)[1]
	r.out.await(t, `msg="(shared store|the shared store does not answer yet)`)
	return r
}

// degraded is how many decisions a server has made without the store.
func (r *running) degraded(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(metric(t, r.admin, "stint_degraded_decisions_total"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// answers are those to many requests.
type answers struct {
	mu       sync.Mutex
	statuses map[int]int
	waits    []time.Duration
}

// check demands that each request was allowed or refused, and none waited long.
// The figure of the product is demanded where nothing else runs.
func (a *answers) check(t *testing.T, deadline time.Duration) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.waits)
	if n == 0 || a.statuses[http.StatusOK]+a.statuses[http.StatusTooManyRequests] != n {
		t.Errorf("answers by status: %v of %d", a.statuses, n)
		return
	}
	slices.Sort(a.waits)
	p50, p99, longest := a.waits[n/2], a.waits[n*99/100], a.waits[n-1]
	t.Logf("%d answers by status %v: p50 %v, p99 %v, longest %v", n, a.statuses, p50.Round(time.Microsecond),
		p99.Round(time.Microsecond), longest.Round(time.Microsecond))
	if longest > deadline+2*time.Second || campaign() && p99 > deadline+20*time.Millisecond {
		t.Errorf("p99 %v, longest %v, the deadline is %v", p99, longest, deadline)
	}
}

// sender sends requests to some servers in turn, so many a second.
type sender struct {
	*answers
	stop chan struct{}
	done sync.WaitGroup
}

// startSending sends requests of a client to urls until end is called.
func startSending(t *testing.T, client string, rate int, urls ...string) *sender {
	t.Helper()
	s := &sender{answers: &answers{statuses: make(map[int]int)}, stop: make(chan struct{})}
	const atOnce = 32
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce}
	next := make(chan string)
	for range atOnce {
		s.done.Go(func() {
			for url := range next {
				status, wait, err := request(transport, url, client)
				if err != nil {
					t.Error(err)
				}
				s.mu.Lock()
				s.statuses[status]++
				s.waits = append(s.waits, wait)
				s.mu.Unlock()
			}
		})
	}
	s.done.Go(func() {
		defer close(next)
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-s.stop:
				return
			case <-tick.C:
				next <- urls[i%len(urls)]
			}
		}
	})
	t.Cleanup(transport.CloseIdleConnections)
	return s
}

// passed is how many were allowed so far.
func (s *sender) passed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statuses[http.StatusOK]
}

// answered is how many requests were answered so far: on a machine that is busy with
// something else these are few.
func (s *sender) answered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, of := range s.statuses {
		n += of
	}
	return n
}

func (s *sender) end() *answers {
	close(s.stop)
	s.done.Wait()
	return s.answers
}

// request sends one request of a client and reads its answer.
func request(transport http.RoundTripper, url, client string) (status int, wait time.Duration, err error) {
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("X-Client", client)
	start := time.Now()
	res, err := transport.RoundTrip(r)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, time.Since(start), err
}

// exactly demands that of 200 requests that alternate between servers 100 pass, and
// that the remaining number falls through all without a gap. A slow machine may let
// single calls run into the deadline, so there may be some rounds.
func exactly(t *testing.T, name string, servers ...*running) {
	t.Helper()
	counted := func() (n int) {
		for _, s := range servers {
			n += s.degraded(t)
		}
		return n
	}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	for round := range 20 {
		before := counted()
		passed, gap := 0, ""
		for i := range 200 {
			r, err := http.NewRequest(http.MethodGet, servers[i%len(servers)].gateway, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Client", name+strconv.Itoa(round))
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				passed++
			}
			if want := strconv.Itoa(max(0, 99-i)); res.Header.Get("X-RateLimit-Remaining") != want && gap == "" {
				gap = fmt.Sprintf("request %d: %s, remaining %s, want %s", i, res.Status, res.Header.Get("X-RateLimit-Remaining"), want)
			}
		}
		if counted() != before {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if passed != 100 || gap != "" {
			t.Errorf("%s: %d of 200 passed, want 100: %s", name, passed, gap)
		}
		return
	}
	t.Errorf("%s: in each of 20 rounds something was decided without the store", name)
}

// outageRules count 100 for each client in the store at addr, as one of two servers.
func outageRules(addr string) string {
	return "store: { redis: { url: 'redis://" + addr + "', fleet: 2 } }" + `
upstream: demo
keys: { client: { header: X-Client } }
rules:
  - { id: per-client, key: client, algorithm: fixed_window, limit: 100 per day }
`
}

// TestC055TwoProcesses have one file, and the store from the command line.
func TestC055TwoProcesses(t *testing.T) {
	redis := redistest.Start(t)
	rules := `
upstream: demo
keys: { client: { header: X-Client } }
rules:
  - { id: per-client, key: client, algorithm: fixed_window, limit: 100 per day }
`
	first := startProcess(t, rules, nil, "--store", "redis://"+redis.Addr)
	second := startProcess(t, rules, nil, "--store", "redis://"+redis.Addr)
	exactly(t, "both", first, second)
}

// TestRedisStopsUnderLoad: for as long as it is stopped each of two servers gives
// away its share, at once. Soon after it goes on they count together again.
func TestRedisStopsUnderLoad(t *testing.T) {
	rate, stopped, settled := 150, 1500*time.Millisecond, 300*time.Millisecond
	if campaign() {
		rate, stopped, settled = 500, 5*time.Second, 2*time.Second
	}
	redis := redistest.Start(t)
	servers := []*running{startProcess(t, outageRules(redis.Addr), nil), startProcess(t, outageRules(redis.Addr), nil)}
	load := startSending(t, "loud", rate, servers[0].gateway, servers[1].gateway)
	for end := time.Now().Add(patience); load.passed() < 100 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(settled)
	before := load.passed()
	redis.Pause()
	time.Sleep(stopped)
	redis.Resume()
	start := time.Now()
	for _, s := range servers {
		for end := start.Add(patience); metric(t, s.admin, "stint_store_up") != "1"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the store goes on and is not used:\n%s", s.out)
			}
		}
	}
	again := time.Since(start)
	t.Logf("the store decides again %v after it goes on", again.Round(time.Millisecond))
	if campaign() && again > 1100*time.Millisecond {
		t.Errorf("it took %v", again)
	}
	exactly(t, "afterwards", servers...)
	load.end().check(t, 5*time.Millisecond)
	t.Logf("passed: %d before, %d in all, bound: 200 (100, and 50 for each of two servers)", before, load.passed())
	if n := load.passed(); n > 200 || n < 150 {
		t.Errorf("%d passed, want 150 to 200", n)
	}
	for _, s := range servers {
		s.out.await(t, `level=ERROR msg="the shared store fails`)
		s.out.await(t, `level=INFO msg="the shared store answers again`)
		if s.degraded(t) == 0 || metric(t, s.admin, "stint_store_timeouts_total") == "0" {
			t.Error("the metrics say nothing of it")
		}
	}
}

// TestASlowStoreBehindTheGateway: what a network does to answers of the store is
// nothing that clients see.
func TestASlowStoreBehindTheGateway(t *testing.T) {
	redis := redistest.Start(t)
	proxy := redistest.NewProxy(t, redis.Addr)
	s := startProcess(t, outageRules(proxy.Addr), nil)
	for _, c := range []struct {
		name    string
		disturb func()
	}{
		{"1ms", func() { proxy.Delay(time.Millisecond) }},
		{"5ms", func() { proxy.Delay(5 * time.Millisecond) }},
		{"50ms", func() { proxy.Delay(50 * time.Millisecond) }},
		{"lossy", func() { proxy.Lose(7) }},
	} {
		c.disturb()
		load := startSending(t, c.name, 300, s.gateway)
		time.Sleep(700 * time.Millisecond)
		load.end().check(t, 5*time.Millisecond)
		t.Logf("%s: passed: %d, bound: 150 (100, and 50 of one of two servers)", c.name, load.passed())
		if n, least := load.passed(), min(50, load.answered()); n > 150 || n < least {
			t.Errorf("%s: %d passed, want %d to 150", c.name, n, least)
		}
		proxy.Delay(0)
		proxy.Lose(0)
	}
	exactly(t, "afterwards", s)
}

// wrongAnswers are a few of those that redisstore is tried with.
var wrongAnswers = []string{
	"-LOADING Redis is loading the dataset in memory\r\n",
	"-READONLY You can't write against a read only replica.\r\n",
	"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
	"-MOVED 1 127.0.0.1:1\r\n",
	"$-1\r\n", "*0\r\n", ":1\r\n", "$25\r\nhalf a li", "$-5\r\n", "+OK\r\n+OK\r\n+OK\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
}

// get returns the answer of a server to one request, and its body.
func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestC071WrongAnswersOfTheStore: each rule decides as it wants, and a refusal says
// whose fault it is.
func TestC071WrongAnswersOfTheStore(t *testing.T) {
	redis := redistest.Start(t)
	for _, c := range []struct {
		setting string
		status  int
	}{{"", http.StatusTooManyRequests}, {"deny_status: 503", http.StatusServiceUnavailable}} {
		proxy := redistest.NewProxy(t, redis.Addr)
		gateway, admin, out := startServer(t, "store: { redis: { url: 'redis://"+proxy.Addr+"?dial_timeout=100ms&read_timeout=100ms', failures: 1000000 } }\n"+c.setting+`
upstream: demo
rules:
  - { id: open, match: { path: /open }, key: ip, limit: 1000000 per day, on_store_failure: allow }
  - { id: closed, match: { path: /closed }, key: ip, limit: 1000000 per day, on_store_failure: deny }
`)
		for _, answer := range wrongAnswers {
			proxy.Answer(func([]byte) []byte { return []byte(answer) })
			for range 2 {
				if res, _ := get(t, gateway+"/open"); res.StatusCode != http.StatusOK || res.Header.Get("X-RateLimit-Remaining") != "" {
					t.Errorf("%.40q, allow: %s %v", answer, res.Status, res.Header)
				}
				res, body := get(t, gateway+"/closed")
				if res.StatusCode != c.status || !strings.Contains(body, "unavailable") || strings.Contains(body, "limit\":") ||
					res.Header.Get("Retry-After") != "1" || res.Header.Get("X-RateLimit-Remaining") != "" {
					t.Errorf("%.40q, deny: %s %v %s", answer, res.Status, res.Header, body)
				}
			}
		}
		failed, _ := strconv.Atoi(metric(t, admin, "stint_store_failed_total"))
		if want := 4 * len(wrongAnswers); failed != want {
			t.Errorf("%d failures of the store, want %d", failed, want)
		}
		proxy.Answer(nil)
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if res, body := get(t, gateway+"/closed"); res.StatusCode == http.StatusOK {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%s %s\n%s", res.Status, body, out)
			}
		}
	}
}

// TestC065WithoutTheStore: a store that refuses connections is no fault of the
// client, and says so.
func TestC065WithoutTheStore(t *testing.T) {
	redis := redistest.Start(t)
	redis.Stop()
	gateway, admin, _ := startServer(t, "store: redis://"+redis.Addr+`
upstream: demo
rules:
  - { id: open, match: { path: /open }, key: ip, limit: 10 per minute, on_store_failure: allow }
  - { id: closed, match: { path: /closed }, key: ip, limit: 10 per minute, on_store_failure: deny }
  - { id: local, match: { path: /local }, key: ip, algorithm: sliding_window_log, limit: 10 per minute }
`)
	for range 11 {
		if res, _ := get(t, gateway+"/open"); res.StatusCode != http.StatusOK || res.Header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("allow: %s %v", res.Status, res.Header)
		}
	}
	res, body := get(t, gateway+"/closed")
	if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "limiter is unavailable") || strings.Contains(body, "quota") ||
		res.Header.Get("Retry-After") != "1" || res.Header.Get("X-RateLimit-Limit") != "" {
		t.Errorf("deny: %s %v %s", res.Status, res.Header, body)
	}
	for i := range 11 {
		res, body := get(t, gateway+"/local")
		allowed := res.StatusCode == http.StatusOK
		if allowed != (i < 10) || res.Header.Get("X-RateLimit-Limit") != "10" || !allowed && !strings.Contains(body, "Quota exceeded") {
			t.Errorf("local, request %d: %s %v %s", i, res.Status, res.Header, body)
		}
	}
	if n := metric(t, admin, "stint_store_failed_total"); n == "0" {
		t.Error("no failure of the store is counted")
	}
	if n := metric(t, admin, `stint_requests_total\{result="unavailable"\}`); n != "1" {
		t.Errorf("%s requests could not be decided, want 1", n)
	}
}

// TestC070AStoreThatComesLateWhereRulesDeny until then.
func TestC070AStoreThatComesLateWhereRulesDeny(t *testing.T) {
	redis := redistest.Start(t)
	redis.Stop()
	s := startProcess(t, "store: redis://"+redis.Addr+`
deny_status: 503
upstream: demo
rules:
  - { id: closed, key: ip, limit: 1000000 per day, on_store_failure: deny }
`, nil)
	for range 3 {
		if res, body := get(t, s.gateway); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "limiter is unavailable") {
			t.Errorf("before: %s %s", res.Status, body)
		}
	}
	redis.Restart()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if res, body := get(t, s.gateway); res.StatusCode == http.StatusOK {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%s %s\n%s", res.Status, body, s.out)
		}
	}
	if len(redis.Keys(0)) == 0 {
		t.Error("nothing is counted in the store")
	}
}

// TestServeOverTLS trusts whom the system trusts, and says whom it does not.
func TestServeOverTLS(t *testing.T) {
	authority := redistest.NewAuthority(t)
	_, addr := redistest.StartTLS(t, authority)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, authority.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	rules := outageRules("127.0.0.1:1")
	good := startProcess(t, rules, []string{"SSL_CERT_FILE=" + trusted}, "--store", "rediss://"+addr)
	good.out.await(t, `level=INFO msg="shared store" .*is="Redis `)
	exactly(t, "trusted", good)
	bad := startProcess(t, rules, nil, "--store", "rediss://"+addr)
	bad.out.await(t, `level=WARN msg="the shared store does not answer yet.*unknown authority`)
	if res, _ := get(t, bad.gateway); res.StatusCode != http.StatusOK {
		t.Errorf("without a store that is trusted: %s", res.Status)
	}
}
