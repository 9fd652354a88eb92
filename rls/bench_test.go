package rls_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stint-dev/stint/rls"
)

const threeLimits = `domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 1000000}}
- key: b
  value: x
  descriptors:
  - {key: c, rate_limit: {unit: minute, requests_per_unit: 1000000}}
- {key: path, value: /api/*, rate_limit: {unit: second, requests_per_unit: 1000000}}
- {key: over, rate_limit: {unit: minute, requests_per_unit: 0}}`

// An answer is one piece of memory, its statuses included.
func TestAnswersAllocateOnce(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	d := open(t, threeLimits, setup{service: func(o *rls.Options) { o.Observe = nil }})
	for ask, most := range map[string]float64{
		"a=1":                          1,
		"a=1 | b=x c=2 | path=/api/v1": 1,
		"x=1 | y=2":                    1,
		"a=1 | a=2 | a=3 | a=4 | a=5":  4,
		"over=1":                       4, // Retry-After: a header, its text, a list
	} {
		req := request(t, "d", ask)
		n := testing.AllocsPerRun(200, func() {
			if _, err := d.service.ShouldRateLimit(context.Background(), req); err != nil {
				t.Fatal(err)
			}
		})
		if n > most {
			t.Errorf("%s: %v allocations, want at most %v", ask, n, most)
		}
	}
}

func BenchmarkShouldRateLimit(b *testing.B) {
	d := open(b, threeLimits, setup{service: func(o *rls.Options) { o.Observe = nil }})
	d.limiter.Clock = nil
	for _, ask := range []string{"a=1", "a=1 | b=x c=2 | path=/api/v1", "over=1", "none=1"} {
		req := request(b, "d", ask)
		b.Run(ask, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.service.ShouldRateLimit(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// allowAll answers OK and does nothing else.
type allowAll struct{}

func (allowAll) ShouldRateLimit(_ context.Context, req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	resp := &pb.RateLimitResponse{OverallCode: pb.RateLimitResponse_OK}
	for range req.GetDescriptors() {
		resp.Statuses = append(resp.Statuses, &pb.RateLimitResponse_DescriptorStatus{Code: pb.RateLimitResponse_OK})
	}
	return resp, nil
}

// BenchmarkServer is calls over loopback beside those of a bare server.
func BenchmarkServer(b *testing.B) {
	d := open(b, threeLimits, setup{service: func(o *rls.Options) { o.Observe = nil }})
	d.limiter.Clock = nil
	clients := map[string]pb.RateLimitServiceClient{"stint": d.client, "bare": bareServer(b)}
	for _, ask := range []string{"a=%d", "a=%d | b=x c=%[1]d | path=/api/%[1]d"} {
		var reqs []*pb.RateLimitRequest
		for i := range 1000 {
			reqs = append(reqs, request(b, "d", fmt.Sprintf(ask, i)))
		}
		for _, name := range []string{"bare", "stint"} {
			b.Run(fmt.Sprintf("%d descriptors/%s", len(reqs[0].Descriptors), name), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(25)
				b.RunParallel(func(p *testing.PB) {
					for i := 0; p.Next(); i++ {
						if _, err := clients[name].ShouldRateLimit(context.Background(), reqs[i%len(reqs)]); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
	}
}

// bareServer is grpc-go as it comes, with a service that does nothing.
func bareServer(b *testing.B) pb.RateLimitServiceClient {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := grpc.NewServer()
	pb.RegisterRateLimitServiceServer(srv, allowAll{})
	go func() { _ = srv.Serve(l) }()
	b.Cleanup(srv.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return pb.NewRateLimitServiceClient(conn)
}
