package grpclimit_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/grpclimit"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
)

// transport takes headers as grpc-go's does.
type transport struct{ md metadata.MD }

func (*transport) Method() string                    { return "/a.B/C" }
func (t *transport) SetHeader(md metadata.MD) error  { t.md = md; return nil }
func (t *transport) SendHeader(md metadata.MD) error { t.md = md; return nil }
func (t *transport) SetTrailer(md metadata.MD) error { t.md = md; return nil }

// unary returns a call of an interceptor that asks rules in memory.
func unary(t testing.TB, h grpclimit.Headers) func() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &httplimit.Single{
		Limiter: &stint.Limiter{Store: store}, Policy: newPolicy(t, "default", "1000000000 per minute", algo.TokenBucket),
		Key: httplimit.ByHeader("X-Api-Key"),
	}
	l := newLimit(t, grpclimit.Options{Decider: s, Headers: h})
	ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{"x-api-key": {"k_acme"}, ":authority": {"api.example"}})
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP("203.0.113.9"), Port: 5000}})
	ctx = grpc.NewContextWithServerTransportStream(ctx, &transport{})
	info := &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	return func() {
		if _, err := l.Unary(ctx, nil, info, handler); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAllocations: the context of the handler and the copy that grpc-go makes of a
// header's values; with fields their text, their slice and their map besides.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, c := range []struct {
		name string
		h    grpclimit.Headers
		most float64
	}{{"no fields", grpclimit.NoHeaders, 2}, {"five fields", grpclimit.DefaultHeaders, 6}} {
		if n := testing.AllocsPerRun(200, unary(t, c.h)); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, n, c.most)
		}
	}
}

func BenchmarkUnary(b *testing.B) {
	for name, h := range map[string]grpclimit.Headers{"no fields": grpclimit.NoHeaders, "five fields": grpclimit.DefaultHeaders} {
		b.Run(name, func(b *testing.B) {
			call := unary(b, h)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
