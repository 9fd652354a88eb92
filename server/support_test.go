package server_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/gateway"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
	"github.com/stint-dev/stint/server"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

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

func per(n int64, window time.Duration) []stint.Limit {
	return []stint.Limit{{Count: n, Window: window}}
}

// spec are the rules of the tests.
func spec() rules.Spec {
	return rules.Spec{
		Keys: []rules.Key{
			{Name: "api_key", Header: "X-Api-Key", Secret: true},
			{Name: "phone_number", JSON: "phone_number"},
			{Name: "session", Cookie: "session"},
			{Name: "page", Query: "page"},
			{Name: "tenant", Descriptor: "tenant"},
		},
		Rules: []rules.Rule{
			{ID: "closed", Match: rules.Match{Path: []string{"/closed"}}, Key: []string{"global"}, Limits: per(0, time.Minute), Stop: true},
			{ID: "named", Match: rules.Match{Path: []string{"/named"}}, Key: []string{"api_key"}, Missing: rules.MissingDeny, Limits: per(5, time.Minute), Stop: true},
			{ID: "slow", Match: rules.Match{Path: []string{"/slow"}}, Key: []string{"ip"}, Algorithm: "leaky_bucket", Queue: &rules.Queue{MaxWait: time.Minute}, Limits: per(1, time.Second), Stop: true},
			{ID: "host", Match: rules.Match{Host: []string{"only.example"}}, Key: []string{"ip"}, Limits: per(1, time.Minute), Stop: true},
			{ID: "send-otp", Match: rules.Match{Path: []string{"/v1/otp/send"}, Method: []string{"POST"}}, Key: []string{"phone_number"}, Missing: rules.MissingSkip, Algorithm: "sliding_window_log", Limits: per(5, time.Hour), Stop: true},
			{ID: "session", Match: rules.Match{Has: []string{"session"}}, Key: []string{"session"}, Limits: per(3, time.Minute), Stop: true},
			{ID: "page", Match: rules.Match{Has: []string{"page"}}, Key: []string{"page"}, Limits: per(4, time.Minute), Stop: true},
			{ID: "tenant", Match: rules.Match{Has: []string{"tenant"}}, Key: []string{"tenant"}, Limits: per(6, time.Minute), Stop: true},
			{ID: "search", Match: rules.Match{Path: []string{"/v1/search"}}, Key: []string{"ip"}, Algorithm: "fixed_window", Limits: per(3, time.Minute)},
			{ID: "free", Match: rules.Match{Path: []string{"/free"}}, Unlimited: true},
			{ID: "burst", Match: rules.Match{Path: []string{"/burst"}}, Key: []string{"global"}, Limits: []stint.Limit{{Count: 10, Window: time.Minute, Burst: 20}}},
			{ID: "whole-service", Key: []string{"global"}, Limits: per(1000, time.Second), Shadow: true},
		},
	}
}

// service is a server with rules on a clock that stands still.
type service struct {
	*server.Server
	t       testing.TB
	clock   *clock
	limiter *stint.Limiter
	decider *rules.Decider
}

// proxy is the peer that the services of tests trust.
const proxy = "10.0.0.1:4711"

// serve makes a service; change may change its options.
func serve(t testing.TB, change ...func(*server.Options)) *service {
	t.Helper()
	s := &service{t: t, clock: &clock{now: time.Unix(1772409600, 0)}}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.limiter = &stint.Limiter{Store: store, Clock: s.clock.Now}
	set, err := rules.Compile(spec())
	if err != nil {
		t.Fatal(err)
	}
	s.decider = rules.NewDecider(s.limiter, set)
	o := server.Options{
		Limit:   httplimit.Options{Decider: s.decider, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")}},
		Charger: s.decider, Limiter: s.limiter,
	}
	for _, c := range change {
		c(&o)
	}
	if s.Server, err = server.New(o); err != nil {
		t.Fatal(err)
	}
	return s
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request as if the proxy sent it. Options are "Name: value".
func (s *service) send(method, target, body string, options ...string) answer {
	s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = proxy
	for _, o := range options {
		name, value, ok := strings.Cut(o, ": ")
		switch {
		case !ok:
			s.t.Fatalf("option %q", o)
		case name == "peer":
			r.RemoteAddr = value
		default:
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

// post sends a question.
func (s *service) post(path, body string) answer {
	s.t.Helper()
	return s.send(http.MethodPost, path, body, "Content-Type: application/json")
}

// decision is an answer as a program in another language reads it.
type decision struct {
	Allowed      bool     `json:"allowed"`
	Reason       string   `json:"reason"`
	Policy       string   `json:"policy"`
	Capacity     int64    `json:"capacity"`
	Cost         int64    `json:"cost"`
	Remaining    int64    `json:"remaining"`
	DelayUS      int64    `json:"delay_us"`
	RetryAfterUS *int64   `json:"retry_after_us"`
	Degraded     bool     `json:"degraded"`
	Results      []result `json:"results"`
}

type result struct {
	Policy string `json:"policy"`
	Shadow bool   `json:"shadow"`
}

// check sends a question that has an answer.
func (s *service) check(body string) decision {
	s.t.Helper()
	var d decision
	s.ask("/v1/check", body, &d)
	return d
}

func (s *service) refund(body string) decision {
	s.t.Helper()
	var d decision
	s.ask("/v1/refund", body, &d)
	return d
}

// ask sends a question and decodes its answer.
func (s *service) ask(path, body string, into any) {
	s.t.Helper()
	a := s.post(path, body)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		s.t.Fatalf("%s %s: %d %s", path, body, a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		s.t.Fatalf("%s: %v", a.body, err)
	}
}

// problem is a problem of RFC 9457.
type problem struct {
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Pointer string `json:"pointer"`
}

// wantProblem checks that an answer is a problem with this status, pointer and a
// part of its detail.
func wantProblem(t testing.TB, a answer, want problem) {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Errorf("%q: %v", a.body, err)
	}
	if a.status != want.Status || p.Status != want.Status || p.Pointer != want.Pointer || !strings.Contains(p.Detail, want.Detail) {
		t.Errorf("%d %s, want %+v", a.status, a.body, want)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
}

// wantDecision checks the main numbers.
func wantDecision(t testing.TB, d decision, policy, reason string, remaining int64) {
	t.Helper()
	if d.Allowed != (reason == "") || d.Reason != reason || d.Policy != policy || d.Remaining != remaining {
		t.Errorf("%+v, want policy %q, reason %q, %d remaining", d, policy, reason, remaining)
	}
}

func (d decision) policies() string {
	var names []string
	for _, r := range d.Results {
		names = append(names, r.Policy)
	}
	return strings.Join(names, " ")
}

// listen serves on the loopback interface.
func (s *service) listen() string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	serveOn(s.t, l, s)
	return l.Addr().String()
}

// serveOn serves until the test ends, as the command does.
func serveOn(t testing.TB, l net.Listener, h http.Handler) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&gateway.Server{Handler: h, DrainTimeout: time.Millisecond}).Serve(ctx, l) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
