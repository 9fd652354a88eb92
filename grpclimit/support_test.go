package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/grpclimit"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
)

// start is a multiple of a minute, an hour and a day.
var start = time.Unix(1772409600, 0).UTC()

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newPolicy(t testing.TB, name, limit string, a stint.Algorithm) *stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newLimiter(t testing.TB, c *clock) *stint.Limiter {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &stint.Limiter{Store: store, Clock: c.Now}
}

// single limits by key on a fixed window, the simplest to foresee.
func single(t testing.TB, limit string, key httplimit.Key) (*httplimit.Single, *clock) {
	t.Helper()
	c := &clock{now: start}
	return &httplimit.Single{Limiter: newLimiter(t, c), Policy: newPolicy(t, "default", limit, algo.FixedWindow), Key: key}, c
}

// byMethodAndIP counts each method for each peer.
func byMethodAndIP(ctx context.Context, src stint.Source, dst []byte) ([]byte, bool) {
	path, _ := src.Value(stint.Field{Kind: stint.FieldPath})
	return httplimit.ByIP(ctx, src, append(append(dst, path...), 0))
}

// service echoes.
type service struct {
	testpb.UnimplementedTestServiceServer
	unary func(context.Context)
	dial  []grpc.DialOption // of its client
}

func (s *service) EmptyCall(ctx context.Context, in *testpb.Empty) (*testpb.Empty, error) {
	if s.unary != nil {
		s.unary(ctx)
	}
	return in, nil
}

func (s *service) StreamingOutputCall(_ *testpb.StreamingOutputCallRequest, ss grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	return ss.Send(&testpb.StreamingOutputCallResponse{})
}

func (s *service) FullDuplexCall(ss grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	for {
		if _, err := ss.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := ss.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

func newLimit(t testing.TB, o grpclimit.Options) *grpclimit.Limit {
	t.Helper()
	l, err := grpclimit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve starts a real server on a free port and returns a client of it.
func serve(t testing.TB, svc *service, limits ...*grpclimit.Limit) testpb.TestServiceClient {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, lis, lis.Addr().String(), svc, limits...)
}

func serveOn(t testing.TB, lis net.Listener, target string, svc *service, limits ...*grpclimit.Limit) testpb.TestServiceClient {
	t.Helper()
	var unary []grpc.UnaryServerInterceptor
	var streams []grpc.StreamServerInterceptor
	for _, l := range limits {
		unary, streams = append(unary, l.Unary), append(streams, l.Stream)
	}
	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(streams...))
	testpb.RegisterTestServiceServer(srv, svc)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	dial := append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, svc.dial...)
	conn, err := grpc.NewClient(target, dial...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		srv.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return testpb.NewTestServiceClient(conn)
}

// answer is what a call came to.
type answer struct {
	status          *status.Status
	header, trailer metadata.MD
}

// empty makes a unary call. Options are "name: value" metadata.
func empty(t testing.TB, c testpb.TestServiceClient, options ...string) answer {
	t.Helper()
	ctx := t.Context()
	for _, o := range options {
		name, value, _ := strings.Cut(o, ": ")
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	var a answer
	_, err := c.EmptyCall(ctx, &testpb.Empty{}, grpc.Header(&a.header), grpc.Trailer(&a.trailer))
	a.status = status.Convert(err)
	return a
}

// empties makes n unary calls and returns an A or D for each.
func empties(t testing.TB, c testpb.TestServiceClient, n int) string {
	t.Helper()
	var b strings.Builder
	for range n {
		b.WriteString(letter(empty(t, c).status.Code()))
	}
	return b.String()
}

func letter(c codes.Code) string {
	switch c {
	case codes.OK:
		return "A"
	case codes.ResourceExhausted:
		return "D"
	}
	return "(" + c.String() + ")"
}

// detail returns the detail of a status that is a T.
func detail[T any](t testing.TB, s *status.Status) *T {
	t.Helper()
	for _, d := range s.Details() {
		if d, ok := d.(*T); ok {
			return d
		}
	}
	return nil
}

func wantMD(t testing.TB, md metadata.MD, name string, want ...string) {
	t.Helper()
	if got := md.Get(name); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func wantString(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// decider is a Decider made of a function.
type decider func(ctx context.Context, src stint.Source, d *stint.Decision) error

func (f *decider) Decide(ctx context.Context, src stint.Source, d *stint.Decision) error {
	d.Clear()
	return (*f)(ctx, src, d)
}

func decide(f func(ctx context.Context, src stint.Source, d *stint.Decision) error) stint.Decider {
	d := decider(f)
	return &d
}
