package rls

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// serviceNames are those under which health is told. The last one is that of
// envoyproxy/ratelimit.
func serviceNames() []string {
	return []string{"", pb.RateLimitService_ServiceDesc.ServiceName, "ratelimit"}
}

// lookEvery is how often a watched health is looked at.
const lookEvery = time.Second

// healthService tells whether requests can be answered, for every name it knows the
// same.
type healthService struct {
	health.UnimplementedHealthServer
	ready    func() error
	names    []string
	draining atomic.Bool
	ended    chan struct{} // closed when the drain begins
	end      sync.Once
}

// drain makes the server unhealthy for good.
func (h *healthService) drain() {
	h.draining.Store(true)
	h.end.Do(func() { close(h.ended) })
}

func (h *healthService) status() health.HealthCheckResponse_ServingStatus {
	if h.draining.Load() || h.ready != nil && h.ready() != nil {
		return health.HealthCheckResponse_NOT_SERVING
	}
	return health.HealthCheckResponse_SERVING
}

func (h *healthService) knows(name string) bool { return slices.Contains(h.names, name) }

// Check implements grpc.health.v1.
func (h *healthService) Check(_ context.Context, req *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if !h.knows(req.GetService()) {
		return nil, status.Error(codes.NotFound, "no such service here")
	}
	return &health.HealthCheckResponse{Status: h.status()}, nil
}

// List implements grpc.health.v1.
func (h *healthService) List(context.Context, *health.HealthListRequest) (*health.HealthListResponse, error) {
	all := make(map[string]*health.HealthCheckResponse, len(h.names))
	for _, name := range h.names {
		all[name] = &health.HealthCheckResponse{Status: h.status()}
	}
	return &health.HealthListResponse{Statuses: all}, nil
}

// Watch implements grpc.health.v1. It ends when the server drains, or it would hold
// the drain up.
func (h *healthService) Watch(req *health.HealthCheckRequest, stream grpc.ServerStreamingServer[health.HealthCheckResponse]) error {
	last := health.HealthCheckResponse_UNKNOWN
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		now := health.HealthCheckResponse_SERVICE_UNKNOWN
		if h.knows(req.GetService()) {
			now = h.status()
		}
		if now != last {
			if err := stream.Send(&health.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			last = now
		}
		if h.draining.Load() {
			return status.Error(codes.Unavailable, "draining")
		}
		select {
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-h.ended:
		case <-tick.C:
		}
	}
}
