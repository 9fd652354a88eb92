package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/grpclimit"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
)

// queued is one call each second, two waiting, on the bubble's clock.
func queued(t *testing.T) *grpclimit.Limit {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	policy := newPolicy(t, "queue", "1 per 1s", algo.LeakyQueue{MaxWaiting: 2})
	return newLimit(t, grpclimit.Options{Decider: &httplimit.Single{Limiter: &stint.Limiter{Store: store}, Policy: policy, Key: httplimit.Global}})
}

// calls notes how the calls of a test end.
type calls struct {
	t     *testing.T
	limit *grpclimit.Limit
	began time.Time

	mu   sync.Mutex
	done []string
	wg   sync.WaitGroup
}

// call makes a call in the background and returns when it waits or has ended.
func (c *calls) call(ctx context.Context, name string) {
	c.wg.Go(func() {
		handler := func(context.Context, any) (any, error) { return nil, nil }
		_, err := c.limit.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, handler)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done = append(c.done, fmt.Sprintf("%s %v %v", name, status.Code(err), time.Since(c.began)))
	})
	synctest.Wait()
}

func (c *calls) end() string {
	c.wg.Wait()
	return strings.Join(c.done, ", ")
}

func TestC138CancelledCallGivesItsPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, limit: queued(t), began: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		c.call(t.Context(), "r1")
		c.call(ctx, "r2")
		c.call(t.Context(), "r3")
		c.call(t.Context(), "r4")
		time.Sleep(200 * time.Millisecond)
		cancel()
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		c.call(t.Context(), "r5")
		wantString(t, "calls", c.end(), "r1 OK 0s, r4 ResourceExhausted 0s, r2 Canceled 200ms, r3 OK 1s, r5 OK 2s")
	})
}

// TestDeadlineBeforeTheTurnGivesThePlaceBack: such a call is refused at once, and
// whoever comes next has its place.
func TestDeadlineBeforeTheTurnGivesThePlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, limit: queued(t), began: time.Now()}
		hurry, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		c.call(t.Context(), "r1")
		c.call(hurry, "r2")
		c.call(hurry, "r3")
		c.call(t.Context(), "r4")
		c.call(t.Context(), "r5")
		wantString(t, "calls", c.end(), "r1 OK 0s, r2 ResourceExhausted 0s, r3 ResourceExhausted 0s, r4 OK 1s, r5 OK 2s")
	})
}

// TestHandlerThatPanics: the limiter goes on, and who kept the context of the call
// reads no other call's decision.
func TestHandlerThatPanics(t *testing.T) {
	s, _ := single(t, "1000 per 60s", httplimit.Global)
	l := newLimit(t, grpclimit.Options{Decider: s})
	var kept []context.Context
	recovers := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (_ any, err error) {
		defer func() {
			if recover() != nil {
				err = status.Error(codes.Internal, "fault")
			}
		}()
		return handler(ctx, req)
	}
	svc := &service{unary: func(ctx context.Context) {
		if md, _ := metadata.FromIncomingContext(ctx); len(md.Get("panic")) > 0 {
			kept = append(kept, ctx)
			panic("fault")
		}
	}}
	lis := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(recovers, l.Unary))
	testpb.RegisterTestServiceServer(srv, svc)
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	client := clientOver(t, lis)
	for i := range 50 {
		want := codes.OK
		var options []string
		if i%2 == 0 {
			want, options = codes.Internal, []string{"panic: yes"}
		}
		if got := empty(t, client, options...).status.Code(); got != want {
			t.Fatalf("call %d: %v, want %v", i, got, want)
		}
	}
	for i, ctx := range kept {
		if d, ok := grpclimit.FromContext(ctx); ok && d.Remaining != int64(999-2*i) {
			t.Errorf("call %d left %d, its context says %d", 2*i, 999-2*i, d.Remaining)
		}
	}
}

// clientOver returns a client of a server without a network.
func clientOver(t *testing.T, lis *bufconn.Listener) testpb.TestServiceClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///server", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return testpb.NewTestServiceClient(conn)
}

// TestPeerWithoutAnAddressIsNotBelieved: a connection within the process has none, and
// is no proxy that anybody trusts.
func TestPeerWithoutAnAddressIsNotBelieved(t *testing.T) {
	var addr netip.Addr
	l := newLimit(t, grpclimit.Options{
		Decider:   seen(func(src stint.Source) { addr = src.Addr() }),
		TrustUnix: true, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
	})
	lis := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(grpc.UnaryInterceptor(l.Unary))
	testpb.RegisterTestServiceServer(srv, &service{})
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	empty(t, clientOver(t, lis), "x-forwarded-for: 203.0.113.9")
	if addr.IsValid() {
		t.Errorf("address %v", addr)
	}
}

// TestMetadataOverTheWire: names come in lower case, values of -bin as bytes, several
// lines in their order.
func TestMetadataOverTheWire(t *testing.T) {
	got := make(map[string]string)
	var addr netip.Addr
	l := newLimit(t, grpclimit.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Decider: seen(func(src stint.Source) {
		addr = src.Addr()
		for _, name := range []string{"X-Api-Key", "Key-Bin", "Empty", "User-Agent", "Content-Type"} {
			v, ok := src.Value(stint.Field{Kind: stint.FieldHeader, Name: name})
			got[name] = fmt.Sprintf("%q %v", v, ok)
		}
	})})
	client := serve(t, &service{}, l)
	binary := "\x00\r\n\xff,"
	a := empty(t, client, "X-API-Key: one", "x-api-key: two", "key-BIN: "+binary, "empty: ",
		"x-forwarded-for: 198.51.100.7", "X-Forwarded-For: 203.0.113.9, 127.0.0.5")
	if a.status.Code() != codes.OK {
		t.Fatal(a.status)
	}
	wantString(t, "address", addr.String(), "203.0.113.9")
	wantString(t, "key", got["X-Api-Key"], `"one" true`)
	wantString(t, "binary", got["Key-Bin"], fmt.Sprintf("%q true", binary))
	wantString(t, "empty", got["Empty"], `"" true`)
	wantString(t, "content type", got["Content-Type"], `"application/grpc" true`)
}

// TestMessagesWithTheSameLimiterTwice: each counts once, also in a chain.
func TestMessagesWithTheSameLimiterTwice(t *testing.T) {
	s, _ := single(t, "5 per 60s", byMethodAndIP)
	l := newLimit(t, grpclimit.Options{Decider: s, EachMessage: true})
	client := serve(t, &service{}, l, l)
	stream, err := client.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for {
		if err = stream.Send(&testpb.StreamingOutputCallRequest{}); err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			break
		}
		passed++
	}
	if errors.Is(err, io.EOF) {
		_, err = stream.Recv()
	}
	if passed != 4 || status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%d messages passed, then %v", passed, err)
	}
	wantMD(t, stream.Trailer(), "retry-after", "60")
	header, err := stream.Header()
	if err != nil {
		t.Fatal(err)
	}
	wantMD(t, header, "x-ratelimit-remaining", "4")
}

// TestMessageOfACancelledStreamGivesItsPlaceBack: a client that leaves while its
// message is in the queue holds nobody up.
func TestMessageOfACancelledStreamGivesItsPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, limit: nil, began: time.Now()}
		store, err := memstore.New(memstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		policy := newPolicy(t, "queue", "1 per 1s", algo.LeakyQueue{MaxWaiting: 1})
		c.limit = newLimit(t, grpclimit.Options{EachMessage: true, Decider: &httplimit.Single{
			Limiter: &stint.Limiter{Store: store}, Policy: policy, Key: httplimit.Global,
		}})
		ctx, cancel := context.WithCancel(t.Context())
		var received error
		c.wg.Go(func() {
			err := c.limit.Stream(nil, &endless{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/a.B/D", IsClientStream: true},
				func(_ any, ss grpc.ServerStream) error {
					received = ss.RecvMsg(nil)
					return received
				})
			if status.Code(err) != codes.Canceled {
				t.Errorf("the stream ended with %v", err)
			}
		})
		synctest.Wait()
		c.call(t.Context(), "full")
		cancel()
		synctest.Wait()
		c.call(t.Context(), "next")
		wantString(t, "calls", c.end(), "full ResourceExhausted 0s, next OK 1s")
		if status.Code(received) != codes.Canceled {
			t.Errorf("the message: %v", received)
		}
	})
}

// endless is a stream whose client sends for ever.
type endless struct {
	grpc.ServerStream
	ctx context.Context
}

func (e *endless) Context() context.Context     { return e.ctx }
func (e *endless) RecvMsg(any) error            { return nil }
func (e *endless) SetHeader(metadata.MD) error  { return nil }
func (e *endless) SetTrailer(metadata.MD)       {}
func (e *endless) SendHeader(metadata.MD) error { return nil }
