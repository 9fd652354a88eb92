package grpclimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/grpclimit"
	"github.com/stint-dev/stint/httplimit"
)

// refusing is a Decider that refuses for a reason.
func refusing(t *testing.T, reason stint.Reason, wait time.Duration) stint.Decider {
	t.Helper()
	p := newPolicy(t, `a "b" é`, "10 per 60s", algo.TokenBucket)
	return decide(func(_ context.Context, _ stint.Source, d *stint.Decision) error {
		r := stint.Result{Policy: p.Name, Limit: p.Limit, Capacity: p.Capacity(), Key: []byte("secret"), Cost: 1}
		r.RetryAfter = wait
		d.Refuse(reason, r)
		return nil
	})
}

func TestCodeOfEachReason(t *testing.T) {
	for _, c := range []struct {
		reason stint.Reason
		wait   time.Duration
		code   codes.Code
		info   string
		quota  bool
		retry  string
	}{
		{stint.ReasonLimit, 1500 * time.Millisecond, codes.ResourceExhausted, "RATE_LIMIT_EXCEEDED", true, "2"},
		{stint.ReasonNever, stint.Never, codes.ResourceExhausted, "COST_ABOVE_LIMIT", true, ""},
		{stint.ReasonBlocked, stint.Never, codes.ResourceExhausted, "BLOCKED_BY_LIMIT", true, ""},
		{stint.ReasonMissingKey, 0, codes.PermissionDenied, "RATE_LIMIT_KEY_MISSING", false, ""},
		{stint.ReasonTooLarge, 0, codes.ResourceExhausted, "RATE_LIMIT_KEY_TOO_LARGE", false, ""},
		{stint.ReasonUnavailable, 0, codes.Unavailable, "RATE_LIMITER_UNAVAILABLE", false, "1"},
	} {
		d := refusing(t, c.reason, c.wait)
		a := empty(t, serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: d})))
		info := detail[errdetails.ErrorInfo](t, a.status)
		if a.status.Code() != c.code || info.GetReason() != c.info || info.GetDomain() != grpclimit.DefaultDomain {
			t.Errorf("%s: %v %v, want %v %s", c.reason, a.status.Code(), info, c.code, c.info)
		}
		if got := detail[errdetails.QuotaFailure](t, a.status) != nil; got != c.quota {
			t.Errorf("%s: QuotaFailure %v, want %v", c.reason, got, c.quota)
		}
		if got := detail[errdetails.RetryInfo](t, a.status) != nil; got != (c.retry != "") {
			t.Errorf("%s: RetryInfo %v", c.reason, got)
		}
		if c.retry == "" {
			wantMD(t, a.trailer, "retry-after")
		} else {
			wantMD(t, a.trailer, "retry-after", c.retry)
		}

		// The HTTP door gives a gRPC request the same code.
		r := httptest.NewRequest(http.MethodPost, "/grpc.testing.TestService/EmptyCall", nil)
		r.Header.Set("Content-Type", "application/grpc")
		w := httptest.NewRecorder()
		m, err := httplimit.New(httplimit.Options{Decider: d})
		if err != nil {
			t.Fatal(err)
		}
		m(http.NotFoundHandler()).ServeHTTP(w, r)
		var code codes.Code
		if err := code.UnmarshalJSON([]byte(w.Header().Get("Grpc-Status"))); err != nil || code != c.code {
			t.Errorf("%s: the HTTP door says %v %v", c.reason, code, err)
		}
	}
}

// TestFieldsAreThoseOfTheHTTPDoor compares the numbers of both doors.
func TestFieldsAreThoseOfTheHTTPDoor(t *testing.T) {
	for _, c := range []struct {
		limit string
		a     stint.Algorithm
	}{
		{"3 per 60s", algo.FixedWindow},
		{"10 per 3s, burst 3", algo.TokenBucket},
		{"3 per 7h", algo.TokenBucket},
		{"1000000 per 1s, burst 3", algo.TokenBucket},
		{"3 per 1ms", algo.SlidingWindowLog},
	} {
		clock := &clock{now: start}
		key := func(_ context.Context, src stint.Source, dst []byte) ([]byte, bool) {
			return append(dst, map[bool]string{true: "grpc", false: "http"}[isGRPC(src)]...), true
		}
		s := &httplimit.Single{Limiter: newLimiter(t, clock), Policy: newPolicy(t, `o"d\d é`, c.limit, c.a), Key: key}
		client := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: s}))
		m, err := httplimit.New(httplimit.Options{Decider: s})
		if err != nil {
			t.Fatal(err)
		}
		h := m(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for range 5 {
			a := empty(t, client)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			md := metadata.Join(a.header, a.trailer)
			for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit-Policy", "Ratelimit", "Retry-After"} {
				wantMD(t, md, name, w.Result().Header[name]...)
			}
		}
	}
}

// TestLibraryDoesNotRepeatInVain: a client whose library repeats calls by itself is
// told that no wait helps.
func TestLibraryDoesNotRepeatInVain(t *testing.T) {
	const repeating = `{"methodConfig":[{"name":[{"service":"grpc.testing.TestService"}],"retryPolicy":{
		"maxAttempts":4,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,
		"retryableStatusCodes":["RESOURCE_EXHAUSTED"]}}]}`
	asked := 0
	never := refusing(t, stint.ReasonNever, stint.Never)
	svc := &service{dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(repeating)}}
	client := serve(t, svc, newLimit(t, grpclimit.Options{
		Decider: decide(func(ctx context.Context, src stint.Source, d *stint.Decision) error {
			asked++
			return never.Decide(ctx, src, d)
		}),
	}))
	empty(t, client)
	if asked != 1 {
		t.Errorf("asked %d times for one call", asked)
	}
}

// isGRPC tells the calls of the test apart.
func isGRPC(src stint.Source) bool {
	path, _ := src.Value(stint.Field{Kind: stint.FieldPath})
	return path == "/grpc.testing.TestService/EmptyCall"
}

func TestNoHeaders(t *testing.T) {
	s, _ := single(t, "1 per 60s", byMethodAndIP)
	client := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: s, Headers: grpclimit.NoHeaders}))
	for range 2 {
		a := empty(t, client)
		for _, md := range []metadata.MD{a.header, a.trailer} {
			wantMD(t, md, "x-ratelimit-limit")
			wantMD(t, md, "ratelimit")
		}
		if a.status.Code() != codes.OK {
			wantMD(t, a.trailer, "retry-after", "60")
		}
	}
}

func TestHandlerSeesTheDecision(t *testing.T) {
	s, _ := single(t, "5 per 60s", byMethodAndIP)
	var left int64
	var kept context.Context
	svc := &service{unary: func(ctx context.Context) {
		d, _ := grpclimit.FromContext(ctx)
		left, kept = d.Remaining, ctx
	}}
	client := serve(t, svc, newLimit(t, grpclimit.Options{Decider: s}))
	empty(t, client)
	if left != 4 {
		t.Errorf("the handler saw %d left, want 4", left)
	}
	if _, ok := grpclimit.FromContext(kept); ok {
		t.Error("a decision is there after the handler")
	}
	if _, ok := grpclimit.FromContext(t.Context()); ok {
		t.Error("a decision is there without a limiter")
	}
}

func TestQueueDelaysAndRefusesWhatWouldBeTooLate(t *testing.T) {
	c := &clock{now: start}
	queue := algo.LeakyQueue{MaxWait: time.Hour}
	s := &httplimit.Single{Limiter: newLimiter(t, c), Policy: newPolicy(t, "queue", "1 per 50ms", queue), Key: httplimit.Global}
	client := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: s}))
	began := time.Now()
	wantString(t, "queued", empties(t, client, 3), "AAA")
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("three calls at one each 50ms took %v", took)
	}
	for range 40 { // Fill the queue: the clock does not move.
		d, err := s.Limiter.AllowN(t.Context(), s.Policy, "key:*", 1)
		if err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := client.EmptyCall(ctx, &testpb.Empty{})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v, want ResourceExhausted at once", err)
	}
}

func TestCancelledCallIsNoFailure(t *testing.T) {
	told := false
	l := newLimit(t, grpclimit.Options{
		Decider: decide(func(context.Context, stint.Source, *stint.Decision) error { return errors.New("late") }),
		OnError: func(context.Context, string, error) { told = true },
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, nil)
	if status.Code(err) != codes.Canceled || told {
		t.Errorf("%v, told: %v", err, told)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []grpclimit.Options{
		{},
		{Decider: refusing(t, "", 0), Headers: grpclimit.NoHeaders | grpclimit.IETF},
		{Decider: refusing(t, "", 0), Headers: 1 << 7},
		{Decider: refusing(t, "", 0), ClientHeader: "a b"},
	} {
		if _, err := grpclimit.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
