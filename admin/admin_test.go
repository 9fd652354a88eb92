package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

func frozen() time.Time { return time.Unix(1772409600, 0).UTC() }

// get asks the admin listener without a network.
func get(t testing.TB, a *Admin, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

// wantMetrics looks for whole lines of /metrics.
func wantMetrics(t testing.TB, a *Admin, lines ...string) {
	t.Helper()
	status, body := get(t, a, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	for _, line := range lines {
		if !strings.Contains("\n"+body, "\n"+line+"\n") {
			t.Errorf("metrics lack %q:\n%s", line, stintLines(body))
		}
	}
}

func stintLines(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "stint_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func newPolicy(t testing.TB, name string, count int64) *stint.Policy {
	t.Helper()
	p, err := stint.NewPolicy(name, stint.Limit{Count: count, Window: time.Minute}, algo.FixedWindow)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newLimiter(t testing.TB, a *Admin) *stint.Limiter {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &stint.Limiter{Store: store, Clock: frozen, Observe: a.Observe}
}

func TestC135MetricsSayWhatWasCharged(t *testing.T) {
	a := New(Options{})
	l := newLimiter(t, a)
	narrow, wide, shadow, free := newPolicy(t, "A", 3), newPolicy(t, "B", 100), newPolicy(t, "S", 1), stint.Unlimited("U")
	for range 10 {
		if _, err := l.Take(t.Context(),
			stint.Charge{Policy: narrow, Key: []byte("k"), Ask: stint.Ask{Cost: 1}},
			stint.Charge{Policy: wide, Key: []byte("k"), Ask: stint.Ask{Cost: 1}},
			stint.Charge{Policy: shadow, Key: []byte("k"), Ask: stint.Ask{Cost: 1}, Shadow: true},
			stint.Charge{Policy: free, Key: []byte("k"), Ask: stint.Ask{Cost: 1}},
		); err != nil {
			t.Fatal(err)
		}
	}
	wantMetrics(t, a,
		`stint_decisions_total{result="allowed",rule="A"} 3`,
		`stint_decisions_total{result="refused",rule="A"} 7`,
		`stint_decisions_total{result="not_charged",rule="A"} 0`,
		`stint_decisions_total{result="allowed",rule="B"} 3`,
		`stint_decisions_total{result="refused",rule="B"} 0`,
		`stint_decisions_total{result="not_charged",rule="B"} 7`,
		`stint_decisions_total{result="allowed",rule="S"} 1`,
		`stint_decisions_total{result="shadow_refused",rule="S"} 9`,
		`stint_decisions_total{result="refused",rule="S"} 0`,
		`stint_decisions_total{result="unlimited",rule="U"} 10`,
		`stint_requests_total{result="allowed"} 3`,
		`stint_requests_total{result="refused"} 7`,
		`stint_requests_total{result="unavailable"} 0`,
	)
	d, err := l.Peek(t.Context(), wide, "k")
	if err != nil || d.Remaining != 97 {
		t.Errorf("B has %d left, %v; the metrics say that 3 were charged", d.Remaining, err)
	}
}

func TestRefundsAndLooksAreNotCountedAsAllowed(t *testing.T) {
	a := New(Options{})
	l := newLimiter(t, a)
	p := newPolicy(t, "A", 1)
	for _, err := range []error{
		second(l.Peek(t.Context(), p, "k")), second(l.Allow(t.Context(), p, "k")), second(l.Allow(t.Context(), p, "k")),
		second(l.Refund(t.Context(), p, "k", 1)), l.Reset(t.Context(), p, "k"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantMetrics(t, a,
		`stint_decisions_total{result="allowed",rule="A"} 1`,
		`stint_decisions_total{result="refused",rule="A"} 1`,
		`stint_decisions_total{result="not_charged",rule="A"} 1`,
	)
}

func second[T any](_ T, err error) error { return err }

func TestDecisionsWithoutAStore(t *testing.T) {
	a := New(Options{})
	var d stint.Decision
	d.Refuse(stint.ReasonMissingKey, stint.Result{Policy: "A", Cost: 1})
	a.Observe(&d)
	d.Clear()
	d.Refuse(stint.ReasonUnavailable, stint.Result{Policy: "A", Cost: 1})
	a.Observe(&d)
	a.Observe(&stint.Decision{Allowed: true})
	wantMetrics(t, a,
		`stint_decisions_total{result="refused",rule="A"} 1`,
		`stint_requests_total{result="refused"} 1`,
		`stint_requests_total{result="unavailable"} 1`,
		`stint_requests_total{result="allowed"} 1`,
	)
	if top := a.refused.top(10); len(top) != 0 {
		t.Errorf("%v: a request without a key has none to show", top)
	}
}

func TestOtherMetrics(t *testing.T) {
	a := New(Options{Version: "v1.2.3", Store: func() StoreStats {
		return StoreStats{Buckets: 11, MaxBuckets: 12, Memory: 15, MaxMemory: 16, Evicted: 13, EvictedInUse: 14}
	}})
	a.Reloaded(frozen(), nil)
	wantMetrics(t, a, `stint_config_last_reload_success 1`)
	a.Reloaded(frozen().Add(time.Second), errors.New("no"))
	a.UpstreamError("timeout")
	a.SetRules([]Rule{{ID: "A", Policies: []string{"A/minute", "A/hour"}}})
	if _, err := a.Timed(counting{}).Take(context.Background(), 0, nil, nil); err != nil {
		t.Fatal(err)
	}
	one, ok := a.Timed(countingOne{}).(stint.OneStore)
	if !ok {
		t.Fatal("a store for one charge is none any more")
	}
	if _, v, err := one.TakeOne(context.Background(), 0, nil, "", stint.Ask{}); err != nil || v.Remaining != 7 {
		t.Fatal(v, err)
	}
	wantMetrics(t, a,
		`stint_memory_buckets 11`, `stint_memory_max_buckets 12`,
		`stint_memory_bytes 15`, `stint_memory_max_bytes 16`,
		`stint_memory_evicted_total 13`, `stint_memory_evicted_in_use_total 14`,
		`stint_config_last_reload_success 0`, `stint_config_last_reload_timestamp_seconds 1.772409601e+09`,
		`stint_config_reloads_total{result="success"} 1`, `stint_config_reloads_total{result="failure"} 1`,
		`stint_upstream_errors_total{kind="timeout"} 1`,
		`stint_decisions_total{result="allowed",rule="A/hour"} 0`,
		`stint_decision_seconds_count 2`,
	)
	_, body := get(t, a, "/metrics")
	if !strings.Contains(body, `stint_build_info{go_version="go`) || !strings.Contains(body, `version="v1.2.3"} 1`) {
		t.Error("no build info")
	}
}

func TestPolicyNamesThatAreNoText(t *testing.T) {
	a := New(Options{Version: "\xff"})
	a.SetRules([]Rule{{Policies: []string{"a\xff\n\"b"}}})
	wantMetrics(t, a, `stint_decisions_total{result="allowed",rule="\"a\\xff\\n\\\"b\""} 0`)
}

// Two of them in one process do not meet in a global registry.
func TestRegistriesAreApart(t *testing.T) {
	a, b := New(Options{}), New(Options{})
	a.UpstreamError("timeout")
	if _, body := get(t, b, "/metrics"); strings.Contains(body, "timeout") {
		t.Error("one shows the other's metrics")
	}
}

// counting is a store with one answer.
type counting struct{ err error }

func (c counting) Take(_ context.Context, now stint.Micros, _ []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	for i := range verdicts {
		verdicts[i].OK = true
	}
	return now + 1, c.err
}

// countingOne is one for single charges too.
type countingOne struct{ counting }

func (countingOne) TakeOne(_ context.Context, now stint.Micros, _ *stint.Policy, _ string, _ stint.Ask) (stint.Micros, stint.Verdict, error) {
	return now, stint.Verdict{OK: true, Remaining: 7}, nil
}

func TestTimedPassesAnswersOn(t *testing.T) {
	want := errors.New("no")
	timed := New(Options{}).Timed(counting{want})
	if _, ok := timed.(stint.OneStore); ok {
		t.Error("a store for lists only takes single charges")
	}
	verdicts := make([]stint.Verdict, 2)
	if at, err := timed.Take(context.Background(), 3, nil, verdicts); at != 4 || !errors.Is(err, want) || !verdicts[1].OK {
		t.Errorf("%v, %v, %v", at, err, verdicts)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	var notReady error
	a := New(Options{Ready: func() error { return notReady }})
	want := func(path string, status int, body string) {
		t.Helper()
		if s, b := get(t, a, path); s != status || b != body {
			t.Errorf("%s: %d %q, want %d %q", path, s, b, status, body)
		}
	}
	want("/healthz", 200, "alive\n")
	want("/readyz", 200, "ready\n")
	notReady = errors.New("no rules yet")
	want("/readyz", 503, "not ready: no rules yet\n")
	notReady = nil
	a.Drain()
	want("/readyz", 503, "not ready: draining\n")
	want("/healthz", 200, "alive\n")
	if s, _ := get(t, New(Options{}), "/readyz"); s != 200 {
		t.Errorf("status %d without a function", s)
	}
	if s, _ := get(t, a, "/nothing"); s != 404 {
		t.Errorf("status %d for a path that is none", s)
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/healthz", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
}

func TestPageEscapesEverything(t *testing.T) {
	const hostile = `<script>alert("x")</script>'&`
	a := New(Options{
		Version: hostile, Now: frozen, Ready: func() error { return errors.New(hostile) },
		KeyText: func(key []byte) string { return string(key) },
		Store:   func() StoreStats { return StoreStats{Buckets: 77} },
	})
	a.SetListeners([]Listener{{hostile, hostile}})
	a.SetRules([]Rule{{ID: hostile, Sentence: hostile, Policies: []string{hostile}}})
	a.Reloaded(frozen(), errors.New(hostile))
	l := newLimiter(t, a)
	if d, err := l.Allow(t.Context(), newPolicy(t, hostile, 0), hostile); err != nil || d.Allowed {
		t.Fatal(d, err)
	}
	status, body := get(t, a, "/")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	if strings.Contains(body, "<script") || strings.Contains(body, `"x"`) {
		t.Errorf("something is not escaped:\n%s", body)
	}
	if n := strings.Count(body, "&lt;script&gt;"); n != 9 {
		t.Errorf("%d escaped texts, want 9:\n%s", n, body)
	}
	if !strings.Contains(body, "77 buckets") {
		t.Error("no store")
	}
}

func TestEmptyPage(t *testing.T) {
	status, body := get(t, New(Options{}), "/")
	if status != http.StatusOK || !strings.Contains(body, "Ready") || strings.Contains(body, "Store in memory") {
		t.Errorf("%d: %s", status, body)
	}
	if status, body := get(t, New(Options{}), "/style.css"); status != 200 || !strings.Contains(body, "font") {
		t.Errorf("style: %d %q", status, body)
	}
}

func TestPagesMayNotBeFramedOrRun(t *testing.T) {
	w := httptest.NewRecorder()
	New(Options{}).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
}

// No key of a client becomes a label.
func TestKeysAreNoLabels(t *testing.T) {
	a := New(Options{})
	l := newLimiter(t, a)
	p := newPolicy(t, "A", 0)
	for i := range 50 {
		if _, err := l.Allow(t.Context(), p, fmt.Sprintf("client-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, body := get(t, a, "/metrics"); strings.Contains(body, "client-") {
		t.Error("a key is in the metrics")
	}
}

func TestPoliciesAreBounded(t *testing.T) {
	a := New(Options{})
	var names []string
	for i := range maxPolicies - 1 {
		names = append(names, fmt.Sprint(i))
	}
	a.SetRules([]Rule{{Policies: names}})
	a.rules.of("the last")
	others := a.rules.of("one more")
	if a.rules.of("another") != others || a.rules.of("0") == others {
		t.Error("policies above the bound are not counted together")
	}
	if n := len(*a.rules.by.Load()); n != maxPolicies+1 {
		t.Errorf("%d policies, want %d", n, maxPolicies+1)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	a := New(Options{})
	d := stint.Decision{Result: stint.Result{Cost: 1}, Results: []stint.Result{
		{Policy: "A", Key: []byte("key"), Cost: 1, Verdict: stint.Verdict{OK: true}},
		{Policy: "B", Key: []byte("another"), Cost: 1},
	}}
	if n := testing.AllocsPerRun(1000, func() { a.Observe(&d) }); n != 0 {
		t.Errorf("a refusal allocates %v times, want 0", n)
	}
	key := d.Results[1].Key
	if n := testing.AllocsPerRun(1000, func() { key[0]++; key[1] += key[0] & 1; a.Observe(&d) }); n != 0 {
		t.Errorf("refusals of many keys allocate %v times, want 0", n)
	}
	d.Allowed, d.Results[1].OK = true, true
	if n := testing.AllocsPerRun(1000, func() { a.Observe(&d) }); n != 0 {
		t.Errorf("an allowed request allocates %v times, want 0", n)
	}
	timed := a.Timed(counting{})
	if n := testing.AllocsPerRun(1000, func() { _, _ = timed.Take(context.Background(), 0, nil, nil) }); n != 0 {
		t.Errorf("measuring allocates %v times, want 0", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	for _, allowed := range []bool{true, false} {
		b.Run(fmt.Sprintf("allowed=%v", allowed), func(b *testing.B) {
			a := New(Options{})
			r := stint.Result{Policy: "per-key", Key: []byte("key"), Cost: 1, Verdict: stint.Verdict{OK: allowed}}
			d := stint.Decision{Allowed: allowed, Result: r, Results: []stint.Result{r, r, r}}
			d.Results[1].Policy, d.Results[2].Policy = "signed-out", "whole-service"
			b.ReportAllocs()
			for b.Loop() {
				a.Observe(&d)
			}
		})
	}
}

func ExampleAdmin() {
	a := New(Options{Version: "v1"})
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := &stint.Limiter{Store: store, Observe: a.Observe}
	policy, err := stint.NewPolicy("logins", stint.Limit{Count: 3, Window: time.Hour}, algo.FixedWindow)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		if _, err := limiter.Allow(context.Background(), policy, netip.MustParseAddr("192.0.2.1").String()); err != nil {
			fmt.Println(err)
		}
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "stint_requests_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// stint_requests_total{result="allowed"} 3
	// stint_requests_total{result="refused"} 2
	// stint_requests_total{result="unavailable"} 0
}
