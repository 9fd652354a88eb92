package rls

import (
	"context"
	"errors"
	"net"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

// The bounds of a Server that says nothing else.
const (
	DefaultMaxMessage   = 4 << 20
	DefaultMaxStreams   = 1000
	DefaultDrainTimeout = 30 * time.Second
)

const (
	handshakeTimeout = 10 * time.Second // for a connection that says nothing
	pingAfter        = 30 * time.Second // of silence, to find half-open connections
	pingTimeout      = 10 * time.Second
	pingLeast        = time.Second // between the pings of a client
	maxHeaderList    = 16 << 10

	// streamWorkers keep their stacks. A call that finds none of them free has a
	// goroutine of its own, whose stack first has to grow.
	streamWorkers = 64
)

// ServerOptions of a [Server]. Service must be set.
type ServerOptions struct {
	// Service answers.
	Service *Service
	// Ready says why requests can not be answered yet, for grpc.health.v1; nil, the
	// result and the function, means that they can.
	Ready func() error
	// Register adds services of others to the server. Nil adds none.
	Register func(grpc.ServiceRegistrar)
	// Names are those under which health is told besides "", Envoy's name of the
	// service and ratelimit.
	Names []string
	// MaxMessage bounds a request, in bytes. 0 means [DefaultMaxMessage].
	MaxMessage int
	// MaxStreams bounds the requests under way on one connection. 0 means
	// [DefaultMaxStreams].
	MaxStreams uint32
	// CallTimeout is the longest a call may take from its opening, its message
	// included. 0 means [DefaultCallTimeout].
	CallTimeout time.Duration
	// OnDrain, if set, is called when the drain begins.
	OnDrain func()
	// DrainDelay is how long requests are still accepted after health has failed.
	DrainDelay time.Duration
	// DrainTimeout is the longest that requests under way may take after that. 0 means
	// [DefaultDrainTimeout].
	DrainTimeout time.Duration
	// OnPanic, if set, is told of a fault of a service, which its caller gets as an
	// error.
	OnPanic func(fault any)
	// Options are more options of the gRPC server, such as its credentials.
	Options []grpc.ServerOption
}

// Server is a gRPC server with a [Service], grpc.health.v1 and reflection. Panics of
// a service are the error Internal of their request.
type Server struct {
	o      ServerOptions
	grpc   *grpc.Server
	health *healthService
	unary  map[string]bool // methods with one message, by their names
}

// NewServer returns a server, or what is wrong with o.
func NewServer(o ServerOptions) (*Server, error) {
	switch {
	case o.Service == nil:
		return nil, errors.New("the server has no service: set ServerOptions.Service")
	case o.MaxMessage < 0 || o.DrainDelay < 0 || o.DrainTimeout < 0 || o.CallTimeout < 0:
		return nil, errors.New("a bound of the server is negative: leave it out for the default")
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = DefaultMaxStreams
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	s := &Server{o: o}
	s.health = &healthService{ready: s.ready, names: append(serviceNames(), o.Names...), ended: make(chan struct{})}
	s.grpc = grpc.NewServer(s.options()...)
	pb.RegisterRateLimitServiceServer(s.grpc, o.Service)
	health.RegisterHealthServer(s.grpc, s.health)
	if o.Register != nil {
		o.Register(s.grpc)
	}
	reflection.Register(s.grpc)
	s.unary = s.unaryMethods()
	return s, nil
}

func (s *Server) options() []grpc.ServerOption {
	return append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(s.o.MaxMessage),
		grpc.MaxConcurrentStreams(s.o.MaxStreams),
		grpc.MaxHeaderListSize(maxHeaderList),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingLeast, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.InTapHandle(s.bound),
		grpc.ChainUnaryInterceptor(s.recoverUnary),
		grpc.ChainStreamInterceptor(s.recoverStream),
	}, s.o.Options...)
}

// ready says why requests can not be answered.
func (s *Server) ready() error {
	if svc := s.o.Service; svc.o.Fallback == nil && svc.set() == nil {
		return errors.New("no descriptors are loaded")
	}
	if s.o.Ready != nil {
		return s.o.Ready()
	}
	return nil
}

// Serve accepts connections until ctx ends, then drains: health fails first, then no
// new requests are accepted, and those under way are answered, or cut off when they
// take longer than DrainTimeout. It returns nil after a drain, or the error of the
// first listener that failed; either way all listeners are closed. It is called
// once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- s.grpc.Serve(l) }()
	}
	select {
	case err := <-failed:
		s.health.drain()
		s.grpc.Stop()
		return err
	case <-ctx.Done():
	}
	s.drain()
	return nil
}

// drain ends the server.
func (s *Server) drain() {
	s.health.drain()
	if s.o.OnDrain != nil {
		s.o.OnDrain()
	}
	time.Sleep(s.o.DrainDelay)
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	late := time.NewTimer(s.o.DrainTimeout)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		s.grpc.Stop()
		<-done
	}
}
