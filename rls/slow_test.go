package rls_test

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint/rls"
)

// TestACallThatSendsNothingEnds: an opened call without its message ends by itself,
// while the watching of health goes on.
func TestACallThatSendsNothingEnds(t *testing.T) {
	d := open(t, "domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: minute, requests_per_unit: 1 } }\n", setup{})
	conn := serve(t, rls.ServerOptions{Service: d.service, CallTimeout: 50 * time.Millisecond})
	watch, err := health.NewHealthClient(conn).Watch(t.Context(), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		call, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
		if err != nil {
			t.Fatal(err)
		}
		err = call.RecvMsg(new(health.HealthCheckResponse))
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a call without a message: %v", err)
		}
	}
	if err := watch.CloseSend(); err != nil {
		t.Error(err)
	}
	select {
	case <-watch.Context().Done():
		t.Errorf("the watching of health has ended: %v", watch.Context().Err())
	default:
	}
}
