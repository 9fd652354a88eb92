package rls_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/descriptors"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rls"
)

// These are faults of other rate limit services that this one is to be free of.

const oneLimit = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 5}}]"

func TestDefect1LimitWithoutAUnitIsAnErrorOfThatRequest(t *testing.T) {
	d := open(t, oneLimit, setup{})
	for _, bad := range []string{"a=1 #5/UNKNOWN", "a=1 #5/0*MINUTE", "a=1 #5/4000000000*YEAR"} {
		if _, err := d.call(request(t, "d", bad)); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "unit") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	req := request(t, "d", "a=1 #5/MINUTE")
	req.Descriptors[0].Limit.Unit = 99
	if _, err := d.call(req); status.Code(err) != codes.InvalidArgument {
		t.Errorf("unit 99: %v", err)
	}
	d.want("a=1", "ok: ok 4/5mi")
}

func TestDefect2KeysNeverCollide(t *testing.T) {
	d := open(t, `domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 5}}
- {key: a_b, rate_limit: {unit: minute, requests_per_unit: 5}}
- key: x
  descriptors:
  - {key: y, rate_limit: {unit: minute, requests_per_unit: 5}}`, setup{})
	d.want("a=b_x +5", "ok: ok 0/5mi")
	d.want("a_b=x", "ok: ok 4/5mi")
	d.want("+5 x=1_y y=2", "ok: ok 0/5mi")
	d.want("x=1 y=y_2", "ok: ok 4/5mi")
	// The same of limits that requests bring.
	d.want("+5 p=q_r #5/HOUR", "ok: ok 0/5ho")
	d.want("p_q=r #5/HOUR", "ok: ok 4/5ho")
	d.want("p=q r= #5/HOUR", "ok: ok 4/5ho")
	// Long values are hashed; they are apart all the same, also from their hash.
	long := strings.Repeat("v", 65)
	d.want("+5 a="+long+"1", "ok: ok 0/5mi")
	d.want("a="+long+"2", "ok: ok 4/5mi")
}

func TestDefect3LimitsOfRequestsTakeBoundedMemory(t *testing.T) {
	store, err := memstore.New(memstore.Options{MaxBuckets: 1000})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, oneLimit, setup{store: store, service: func(o *rls.Options) { o.Observe = nil }})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	send := func(from, to int) {
		for i := from; i < to; i++ {
			if _, err := d.service.ShouldRateLimit(t.Context(), request(t, "d", fmt.Sprintf("k=%d #%d/MINUTE", i, i%5000+1))); err != nil {
				t.Fatal(err)
			}
			if _, err := d.service.ShouldRateLimit(t.Context(), request(t, fmt.Sprint("unknown-", i), "k=1")); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(0, 6000)
	before := heap()
	send(6000, 20_000)
	if after := heap(); after > before+4<<20 {
		t.Errorf("the heap grew from %d to %d KB", before>>10, after>>10)
	}
	if st := store.Stats(); st.Buckets > 1000 {
		t.Errorf("%d buckets", st.Buckets)
	}
	if st := d.service.Stats(); st.UnknownDomain != 20_000 {
		t.Errorf("%d requests of unknown domains were counted", st.UnknownDomain)
	}
}

func TestDefect4TheStoresDeadlineHolds(t *testing.T) {
	store, err := failover.New(failover.Options{Store: stuck{}, Local: memory(t), Deadline: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, oneLimit, setup{store: store})
	began := time.Now()
	d.want("a=1", "ok: ok 4/5mi")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestDefects5And6And7HealthTellsTheTruth(t *testing.T) {
	d := open(t, "", setup{})
	if _, err := d.call(request(t, "d", "a=1")); status.Code(err) != codes.Unavailable {
		t.Errorf("a request while nothing is loaded: %v", err)
	}
	h := health.NewHealthClient(d.conn)
	for _, want := range []health.HealthCheckResponse_ServingStatus{health.HealthCheckResponse_NOT_SERVING, health.HealthCheckResponse_SERVING} {
		for _, name := range []string{"", "envoy.service.ratelimit.v3.RateLimitService", "ratelimit"} {
			resp, err := h.Check(t.Context(), &health.HealthCheckRequest{Service: name})
			if err != nil || resp.GetStatus() != want {
				t.Errorf("health of %q: %v, %v, want %v", name, resp.GetStatus(), err, want)
			}
		}
		d.load(oneLimit, descriptors.Options{})
	}
	if _, err := h.Check(t.Context(), &health.HealthCheckRequest{Service: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("another service: %v", err)
	}
}

func TestDefect9TheEdgeOfAWindow(t *testing.T) {
	across := func(o descriptors.Options, file string) (passed int) {
		d := open(t, file, setup{descriptors: o})
		for _, at := range []time.Duration{59800 * time.Millisecond, 60200 * time.Millisecond} {
			d.clock.set(epoch.Add(at))
			for range 5 {
				if strings.HasPrefix(d.ask("a=1"), "ok") {
					passed++
				}
			}
		}
		return passed
	}
	with := func(algorithm string) string {
		return strings.Replace(oneLimit, "unit:", "algorithm: "+algorithm+", unit:", 1)
	}
	for _, algorithm := range []string{"sliding_window_counter", "sliding_window_log", "token_bucket", "leaky_bucket", "gcra"} {
		if n := across(descriptors.Options{}, with(algorithm)); n > 5 {
			t.Errorf("%s let %d of 10 through within 0.4 s, want at most 5", algorithm, n)
		}
	}
	if n := across(descriptors.Options{Algorithm: algo.SlidingWindowCounter}, oneLimit); n > 5 {
		t.Errorf("the default sliding_window_counter let %d through", n)
	}
	// Left alone, a file means what it meant: the windows of the clock.
	if n := across(descriptors.Options{}, oneLimit); n != 10 {
		t.Errorf("a plain file let %d of 10 through, want the 10 of two windows", n)
	}
}

func TestDefect10ARefusedBatchConsumesNothing(t *testing.T) {
	d := open(t, oneLimit, setup{})
	d.want("x3 a=1", "ok: ok 2/5mi")
	d.want("x10 a=1", "over: over 2/5mi")
	d.want("x3 a=1", "over: over 2/5mi")
	d.want("x2 a=1", "ok: ok 0/5mi")
}

func TestDefect11ALookAtTheLimitSaysSo(t *testing.T) {
	d := open(t, oneLimit, setup{})
	d.want("x4 a=1", "ok: ok 1/5mi")
	d.want("a=1 +0", "ok: ok 1/5mi")
	d.want("a=1", "ok: ok 0/5mi")
	d.want("a=1 +0", "over: over 0/5mi")
}

func TestDefect12ALimitThatIsRaisedIsRaised(t *testing.T) {
	d := open(t, oneLimit, setup{})
	d.want("a=1 +3 #3/HOUR", "ok: ok 0/3ho")
	d.want("a=1 #3/HOUR", "over: over 0/3ho")
	d.want("a=1 #9/HOUR", "ok: ok 5/9ho")
	// Two limits on one value: by two descriptors.
	d.load(`domain: d
descriptors:
- {key: second, rate_limit: {unit: second, requests_per_unit: 2}}
- {key: day, rate_limit: {unit: day, requests_per_unit: 3}}`, descriptors.Options{})
	d.want("second=u | day=u", "ok: ok 1/2se | ok 2/3da")
	d.want("second=u | day=u", "ok: ok 0/2se | ok 1/3da")
	d.want("second=u | day=u", "over: over 0/2se | ok 1/3da")
}

// Limits of requests are more than a store tells apart, and none forgets by that.
func TestDefect12ManyLimitsOfRequestsForgetNothing(t *testing.T) {
	d := open(t, oneLimit, setup{})
	d.want("u=1 +5 #5/DAY", "ok: ok 0/5da")
	for i := range 700 {
		d.ask(fmt.Sprintf("v=%d #%d/DAY | v=%d #%d/%d*SECOND", i, i+6, i, i+1, i+1))
	}
	d.clock.set(epoch.Add(5 * time.Hour))
	d.want("u=1 #5/DAY", "over: over 0/5da")
	d.want("v=699 #705/DAY", "ok: ok 703/705da")
}

func TestDefect13MetadataStaysWithMetricFlags(t *testing.T) {
	d := open(t, `domain: d
descriptors:
- {key: a, detailed_metric: true, metadata: {team: blue, tags: [x, 1, true, null]}, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: b, value: "b*", value_to_metric: true, metadata: {team: red, cost: 2.5}, rate_limit: {unit: minute, requests_per_unit: 9}}
- {key: s, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 0}}
- {key: q, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 0}}`, setup{
		service: func(o *rls.Options) { o.DynamicMetadata, o.RequestHeaders = true, true },
	})
	resp := d.must(request(t, "d", "x2 b=b1 +1 | a=1 +1 | s=1 | q=1 | q=2"))
	if show(resp) != "over: ok 9/9mi | ok 1/1mi | ok 0/0mi | over 0/0mi | over 0/0mi" {
		t.Errorf("%s", show(resp))
	}
	m := resp.GetDynamicMetadata().AsMap()
	if got := fmt.Sprintln(m["shadowModeViolations"], m["quotaModeViolations"], m["quotaModeEnabled"], m["domain"], m["hitsAddend"]); got != "[2] [3 4] true d 2\n" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(m["descriptors"].([]any)[0]); got != "map[entries:[b=b1] hitsAddend:1]" {
		t.Errorf("the first descriptor is %s", got)
	}
	if h := resp.GetRequestHeadersToAdd(); len(h) != 1 || h[0].GetKey() != "X-Stint-Shadow" || h[0].GetValue() != `"d/s"` {
		t.Errorf("headers for the upstream: %v", h)
	}
	resp = d.must(request(t, "d", "b=b1 | a=1"))
	if got := fmt.Sprint(resp.GetDynamicMetadata().AsMap()["metadata"]); got != "map[cost:2.5 tags:[x 1 true <nil>] team:red]" {
		t.Errorf("metadata %s: the first value wins", got)
	}
	resp = d.must(request(t, "d", "b=b1 | a=1"))
	if got := fmt.Sprint(show(resp), resp.GetDynamicMetadata().AsMap()["metadata"]); got != "over: ok 8/9mi | over 0/1mimap[tags:[x 1 true <nil>] team:blue]" {
		t.Errorf("got %s", got)
	}
}

// Reloads beside requests: the race detector looks on.
func TestDefect15ReloadsRaceWithNothing(t *testing.T) {
	d := open(t, oneLimit, setup{service: func(o *rls.Options) { o.Headers, o.DynamicMetadata = rls.RateLimit, true }})
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			for i := range 200 {
				if _, err := d.service.ShouldRateLimit(t.Context(), request(t, "d", fmt.Sprintf("a=%d-%d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 50 {
		d.load(strings.Replace(oneLimit, "5", fmt.Sprint(i+1), 1), descriptors.Options{})
	}
	work.Wait()
}

func TestDefect16CountsOfLargeHitsDoNotWrap(t *testing.T) {
	d := open(t, oneLimit, setup{})
	d.want("x4294967295 a=1", "over: over 5/5mi")
	if r := d.seen[0].Results[0]; r.Cost != 4294967295 || r.OK || r.Remaining != 5 {
		t.Errorf("observed %+v", r)
	}
}
