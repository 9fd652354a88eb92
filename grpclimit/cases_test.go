package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/grpclimit"
	"github.com/stint-dev/stint/httplimit"
)

func TestC129UnaryRefusalIsResourceExhausted(t *testing.T) {
	s, c := single(t, "2 per 60s", byMethodAndIP)
	client := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: s, Domain: "orders.example"}))
	first := empty(t, client)
	wantMD(t, first.header, "x-ratelimit-limit", "2")
	wantMD(t, first.header, "x-ratelimit-remaining", "1")
	wantMD(t, first.header, "x-ratelimit-reset", "60")
	wantMD(t, first.header, "ratelimit-policy", `"default";q=2;w=60`)
	wantMD(t, first.header, "ratelimit", `"default";r=1;t=60`)
	wantMD(t, first.header, "retry-after")
	wantString(t, "second", empties(t, client, 1), "A")

	third := empty(t, client)
	wantString(t, "code", third.status.Code().String(), "ResourceExhausted")
	wantString(t, "message", third.status.Message(), "Over the limit of default. Try again in 60 s.")
	wantMD(t, third.trailer, "retry-after", "60")
	wantMD(t, third.trailer, "grpc-retry-pushback-ms", "60000")
	wantMD(t, third.trailer, "x-ratelimit-remaining", "0")
	wantMD(t, third.trailer, "ratelimit", `"default";r=0;t=60`)
	if r := detail[errdetails.RetryInfo](t, third.status); r == nil || r.GetRetryDelay().AsDuration() != time.Minute {
		t.Errorf("RetryInfo: %v, want 60s", r)
	}
	q := detail[errdetails.QuotaFailure](t, third.status)
	if q == nil || len(q.GetViolations()) != 1 || q.GetViolations()[0].GetSubject() != "policy:default" {
		t.Errorf("QuotaFailure: %v, want one of policy:default", q)
	}
	info := detail[errdetails.ErrorInfo](t, third.status)
	if info.GetReason() != grpclimit.ReasonExceeded || info.GetDomain() != "orders.example" || info.GetMetadata()["policy"] != "default" {
		t.Errorf("ErrorInfo: %v", info)
	}

	c.add(59*time.Second + 999*time.Millisecond)
	late := empty(t, client)
	wantMD(t, late.trailer, "retry-after", "1")
	c.add(time.Millisecond)
	wantString(t, "after the wait", empties(t, client, 3), "AAD")
}

func TestC129StreamsAreRefusedAtStart(t *testing.T) {
	s, _ := single(t, "2 per 60s", byMethodAndIP)
	client := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: s}))
	for i := range 3 {
		ss, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ss.Recv()
		if want := []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted}[i]; status.Code(err) != want {
			t.Errorf("stream %d: %v, want %v", i+1, err, want)
		}
		if i == 0 {
			md, _ := ss.Header()
			wantMD(t, md, "x-ratelimit-remaining", "1")
		}
		if i == 2 {
			wantMD(t, ss.Trailer(), "retry-after", "60")
		}
	}
}

// talk opens a stream and sends n messages on it. It returns how many came back and
// how the stream ended.
func talk(t *testing.T, client testpb.TestServiceClient, n int) (echoed int, ss grpc.BidiStreamingClient[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse], err error) {
	t.Helper()
	if ss, err = client.FullDuplexCall(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err = ss.Send(&testpb.StreamingOutputCallRequest{}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if _, err = ss.Recv(); err != nil {
			return echoed, ss, err
		}
		echoed++
	}
	if err = ss.CloseSend(); err != nil {
		t.Fatal(err)
	}
	_, err = ss.Recv()
	return echoed, ss, err
}

func TestC129MessagesOfAStreamAreNotCounted(t *testing.T) {
	s, _ := single(t, "2 per 60s", byMethodAndIP)
	client := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: s}))
	if n, _, err := talk(t, client, 10); n != 10 || !errors.Is(err, io.EOF) {
		t.Errorf("%d messages, %v; want 10 and the end", n, err)
	}
}

func TestEachMessageIsCountedOnRequest(t *testing.T) {
	s, _ := single(t, "4 per 60s", byMethodAndIP)
	l := newLimit(t, grpclimit.Options{Decider: s, EachMessage: true})
	client := serve(t, &service{}, l, l)
	n, ss, err := talk(t, client, 10)
	if n != 3 || status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%d messages, %v; want 3 besides the opening, then ResourceExhausted", n, err)
	}
	wantMD(t, ss.Trailer(), "retry-after", "60")
	wantMD(t, ss.Trailer(), "ratelimit")
	out, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	md, _ := out.Header()
	wantMD(t, md, "x-ratelimit-remaining", "3")
}

func TestC129StoreFailureIsUnavailable(t *testing.T) {
	down := errors.New("store down")
	var told error
	var method string
	failing := decide(func(context.Context, stint.Source, *stint.Decision) error { return down })
	closed := serve(t, &service{}, newLimit(t, grpclimit.Options{
		Decider: failing, OnError: func(_ context.Context, m string, err error) { method, told = m, err },
	}))
	a := empty(t, closed)
	wantString(t, "code", a.status.Code().String(), "Unavailable")
	wantMD(t, a.trailer, "x-ratelimit-limit")
	wantMD(t, a.trailer, "retry-after", "1")
	if info := detail[errdetails.ErrorInfo](t, a.status); info.GetReason() != grpclimit.ReasonUnavailable {
		t.Errorf("ErrorInfo: %v", info)
	}
	if detail[errdetails.QuotaFailure](t, a.status) != nil {
		t.Error("an outage is shown as the client's quota")
	}
	if !errors.Is(told, down) || method != "/grpc.testing.TestService/EmptyCall" {
		t.Errorf("told %v of %q", told, method)
	}

	open := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: failing, FailOpen: true}))
	b := empty(t, open)
	wantString(t, "open", letter(b.status.Code()), "A")
	wantMD(t, b.header, "x-ratelimit-limit")
}

func TestSameLimiterTwiceChargesOnce(t *testing.T) {
	s, _ := single(t, "4 per 60s", byMethodAndIP)
	a, b := newLimit(t, grpclimit.Options{Decider: s}), newLimit(t, grpclimit.Options{Decider: s})
	wantString(t, "unary", empties(t, serve(t, &service{}, a, b, a), 5), "AAAAD")
	client := serve(t, &service{}, a, b)
	for i := range 5 {
		n, _, err := talk(t, client, 1)
		if want := i < 4; (n == 1) != want {
			t.Errorf("stream %d: %d messages, %v", i+1, n, err)
		}
	}
}

func TestTwoLimitersInOneChainBothCount(t *testing.T) {
	wide, _ := single(t, "4 per 60s", httplimit.Global)
	tight, _ := single(t, "2 per 60s", byMethodAndIP)
	client := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: wide}), newLimit(t, grpclimit.Options{Decider: tight}))
	wantString(t, "calls", empties(t, client, 3), "AAD")
}

// TestOfTwoInterceptorsTheTighterTells: of one outside that is as tight the inner one
// repeats nothing; where it is tighter itself its numbers are the last.
func TestOfTwoInterceptorsTheTighterTells(t *testing.T) {
	for _, c := range []struct {
		outer, inner      string
		limits, remaining []string
		states            []string
	}{
		{"2 per 60s", "600 per 60s", []string{"2"}, []string{"1"}, []string{`"outer";r=1;t=60`, `"inner";r=599;t=60`}},
		{"600 per 60s", "2 per 60s", []string{"600", "2"}, []string{"599", "1"}, []string{`"outer";r=599;t=60`, `"inner";r=1;t=60`}},
	} {
		clock := &clock{now: start}
		limiter := newLimiter(t, clock)
		limit := func(name, limit string) *grpclimit.Limit {
			return newLimit(t, grpclimit.Options{Decider: &httplimit.Single{
				Limiter: limiter, Policy: newPolicy(t, name, limit, algo.FixedWindow), Key: byMethodAndIP,
			}})
		}
		a := empty(t, serve(t, &service{}, limit("outer", c.outer), limit("inner", c.inner)))
		wantMD(t, a.header, "x-ratelimit-limit", c.limits...)
		wantMD(t, a.header, "x-ratelimit-remaining", c.remaining...)
		wantMD(t, a.header, "ratelimit", c.states...)
	}
}
