package rls_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/rls"
)

func TestC048MonthIsThirtyDays(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: month, requests_per_unit: 100}}]", setup{})
	for _, at := range []struct {
		when  time.Time
		reset int64
	}{
		{time.Date(2026, 3, 7, 23, 0, 0, 0, time.UTC), 3600},
		{time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), 2_592_000},
	} {
		d.clock.set(at.when)
		st := d.must(request(t, "d", "a=1")).GetStatuses()[0]
		if st.GetLimitRemaining() != 99 || st.GetDurationUntilReset().GetSeconds() != at.reset {
			t.Errorf("at %v: remaining %d, reset %v, want 99 and %ds", at.when, st.GetLimitRemaining(), st.GetDurationUntilReset().AsDuration(), at.reset)
		}
	}
}

func TestC095DurationUntilReset(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: path, value: /a, rate_limit: {unit: minute, requests_per_unit: 50}}]", setup{})
	for _, step := range []struct {
		after     time.Duration
		ask       string
		remaining uint32
		reset     int64
		over      bool
	}{
		{11 * time.Second, "path=/a", 49, 49, false},
		{59500 * time.Millisecond, "path=/a", 48, 1, false},
		{59500 * time.Millisecond, "path=/a +48", 0, 1, false},
		{59600 * time.Millisecond, "path=/a", 0, 1, true},
	} {
		d.clock.set(epoch.Add(step.after))
		resp := d.must(request(t, "d", step.ask))
		st := resp.GetStatuses()[0]
		if st.GetLimitRemaining() != step.remaining || st.GetDurationUntilReset().AsDuration() != time.Duration(step.reset)*time.Second ||
			(code(resp.GetOverallCode()) == "over") != step.over {
			t.Errorf("at %v: %s, reset %v, want remaining %d and %ds", step.after, show(resp), st.GetDurationUntilReset().AsDuration(), step.remaining, step.reset)
		}
		if l := st.GetCurrentLimit(); l.GetRequestsPerUnit() != 50 || l.GetUnit().String() != "MINUTE" {
			t.Errorf("current limit %v", l)
		}
	}
}

func TestC097RetryAfterIsRoundedUp(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}]", setup{})
	for _, at := range []time.Duration{100 * time.Millisecond, time.Hour + 59400*time.Millisecond} {
		d.clock.set(epoch.Add(at))
		d.want("a=1", "ok: ok 0/1mi")
		wait := headerOf(d.must(request(t, "d", "a=1")), "Retry-After")
		seconds, err := time.ParseDuration(wait + "s")
		if err != nil || seconds < time.Second {
			t.Fatalf("Retry-After %q", wait)
		}
		d.clock.set(epoch.Add(at + seconds))
		d.want("a=1", "ok: ok 0/1mi")
	}
}

func TestC103NothingBelowZero(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {window: 10s, requests_per_unit: 3}}]", setup{
		service: func(o *rls.Options) { o.Headers = rls.RateLimit },
	})
	for i, want := range []string{"2", "1", "0", "0", "0", "0"} {
		d.clock.set(epoch.Add(time.Second))
		resp := d.must(request(t, "d", "a=1"))
		if got := headerOf(resp, "RateLimit-Remaining"); got != want {
			t.Errorf("request %d: remaining %s, want %s", i, got, want)
		}
		if wait := headerOf(resp, "Retry-After"); i > 2 && wait != "9" {
			t.Errorf("request %d: Retry-After %q, want 9", i, wait)
		}
	}
}

func TestC104HeadersOnlyWhereAskedFor(t *testing.T) {
	file := "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}]"
	for _, row := range []struct {
		headers       rls.Headers
		allowed, over string
	}{
		{0, "", "Retry-After: 60"},
		{rls.RateLimit, "RateLimit-Limit: 1, RateLimit-Remaining: 0, RateLimit-Reset: 60", "RateLimit-Limit: 1, RateLimit-Remaining: 0, RateLimit-Reset: 60, Retry-After: 60"},
		{rls.XRateLimit, "X-RateLimit-Limit: 1, X-RateLimit-Remaining: 0, X-RateLimit-Reset: 60", "X-RateLimit-Limit: 1, X-RateLimit-Remaining: 0, X-RateLimit-Reset: 60, Retry-After: 60"},
		{rls.IETF, `RateLimit-Policy: "d/a";q=1;w=60, RateLimit: "d/a";r=0;t=60`, `RateLimit-Policy: "d/a";q=1;w=60, RateLimit: "d/a";r=0;t=60, Retry-After: 60`},
	} {
		d := open(t, file, setup{service: func(o *rls.Options) { o.Headers = row.headers }})
		for _, want := range []string{row.allowed, row.over} {
			var got []string
			for _, h := range d.must(request(t, "d", "a=1")).GetResponseHeadersToAdd() {
				got = append(got, h.GetKey()+": "+h.GetValue())
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("headers %d:\n got %s\nwant %s", row.headers, strings.Join(got, ", "), want)
			}
		}
	}
}

func TestC112TheRuleThatReplacesGivesMore(t *testing.T) {
	d := open(t, `domain: d
descriptors:
- {key: any, rate_limit: {unit: second, requests_per_unit: 5, name: any}}
- {key: path, value: /values, rate_limit: {unit: second, requests_per_unit: 10, replaces: [{name: any}]}}`, setup{})
	allowed := func(ask string, n int) (count int) {
		for range n {
			if strings.HasPrefix(d.ask(ask), "ok") {
				count++
			}
		}
		return count
	}
	if n := allowed("any=1 | path=/values", 11); n != 10 {
		t.Errorf("%d of 11 requests to /values passed, want 10", n)
	}
	if n := allowed("any=1 | path=/other", 6); n != 5 {
		t.Errorf("%d of 6 requests to /other passed, want 5: /values must not use up any", n)
	}
}

func TestC113RefusedByOneUsesUpNone(t *testing.T) {
	d := open(t, `domain: d
descriptors:
- {key: group, value: bar, rate_limit: {unit: minute, requests_per_unit: 10}}
- {key: path, value: /bar/special, rate_limit: {unit: minute, requests_per_unit: 3}}`, setup{})
	var got string
	for range 5 {
		got += d.ask("group=bar | path=/bar/special")[:2] + " "
	}
	for range 8 {
		got += d.ask("group=bar | path=/bar/other")[:2] + " "
	}
	if want := "ok ok ok ov ov ok ok ok ok ok ok ok ov "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// counting is a store that counts its calls.
type counting struct {
	stint.Store
	calls atomic.Int64
}

func (c *counting) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	c.calls.Add(1)
	return c.Store.Take(ctx, now, charges, verdicts)
}

func TestC128UnlimitedAsksNoStoreAndIsCounted(t *testing.T) {
	store := &counting{Store: memory(t)}
	d := open(t, "domain: d\ndescriptors: [{key: plan, value: internal, rate_limit: {unlimited: true}}]", setup{
		store:   store,
		service: func(o *rls.Options) { o.Headers = rls.RateLimit | rls.IETF },
	})
	for range 1000 {
		resp := d.must(request(t, "d", "plan=internal"))
		if got := show(resp); got != "ok: ok unlimited" || resp.GetStatuses()[0].GetLimitRemaining() != math.MaxUint32 || len(resp.GetResponseHeadersToAdd()) > 0 {
			t.Fatalf("%s, headers %v", got, resp.GetResponseHeadersToAdd())
		}
	}
	if n := store.calls.Load(); n != 0 {
		t.Errorf("%d calls of the store", n)
	}
	if len(d.seen) != 1000 || !d.seen[0].Results[0].Unlimited || d.seen[0].Results[0].Policy != "d/plan=internal" {
		t.Errorf("%d decisions were observed, the first one %+v", len(d.seen), d.seen[0])
	}
}

// A refusal is an answer and never a gRPC error.
func TestC129ARefusalIsNoError(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 2}}]", setup{})
	for i := range 4 {
		resp, err := d.call(request(t, "d", "a=1"))
		if err != nil || (code(resp.GetOverallCode()) == "over") != (i >= 2) {
			t.Errorf("call %d: %v, %v", i, resp, err)
		}
	}
}

func TestC131HitsAddend(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 10}}]", setup{})
	d.want("a=1", "ok: ok 9/10mi")
	d.want("x4 a=1", "ok: ok 5/10mi")
	d.want("a=1 +0", "ok: ok 5/10mi")
	d.want("x7 a=1 +3", "ok: ok 2/10mi")
	d.want("x2 a=1", "ok: ok 0/10mi")
	// A look says what a hit would get, so that who looks first is not misled.
	d.want("a=1 +0", "over: over 0/10mi")
	d.want("x1 a=1", "over: over 0/10mi")
}

func TestC133WildcardsAtEachLevel(t *testing.T) {
	d := open(t, `domain: d
descriptors:
- {key: path, value: /api/*, rate_limit: {unit: minute, requests_per_unit: 2}}
- key: plan
  value: free
  descriptors:
  - {key: path, value: /x*, rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: path, value: /xyz, rate_limit: {unit: minute, requests_per_unit: 5}}`, setup{})
	d.want("path=/api/1", "ok: ok 1/2mi")
	d.want("path=/api/1", "ok: ok 0/2mi")
	d.want("path=/api/2", "ok: ok 1/2mi")
	d.want("path=/apix", "ok: ok")
	d.want("plan=free path=/xa", "ok: ok 1/2mi")
	d.want("plan=free path=/xa", "ok: ok 0/2mi")
	d.want("plan=free path=/xa", "over: over 0/2mi")
	for left := 4; left >= 0; left-- {
		d.want("plan=free path=/xyz", fmt.Sprintf("ok: ok %d/5mi", left))
	}
	d.want("plan=free path=/xyz", "over: over 0/5mi")
}

func TestC135MetricsTellWhatWasCharged(t *testing.T) {
	d := open(t, `domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 3}}
- {key: b, rate_limit: {unit: minute, requests_per_unit: 100}}`, setup{})
	for range 10 {
		d.ask("a=1 | b=1")
	}
	tally := make(map[string]int)
	for _, seen := range d.seen {
		if len(seen.Results) != 2 {
			t.Fatalf("%d results", len(seen.Results))
		}
		for _, r := range seen.Results {
			tally[fmt.Sprintf("%s ok=%t request=%t", r.Policy, r.OK, seen.Allowed)]++
		}
		if !seen.Allowed && seen.Policy != "d/a" {
			t.Errorf("the refusal names %s", seen.Policy)
		}
	}
	want := map[string]int{
		"d/a ok=true request=true": 3, "d/a ok=false request=false": 7,
		"d/b ok=true request=true": 3, "d/b ok=true request=false": 7,
	}
	if fmt.Sprint(tally) != fmt.Sprint(want) {
		t.Errorf("observed %v, want %v", tally, want)
	}
	if st := d.service.Stats(); st.Requests != 10 || st.OverLimit != 7 {
		t.Errorf("stats %+v", st)
	}
	d.want("b=1", "ok: ok 96/100mi")
}

// broken is a store that fails.
type broken struct{ err error }

func (b broken) Take(context.Context, stint.Micros, []stint.Charge, []stint.Verdict) (stint.Micros, error) {
	return 0, b.err
}

func TestC065StoreFailureIsNoLimit(t *testing.T) {
	local := memory(t)
	store, err := failover.New(failover.Options{Store: broken{errors.New("connection refused to 10.1.2.3")}, Local: local, Deadline: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, `domain: d
descriptors:
- {key: open, rate_limit: {unit: minute, requests_per_unit: 10, on_store_failure: allow}}
- {key: closed, rate_limit: {unit: minute, requests_per_unit: 10, on_store_failure: deny}}
- {key: local, rate_limit: {unit: minute, requests_per_unit: 10}}`, setup{
		store:   store,
		service: func(o *rls.Options) { o.Headers = rls.RateLimit | rls.IETF },
	})
	resp := d.must(request(t, "d", "open=1"))
	if show(resp) != "ok: ok" || len(resp.GetResponseHeadersToAdd()) > 0 {
		t.Errorf("open: %s, headers %v", show(resp), resp.GetResponseHeadersToAdd())
	}
	resp = d.must(request(t, "d", "closed=1"))
	if show(resp) != "over: over" || !strings.Contains(string(resp.GetRawBody()), "unavailable") {
		t.Errorf("closed: %s, body %q", show(resp), resp.GetRawBody())
	}
	if h := resp.GetResponseHeadersToAdd(); len(h) != 1 || h[0].GetKey() != "Retry-After" || h[0].GetValue() != "1" {
		t.Errorf("closed: headers %v, want only Retry-After: 1", h)
	}
	for i := range 11 {
		if got := d.ask("local=1"); strings.HasPrefix(got, "ok") != (i < 10) {
			t.Errorf("local %d: %s", i, got)
		}
	}
	if n := d.service.Stats().Unavailable; n != 1 {
		t.Errorf("unavailable %d, want 1", n)
	}
}

// A store that fails without anybody to take over is Unavailable, and Envoy's
// failure_mode_deny decides.
func TestC071StoreErrorIsNeverUnknown(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}]", setup{store: broken{errors.New("LOADING secret")}})
	_, err := d.call(request(t, "d", "a=1"))
	if status.Code(err) != codes.Unavailable || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if n := d.service.Stats().Unavailable; n != 1 {
		t.Errorf("unavailable %d, want 1", n)
	}
}

// stuck is a store that answers nobody.
type stuck struct{}

func (stuck) Take(ctx context.Context, _ stint.Micros, _ []stint.Charge, _ []stint.Verdict) (stint.Micros, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestC068CancelledCallsAreNoStoreFailures(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}]", setup{store: stuck{}})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.client.ShouldRateLimit(ctx, request(t, "d", "a=1")); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	waitFor(t, func() bool { return d.service.Stats().Cancelled == 1 })
	if n := d.service.Stats().Unavailable; n != 0 {
		t.Errorf("unavailable %d, want 0", n)
	}
}

// waitFor waits until something that happens elsewhere has happened.
func waitFor(t *testing.T, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

func headerOf(resp interface{ GetResponseHeadersToAdd() []*core.HeaderValue }, name string) string {
	for _, h := range resp.GetResponseHeadersToAdd() {
		if h.GetKey() == name {
			return h.GetValue()
		}
	}
	return ""
}

// byRules decides like a rules file would: 2 requests for each address and user.
type byRules struct {
	limiter *stint.Limiter
	policy  *stint.Policy
	fields  []stint.Field
	seen    []string
	addr    netip.Addr
}

func (b *byRules) Decide(ctx context.Context, src stint.Source, d *stint.Decision) error {
	b.seen, b.addr = nil, src.Addr()
	key := []byte(src.Addr().String())
	for _, f := range b.fields {
		v, ok := src.Value(f)
		b.seen = append(b.seen, fmt.Sprintf("%s %t", v, ok))
		key = append(append(key, 0), v...)
	}
	return b.limiter.Decide(ctx, []stint.Charge{{Policy: b.policy, Key: key, Ask: stint.Ask{Cost: 1}}}, d)
}
