package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/gateway"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/internal/accesslog"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// The rules of the end-to-end test: both count by address, so that the requests
// of an address have an order of their own.
const e2eRules = `
upstream: demo
trusted_proxies: [127.0.0.1]
rules:
  - { id: fast, key: ip, limit: 10 per minute }
  - { id: slow, key: ip, algorithm: sliding_window_log, limit: 15 per hour }
`

// addressesOf returns the address of each line of the log in STINT_TEST_LOG, or
// of a log that is made up: few addresses send most of the requests.
func addressesOf(t *testing.T) []string {
	path := os.Getenv("STINT_TEST_LOG")
	if path == "" {
		r := rand.New(rand.NewPCG(1, 2))
		addresses := make([]string, 3000)
		for i := range addresses {
			n := int(r.ExpFloat64() * 30)
			addresses[i] = fmt.Sprintf("198.51.100.%d", n%250)
			if n%7 == 0 {
				addresses[i] = fmt.Sprintf("2001:db8:0:%x::%x", n, r.IntN(1000))
			}
		}
		return addresses
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var addresses []string
	var e accesslog.Entry
	for log := accesslog.NewReader(f, accesslog.Options{}); ; {
		var bad *accesslog.LineError
		switch err := log.Read(&e); {
		case errors.Is(err, io.EOF):
			return addresses
		case errors.As(err, &bad):
		case err != nil:
			t.Fatal(err)
		default:
			addresses = append(addresses, e.Addr.String())
		}
	}
}

// journal keeps the decisions of a limiter.
type journal struct {
	mu        sync.Mutex
	decisions []stint.Decision
}

func (j *journal) observe(d *stint.Decision) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.decisions = append(j.decisions, d.Clone())
}

// startGateway serves rules on a loopback port until the test ends.
func startGateway(t *testing.T, file *config.File, j *journal) (url string) {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{Upstream: "demo", Limit: httplimit.Options{
		Decider:        rules.NewDecider(&stint.Limiter{Store: store, Observe: j.observe}, file.Set),
		TrustedProxies: file.TrustedProxies,
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&gateway.Server{Handler: g}).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func parseRules(t *testing.T, text string) *config.File {
	t.Helper()
	file, err := config.Parse("rules.yaml", []byte(text), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLogAsRealRequestsAgreesWithASingleThreadedReference(t *testing.T) {
	addresses := addressesOf(t)
	file := parseRules(t, e2eRules)
	j := new(journal)
	url := startGateway(t, file, j)
	statuses := sendAll(t, url, addresses)
	if statuses[http.StatusOK]+statuses[http.StatusTooManyRequests] != len(addresses) {
		t.Fatalf("answers by status %v to %d requests", statuses, len(addresses))
	}
	if len(j.decisions) != len(addresses) {
		t.Fatalf("%d decisions about %d requests", len(j.decisions), len(addresses))
	}
	inOrder(j.decisions)
	refused := compareWithReference(t, file, j.decisions)
	if refused != statuses[http.StatusTooManyRequests] || refused == 0 {
		t.Errorf("%d refused, %d answers are refusals", refused, statuses[http.StatusTooManyRequests])
	}
	t.Logf("%d requests, %d refused", len(addresses), refused)
}

// sendAll sends a request for each address, some at a time, and counts the
// answers by status.
func sendAll(t *testing.T, url string, addresses []string) map[int]int {
	t.Helper()
	const atOnce = 32
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: atOnce, MaxIdleConnsPerHost: atOnce}}
	defer client.CloseIdleConnections()
	next := make(chan string)
	var mu sync.Mutex
	statuses := make(map[int]int)
	var senders sync.WaitGroup
	for range atOnce {
		senders.Go(func() {
			for address := range next {
				status, err := send(client, url, address)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	for _, address := range addresses {
		next <- address
	}
	close(next)
	senders.Wait()
	return statuses
}

func send(client *http.Client, url, address string) (status int, err error) {
	r, err := http.NewRequest(http.MethodGet, url+"/v1/orders", http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Forwarded-For", address)
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// inOrder puts decisions in the order in which the store made them. Its clock does
// not step back within a bucket; of those at one instant in one bucket the later
// ones have less left.
func inOrder(decisions []stint.Decision) {
	slices.SortFunc(decisions, func(a, b stint.Decision) int {
		if c := cmp.Or(cmp.Compare(a.At, b.At), bytes.Compare(a.Key, b.Key)); c != 0 {
			return c
		}
		if a.Allowed != b.Allowed {
			if a.Allowed {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Results[0].Remaining, a.Results[0].Remaining)
	})
}

// compareWithReference makes the decisions again, one after the other.
func compareWithReference(t *testing.T, file *config.File, decisions []stint.Decision) (refused int) {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var now time.Time
	reference := &stint.Limiter{Store: store, Clock: func() time.Time { return now }}
	policies := file.Set.Policies()
	for i := range decisions {
		got := &decisions[i]
		now = got.At.Time()
		var charges []stint.Charge
		for _, p := range policies {
			charges = append(charges, stint.Charge{Policy: p, Key: got.Results[0].Key, Ask: stint.Ask{Cost: 1}})
		}
		want, err := reference.Take(context.Background(), charges...)
		if err != nil {
			t.Fatal(err)
		}
		for k := range want.Results {
			if got.Results[k].Verdict != want.Results[k].Verdict {
				t.Fatalf("request %d from %s at %v: %s said %+v, the reference %+v", i, rules.KeyText(got.Key),
					got.At.Time(), want.Results[k].Policy, got.Results[k].Verdict, want.Results[k].Verdict)
			}
		}
		if got.Allowed != want.Allowed || got.Policy != want.Policy {
			t.Fatalf("request %d: allowed %v by %s, the reference says %v by %s", i, got.Allowed, got.Policy, want.Allowed, want.Policy)
		}
		if !got.Allowed {
			refused++
		}
	}
	return refused
}

func TestRandomKeysFromOneAddressEarnNoBuckets(t *testing.T) {
	file, err := config.Load("../../examples/quickstart.yaml", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := newTrial(file)
	if err != nil {
		t.Fatal(err)
	}
	flags := tryFlags{ip: "192.0.2.1", n: 1}
	for i := range 10_000 {
		flags.headers = []string{fmt.Sprintf("X-Api-Key: k_%d", i)}
		r, err := flags.request("/v1/orders")
		if err != nil {
			t.Fatal(err)
		}
		if err := trial.send(&flags, r); err != nil {
			t.Fatal(err)
		}
	}
	if trial.Allowed != 300 || trial.Refused != 9700 {
		t.Errorf("%d passed and %d were refused, want 300 and 9700", trial.Allowed, trial.Refused)
	}
}

func TestMessagesHoldNoSecrets(t *testing.T) {
	var out, errOut strings.Builder
	code := run([]string{"try", "-c", "../../examples/quickstart.yaml", "/v1/orders", "-H", "X-Api-Key: k_acme"},
		process{in: strings.NewReader(""), out: &out, err: &errOut, env: noEnv})
	if code != exitOK || strings.Contains(out.String()+errOut.String(), "k_acme") {
		t.Errorf("exit code %d: %s%s", code, out.String(), errOut.String())
	}
}
