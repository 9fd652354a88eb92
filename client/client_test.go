package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/client"
)

// TestAClientIsTheEmbeddedRules: by one line a program switches between them, and
// its decisions are the same to the last number.
func TestAClientIsTheEmbeddedRules(t *testing.T) {
	embedded, _ := newRules(t)
	remote := newClient(t, client.Options{URL: serveRules(t), Fields: allFields()})
	for _, src := range []*request{
		get("/v1/search"), get("/v1/search"), get("/v1/search"), get("/v1/search"),
		get("/V1/search"), get("//v1/./%73earch"), get("/closed"), get(""), get("*"), get("v1/search"),
		get("/caf\xe9"), get("/caf%E9"), get("/a?b"),
		get("/", field(stint.FieldHeader, "X-Api-Key"), "hunter2"),
		get("/", field(stint.FieldHeader, "X-Api-Key"), ""),
		get("/", field(stint.FieldHeader, "X-Api-Key"), "a\r\nb\x00"),
		get("/", field(stint.FieldJSON, "phone"), "+49 171", field(stint.FieldQuery, "page"), "1", field(stint.FieldCookie, "session"), "s"),
		get("/", field(stint.FieldDescriptor, "tenant"), "t"),
		get("/", field(stint.FieldJSON, "phone"), strings.Repeat("9", 60_000)),
		get("/", field(stint.FieldJSON, "phone"), strings.Repeat("9", 70_000)),
		{addr: "2001:db8::1", values: map[stint.Field]string{}},
		{},
	} {
		got, want := decide(t, remote, src), decide(t, embedded, src)
		if len(got.Results) == 0 && len(want.Results) == 0 {
			got.Results, want.Results = nil, nil
		}
		if got.Key == nil {
			want.Key = nil
		}
		for i := range min(len(got.Results), len(want.Results)) {
			if len(want.Results[i].Key) == 0 {
				want.Results[i].Key = nil
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.100v\n got %+v\nwant %+v", src.values, got, want)
		}
	}
}

func TestChecksByName(t *testing.T) {
	c := newClient(t, client.Options{URL: serveRules(t)})
	ctx := context.Background()
	otp := func(cost int64) client.Charge {
		return client.Charge{Rule: "send-otp", Key: []string{"+49"}, Cost: cost}
	}
	for _, step := range []struct {
		ask     func(context.Context, ...client.Charge) (stint.Decision, error)
		cost    int64
		allowed bool
		left    int64
	}{
		{c.Check, 3, true, 2}, {c.Check, 3, false, 2}, {c.Check, 0, true, 2}, {c.Refund, 1, true, 3}, {c.Check, 3, true, 0}, {c.Check, 0, false, 0},
	} {
		d, err := step.ask(ctx, otp(step.cost))
		if err != nil || d.Allowed != step.allowed || d.Remaining != step.left || d.Policy != "send-otp" {
			t.Errorf("cost %d: %+v, %v, want %v and %d left", step.cost, d, err, step.allowed, step.left)
		}
	}
	d, err := c.Check(ctx, otp(0), client.Charge{Rule: "closed", Cost: 1})
	if err != nil || d.Allowed || len(d.Results) != 2 || d.Policy != "closed" {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestBadChecksAreErrors: what the caller did wrong is never let through.
func TestBadChecksAreErrors(t *testing.T) {
	c := newClient(t, client.Options{URL: serveRules(t), Failure: stint.FailAllow, OnError: func(err error) { t.Errorf("told %v", err) }})
	ctx := context.Background()
	for _, charge := range []client.Charge{{Rule: "no-such-rule", Cost: 1}, {Rule: "send-otp", Cost: 1}, {Rule: "closed", Cost: -1}} {
		if d, err := c.Check(ctx, charge); err == nil || d.Allowed || d.Reason != stint.ReasonUnavailable {
			t.Errorf("%+v: %+v, %v", charge, d, err)
		}
	}
	_, err := c.Check(ctx, client.Charge{Rule: "closed"}, client.Charge{Rule: "send-opt", Cost: 1})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 400 || e.Pointer != "/charges/1" || !strings.Contains(e.Error(), "did you mean send-otp") {
		t.Errorf("%v", err)
	}
	if _, err := c.Check(ctx); err == nil {
		t.Error("no charge: no error")
	}
	if _, err := c.Refund(ctx, client.Charge{Rule: "closed"}); err == nil {
		t.Error("a refund of nothing: no error")
	}
}

// failures are servers that do not answer.
func failures(t *testing.T) map[string]string {
	t.Helper()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	answer := func(status int, body string) string {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
	}
	return map[string]string{
		"nobody listens": "http://" + closed.Addr().String(),
		"500":            answer(500, "oops"),
		"404":            answer(404, "<html>"),
		"a redirect":     answer(302, ""),
		"no JSON":        answer(200, "<html>"),
		"half an answer": answer(200, `{"allowed":true`),
		"too long":       answer(200, `{"allowed":true,"x":"`+strings.Repeat("a", 2<<20)+`"}`),
		"hangs up": serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		})),
	}
}

func TestFailureModes(t *testing.T) {
	for name, url := range failures(t) {
		local, _ := newRules(t)
		for mode, want := range map[stint.FailureMode]stint.Decision{
			stint.FailAllow: {Allowed: true},
			stint.FailDeny:  {Reason: stint.ReasonUnavailable, Result: stint.Result{Verdict: stint.Verdict{RetryAfter: time.Second}}},
			stint.FailLocal: {Allowed: true, Result: stint.Result{Policy: "search"}},
		} {
			told := 0
			o := client.Options{URL: url, Failure: mode, OnError: func(error) { told++ }}
			if mode == stint.FailLocal {
				o.Local = local
			}
			c := newClient(t, o)
			d := decide(t, c, get("/v1/search"))
			if d.Allowed != want.Allowed || d.Reason != want.Reason || d.Policy != want.Policy || d.RetryAfter != want.RetryAfter || !d.Degraded || told != 1 {
				t.Errorf("%s, %s: %+v, told %d times", name, mode, d, told)
			}
			d, err := c.Check(context.Background(), client.Charge{Rule: "search", Key: []string{"192.0.2.7"}, Cost: 1})
			if err != nil || d.Allowed != (mode == stint.FailAllow) || !d.Degraded || told != 2 {
				t.Errorf("%s, %s: check %+v, %v, told %d times", name, mode, d, err, told)
			}
			if _, err := c.Refund(context.Background(), client.Charge{Rule: "search", Key: []string{"192.0.2.7"}, Cost: 1}); err == nil {
				t.Errorf("%s, %s: a lost refund is no error", name, mode)
			}
		}
	}
}

// silent is a transport that never answers.
type silent struct{ sent atomic.Int64 }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestTheDeadlineHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(silent)
		c := newClient(t, client.Options{URL: "http://stint.example", Failure: stint.FailAllow, Deadline: 30 * time.Millisecond, Transport: s})
		begin := time.Now()
		d := decide(t, c, get("/"))
		if took := time.Since(begin); took != 30*time.Millisecond || !d.Allowed || !d.Degraded || s.sent.Load() != 1 {
			t.Errorf("%+v after %v, sent %d times", d, took, s.sent.Load())
		}
	})
}

// TestC068ACallerThatGivesUpIsNoFailure: it is nobody's outage.
func TestC068ACallerThatGivesUpIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, client.Options{
			URL: "http://stint.example", Failure: stint.FailAllow, Transport: new(silent), OnError: func(err error) { t.Errorf("told %v", err) },
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		d := stint.Decision{Allowed: true}
		if err := c.Decide(ctx, get("/"), &d); !errors.Is(err, context.DeadlineExceeded) || d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		got, err := c.Check(ctx, client.Charge{Rule: "r", Cost: 1})
		if !errors.Is(err, context.DeadlineExceeded) || got.Allowed {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestChecksUnderWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(silent)
		var last error
		c := newClient(t, client.Options{
			URL: "http://stint.example", Failure: stint.FailDeny, MaxInFlight: 3, Deadline: time.Second, Transport: s,
			OnError: func(err error) { last = err },
		})
		ctx, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		for range 3 {
			done.Go(func() {
				var d stint.Decision
				_ = c.Decide(ctx, get("/"), &d)
			})
		}
		synctest.Wait()
		time.Sleep(time.Millisecond)
		begin := time.Now()
		_ = decideIn(c, 500*time.Millisecond)
		if took := time.Since(begin); took != 500*time.Millisecond || s.sent.Load() != 3 || last != nil {
			t.Errorf("after %v, %d sent, %v", took, s.sent.Load(), last)
		}
		cancel()
		done.Wait()
	})
}

// decideIn decides for a caller that has so much time.
func decideIn(c *client.Client, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var d stint.Decision
	return c.Decide(ctx, get("/"), &d)
}

// TestConnectionsAreUsedAgain: and never more of them than checks under way.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var opened atomic.Int64
	d, _ := newRules(t)
	url := serveCounting(t, d, &opened)
	c := newClient(t, client.Options{URL: url, Failure: stint.FailDeny, MaxInFlight: 4})
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			for range 20 {
				if d := decide(t, c, get("/free")); !d.Allowed {
					t.Errorf("%+v", d)
				}
			}
		})
	}
	done.Wait()
	if n := opened.Load(); n > 4 {
		t.Errorf("%d connections for 4 checks at a time", n)
	}
}

// TestTooLongToDescribe: whoever sends more than a check can hold is refused, also
// by a client that lets through what it can not tell.
func TestTooLongToDescribe(t *testing.T) {
	c := newClient(t, client.Options{URL: serveRules(t), Failure: stint.FailAllow, Fields: allFields()})
	d := decide(t, c, get("/", field(stint.FieldHeader, "X-Api-Key"), strings.Repeat("\x01", 200_000)))
	if d.Allowed || d.Reason != stint.ReasonTooLarge || d.RetryAfter != stint.Never {
		t.Errorf("%+v", d)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	local, _ := newRules(t)
	for _, c := range []struct {
		options client.Options
		want    string
	}{
		{client.Options{Failure: stint.FailAllow}, "no URL of a server"},
		{client.Options{URL: "127.0.0.1:8081", Failure: stint.FailAllow}, "write one such as http://127.0.0.1:8081"},
		{client.Options{URL: "redis://h", Failure: stint.FailAllow}, "no http or https URL"},
		{client.Options{URL: "http://u:hunter2@h", Failure: stint.FailAllow}, "more than a host and a path"},
		{client.Options{URL: "http://h?x", Failure: stint.FailAllow}, "more than a host and a path"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Carrier: &carrier{}}, "a carrier goes with no URL"},
		{client.Options{URL: "http://h"}, "no local decider"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Local: local}, "choose one"},
		{client.Options{URL: "http://h", Failure: "open"}, `failure "open": write local, allow or deny`},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Deadline: -1}, "deadline"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Failures: -1}, "failures in a row"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Probe: -1}, "probe"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, MaxInFlight: -1}, "max in flight"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Fields: []stint.Field{{Kind: stint.FieldMethod}}}, "the rest is always sent"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Fields: []stint.Field{{Kind: stint.FieldQuery}}}, "without a name"},
		{client.Options{URL: "http://h", Failure: stint.FailDeny, Fields: make([]stint.Field, 200)}, "200 fields: at most"},
	} {
		_, err := client.New(c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// carrier is a carrier that nobody asks.
type carrier struct{ client.Carrier }
