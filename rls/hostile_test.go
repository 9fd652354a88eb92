package rls_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stint-dev/stint/descriptors"
	"github.com/stint-dev/stint/rls"
)

func TestRequestsThatMakeNoSenseHaveAClearError(t *testing.T) {
	d := open(t, oneLimit, setup{})
	many := func(n int) *pb.RateLimitRequest {
		req := &pb.RateLimitRequest{Domain: "d"}
		for i := range n {
			req.Descriptors = append(req.Descriptors, &ratelimit.RateLimitDescriptor{
				Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "a", Value: fmt.Sprint(i)}},
			})
		}
		return req
	}
	long := request(t, "d", "a=1"+strings.Repeat(" b=2", 100))
	huge := request(t, "d", "a=1")
	huge.Descriptors[0].HitsAddend = wrapperspb.UInt64(1<<64 - 1)
	for _, row := range []struct {
		name string
		req  *pb.RateLimitRequest
		text string
	}{
		{"nothing", &pb.RateLimitRequest{}, "the domain is empty"},
		{"no domain", request(t, "", "a=1"), "the domain is empty"},
		{"no descriptors", &pb.RateLimitRequest{Domain: "d"}, "no descriptors"},
		{"10,000 descriptors", many(10_000), "10000 descriptors: at most 1000"},
		{"33 descriptors with limits", many(33), "more than 32 descriptors of this request have a limit"},
		{"101 entries", long, "descriptor 0 has 101 entries: at most 100"},
		{"2^64-1 hits", huge, "hits_addend 18446744073709551615 of descriptor 0"},
	} {
		_, err := d.call(row.req)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(status.Convert(err).Message(), row.text) {
			t.Errorf("%s: %v, want %q", row.name, err, row.text)
		}
	}
	if st := d.service.Stats(); st.Invalid != 7 {
		t.Errorf("%d requests were counted as invalid, want 7", st.Invalid)
	}
	if got := show(d.must(many(32))); !strings.HasPrefix(got, "ok: ok 4/5mi | ok") {
		t.Errorf("32 descriptors: %s", got)
	}
	d.want("", "ok: ok")
	d.want("= | =x", "ok: ok | ok")
}

func TestUnknownDomainHasNoLimit(t *testing.T) {
	d := open(t, oneLimit, setup{})
	if got := show(d.must(request(t, "other", "a=1 | b=2"))); got != "ok: ok | ok" {
		t.Errorf("got %s", got)
	}
	if got := show(d.must(request(t, "other", "a=1 #0/MINUTE"))); got != "ok: ok" {
		t.Errorf("a limit of the request: %s", got)
	}
	if n := d.service.Stats().UnknownDomain; n != 2 {
		t.Errorf("%d counted, want 2", n)
	}
}

func TestEntriesOfAMegabyte(t *testing.T) {
	d := open(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 2}}]", setup{})
	big := strings.Repeat("v", 1<<20)
	send := func(value string) string {
		return show(d.must(&pb.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{
			{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "a", Value: value}}},
		}}))
	}
	for i, want := range []string{"ok: ok 1/2mi", "ok: ok 0/2mi", "over: over 0/2mi"} {
		if got := send(big); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
	if got := send(big + "w"); got != "ok: ok 1/2mi" {
		t.Errorf("another one: %s", got)
	}
	_, err := d.call(&pb.RateLimitRequest{Domain: strings.Repeat("d", 5<<20)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message of 5 MB: %v", err)
	}
	d.want("a=1", "ok: ok 1/2mi")
}

// raw sends bytes as they are.
type raw struct{ encoding.Codec }

func (raw) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (raw) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }
func (raw) Name() string                    { return "proto" }

func TestGarbageIsAnErrorAndTheServerLives(t *testing.T) {
	d := open(t, oneLimit, setup{})
	for _, garbage := range []string{
		"\xff\xff\xff\xff", "\x0a\x05ab", "\x12\xff\xff\xff\xff\x0f", "\x0a\x01d\x12\x02\x0a\xff", "\x0a\x02\xff\xfe", strings.Repeat("\x12\x00", 100_000),
	} {
		in, out := []byte(garbage), []byte(nil)
		err := d.conn.Invoke(context.Background(), "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", &in, &out, grpc.ForceCodec(raw{}))
		if c := status.Code(err); c != codes.Internal && c != codes.InvalidArgument {
			t.Errorf("%q: %v", garbage[:min(8, len(garbage))], err)
		}
	}
	d.want("a=1", "ok: ok 4/5mi")
}

func TestAPanicIsAnErrorOfItsRequest(t *testing.T) {
	var told any
	d := open(t, oneLimit, setup{
		service: func(o *rls.Options) {
			current, n := o.Descriptors, 0
			o.Descriptors = func() *descriptors.Set {
				if n++; n == 1 {
					panic("a secret")
				}
				return current()
			}
		},
		server: func(o *rls.ServerOptions) { o.OnPanic = func(fault any) { told = fault } },
	})
	_, err := d.call(request(t, "d", "a=1"))
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if told != "a secret" || d.service.Stats().Panics != 1 {
		t.Errorf("told %v, counted %d", told, d.service.Stats().Panics)
	}
	d.want("a=1", "ok: ok 4/5mi")
}

// FuzzShouldRateLimit sends any message; there is an answer for each descriptor or
// an error of the caller's.
func FuzzShouldRateLimit(f *testing.F) {
	f.Add("d", "a", "1", uint32(0), uint64(1), false, int32(2), uint32(1), uint32(5))
	f.Add("d", "q", "x", uint32(7), uint64(1<<63), true, int32(0), uint32(0), uint32(0))
	d := open(f, `domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 5}}
- {key: q, value: "x*", quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 2, algorithm: token_bucket}}
- {key: q, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 1, name: n}}
- {key: r, rate_limit: {unlimited: true, replaces: [{name: n}]}}`, setup{service: func(o *rls.Options) {
		o.Observe, o.Body, o.DynamicMetadata, o.RequestHeaders = nil, true, true, true
		o.Headers = rls.RateLimit | rls.XRateLimit | rls.IETF
	}})
	f.Fuzz(func(t *testing.T, domain, key, value string, hits uint32, own uint64, negative bool, unit int32, times, count uint32) {
		req := request(t, domain, "r=1 | q=xy | a=1")
		req.HitsAddend = hits
		e := []*ratelimit.RateLimitDescriptor_Entry{{Key: key, Value: value}}
		req.Descriptors = append(req.Descriptors,
			&ratelimit.RateLimitDescriptor{Entries: e, HitsAddend: wrapperspb.UInt64(own), IsNegativeHits: negative},
			&ratelimit.RateLimitDescriptor{Entries: e, Limit: &ratelimit.RateLimitDescriptor_RateLimitOverride{
				RequestsPerUnit: count, UnitMultiplier: wrapperspb.UInt32(times),
			}})
		req.Descriptors[4].Limit.Unit = typev3.RateLimitUnit(unit)
		resp, err := d.service.ShouldRateLimit(t.Context(), req)
		if err != nil {
			if status.Code(err) != codes.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if len(resp.GetStatuses()) != len(req.GetDescriptors()) {
			t.Fatalf("%d statuses for %d descriptors", len(resp.GetStatuses()), len(req.GetDescriptors()))
		}
		over := false
		for _, st := range resp.GetStatuses() {
			over = over || code(st.GetCode()) == "over"
			if st.GetDurationUntilReset().AsDuration() < 0 {
				t.Fatal("a reset in the past")
			}
		}
		if got := code(resp.GetOverallCode()) == "over"; got != over {
			t.Fatalf("overall %v, statuses %s", resp.GetOverallCode(), show(resp))
		}
	})
}
