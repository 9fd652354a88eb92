package rls_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rls"
)

func TestReflectionNamesTheService(t *testing.T) {
	d := open(t, oneLimit, setup{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	stream, err := reflection.NewServerReflectionClient(d.conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range resp.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "envoy.service.ratelimit.v3.RateLimitService") || !strings.Contains(got, "grpc.health.v1.Health") {
		t.Errorf("services %s", got)
	}
}

// gate is a store that waits until it is opened.
type gate struct {
	stint.Store
	arrived, open chan struct{}
}

func (g *gate) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	g.arrived <- struct{}{}
	<-g.open
	return g.Store.Take(ctx, now, charges, verdicts)
}

// A drain fails health first, then answers what is under way, then ends.
func TestDrain(t *testing.T) {
	g := &gate{Store: memory(t), arrived: make(chan struct{}), open: make(chan struct{})}
	d := open(t, oneLimit, setup{store: g})
	draining := make(chan struct{})
	srv, err := rls.NewServer(rls.ServerOptions{Service: d.service, OnDrain: func() { close(draining) }, DrainDelay: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := health.NewHealthClient(conn).Watch(t.Context(), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := watch.Recv(); err != nil || first.GetStatus() != health.HealthCheckResponse_SERVING {
		t.Fatalf("health %v, %v", first, err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := pb.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), request(t, "d", "a=1"))
		answered <- err
	}()
	<-g.arrived
	stop()
	<-draining
	if next, err := watch.Recv(); err != nil || next.GetStatus() != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health after the drain began: %v, %v", next, err)
	}
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with %v", err)
	}
	close(g.open)
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if _, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
		t.Error("the listener is still there")
	}
}

// A request that takes longer than the drain may is cut off.
func TestDrainEnds(t *testing.T) {
	g := &gate{Store: memory(t), arrived: make(chan struct{}), open: make(chan struct{})}
	d := open(t, oneLimit, setup{store: g})
	srv, err := rls.NewServer(rls.ServerOptions{Service: d.service, DrainTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := pb.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), request(t, "d", "a=1"))
		answered <- err
	}()
	<-g.arrived
	stop()
	if err := <-answered; status.Code(err) != codes.Unavailable {
		t.Errorf("the request that was cut off: %v", err)
	}
	close(g.open)
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestServerEndsWithItsListener(t *testing.T) {
	d := open(t, oneLimit, setup{})
	srv, err := rls.NewServer(rls.ServerOptions{Service: d.service})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := srv.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestHealthFollowsReady(t *testing.T) {
	ready := errors.New("starting")
	d := open(t, oneLimit, setup{server: func(o *rls.ServerOptions) {
		o.Ready = func() error { return ready }
		o.Names = []string{"own"}
	}})
	h := health.NewHealthClient(d.conn)
	check := func(want health.HealthCheckResponse_ServingStatus) {
		t.Helper()
		list, err := h.List(t.Context(), &health.HealthListRequest{})
		if err != nil || len(list.GetStatuses()) != 4 {
			t.Fatalf("%v, %v", list, err)
		}
		for name, s := range list.GetStatuses() {
			if s.GetStatus() != want {
				t.Errorf("%q is %v, want %v", name, s.GetStatus(), want)
			}
		}
	}
	check(health.HealthCheckResponse_NOT_SERVING)
	ready = nil
	check(health.HealthCheckResponse_SERVING)
	watch, err := h.Watch(t.Context(), &health.HealthCheckRequest{Service: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := watch.Recv(); err != nil || s.GetStatus() != health.HealthCheckResponse_SERVICE_UNKNOWN {
		t.Errorf("watching another service: %v, %v", s, err)
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	for _, o := range []rls.Options{{}, {Limiter: &stint.Limiter{}}, {Limiter: &stint.Limiter{}, Fallback: &byRules{}, Headers: 64}} {
		if _, err := rls.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	d := open(t, oneLimit, setup{})
	for _, o := range []rls.ServerOptions{{}, {Service: d.service, MaxMessage: -1}, {Service: d.service, DrainTimeout: -1}} {
		if _, err := rls.NewServer(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// Of the calls that come while a server ends none hangs, and none that the server
// has begun is lost: the only error is that nobody listens any more.
func TestDrainUnderLoadLosesNothing(t *testing.T) {
	d := open(t, oneLimit, setup{service: func(o *rls.Options) { o.Observe = nil }})
	for range 3 {
		srv, err := rls.NewServer(rls.ServerOptions{Service: d.service, DrainDelay: 5 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- srv.Serve(ctx, l) }()
		var answered atomic.Int64
		var work sync.WaitGroup
		for range 4 {
			conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			client := pb.NewRateLimitServiceClient(conn)
			for range 4 {
				work.Go(func() {
					for {
						ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
						_, err := client.ShouldRateLimit(ctx, request(t, "d", "a=1"))
						cancel()
						if err != nil {
							if !strings.Contains(err.Error(), "connection refused") {
								t.Error(err)
							}
							return
						}
						answered.Add(1)
					}
				})
			}
		}
		waitFor(t, func() bool { return answered.Load() > 100 })
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		work.Wait()
	}
}
