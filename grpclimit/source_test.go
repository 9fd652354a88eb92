package grpclimit_test

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/grpclimit"
	"github.com/stint-dev/stint/httplimit"
)

// seen is a Decider that keeps what it sees of a call.
func seen(see func(src stint.Source)) stint.Decider {
	return decide(func(_ context.Context, src stint.Source, d *stint.Decision) error {
		see(src)
		d.Allowed = true
		return nil
	})
}

func TestCallAsRulesSeeIt(t *testing.T) {
	got := map[string]string{}
	fields := map[string]stint.Field{
		"method":    {Kind: stint.FieldMethod},
		"path":      {Kind: stint.FieldPath},
		"host":      {Kind: stint.FieldHost},
		"key":       {Kind: stint.FieldHeader, Name: "X-Api-Key"},
		"Host":      {Kind: stint.FieldHeader, Name: "Host"},
		"absent":    {Kind: stint.FieldHeader, Name: "X-Absent"},
		"query":     {Kind: stint.FieldQuery, Name: "q"},
		"cookie":    {Kind: stint.FieldCookie, Name: "c"},
		"json":      {Kind: stint.FieldJSON, Name: "a"},
		"described": {Kind: stint.FieldDescriptor, Name: "d"},
	}
	d := seen(func(src stint.Source) {
		got["addr"] = src.Addr().String()
		for name, f := range fields {
			if v, ok := src.Value(f); ok {
				got[name] = v
			}
		}
	})
	l := newLimit(t, grpclimit.Options{Decider: d})
	ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{
		":authority": {"API.Example:8443"}, "x-api-key": {"first", "second"},
	})
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP("203.0.113.9"), Port: 5000}})
	handler := func(context.Context, any) (any, error) { return nil, nil }
	if _, err := l.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/Place"}, handler); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"addr": "203.0.113.9", "method": "POST", "path": "/shop.Orders/Place", "host": "api.example",
		"Host": "API.Example:8443", "key": "first",
	}
	if len(got) != len(want) {
		t.Errorf("saw %v, want %v", got, want)
	}
	for name := range want {
		wantString(t, name, got[name], want[name])
	}
}

func TestC077RightmostUntrustedAddress(t *testing.T) {
	var addr netip.Addr
	d := seen(func(src stint.Source) { addr = src.Addr() })
	trusting := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: d, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
	empty(t, trusting, "x-forwarded-for: 198.51.100.7, 203.0.113.9", "x-forwarded-for: 127.0.0.7")
	wantString(t, "trusted proxy", addr.String(), "203.0.113.9")
	plain := serve(t, &service{}, newLimit(t, grpclimit.Options{Decider: d}))
	empty(t, plain, "x-forwarded-for: 198.51.100.7")
	wantString(t, "no proxy", addr.String(), "127.0.0.1")
}

func TestPeersOnUnixSockets(t *testing.T) {
	var addr netip.Addr
	d := seen(func(src stint.Source) { addr = src.Addr() })
	for trust, want := range map[bool]string{false: "invalid IP", true: "203.0.113.9"} {
		path := filepath.Join(t.TempDir(), "s")
		lis, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		client := serveOn(t, lis, "unix:"+path, &service{}, newLimit(t, grpclimit.Options{Decider: d, TrustUnix: trust}))
		empty(t, client, "x-forwarded-for: 203.0.113.9")
		wantString(t, "address", addr.String(), want)
	}
}

// TestPeerOnAUnixSocketWithoutAName: not all systems give it one.
func TestPeerOnAUnixSocketWithoutAName(t *testing.T) {
	var addr netip.Addr
	d := seen(func(src stint.Source) { addr = src.Addr() })
	l := newLimit(t, grpclimit.Options{Decider: d, TrustUnix: true})
	ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{"x-forwarded-for": {"203.0.113.9"}})
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.UnixAddr{Net: "unix"}})
	handler := func(context.Context, any) (any, error) { return nil, nil }
	if _, err := l.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, handler); err != nil {
		t.Fatal(err)
	}
	wantString(t, "address", addr.String(), "203.0.113.9")
}

func TestNoAddressIsNoClient(t *testing.T) {
	s, _ := single(t, "1 per 60s", httplimit.ByIP)
	s.Missing = httplimit.MissingDeny
	l := newLimit(t, grpclimit.Options{Decider: s})
	_, err := l.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, nil)
	if err == nil {
		t.Error("a call without a peer passed")
	}
}

func FuzzSource(f *testing.F) {
	f.Add("/a.B/C", "api.example:80", "198.51.100.7, 203.0.113.9", "127.0.0.1:80")
	f.Add("", "[::1]:80", `for="[2001:db8::1]"`, "@")
	f.Add("x", "[", ",,,", "")
	f.Fuzz(func(t *testing.T, method, authority, forwarded, remote string) {
		d := seen(func(src stint.Source) {
			src.Addr()
			for kind := stint.FieldMethod; kind <= stint.FieldDescriptor; kind++ {
				src.Value(stint.Field{Kind: kind, Name: "X-Api-Key"})
			}
		})
		l := newLimit(t, grpclimit.Options{Decider: d, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, TrustUnix: true})
		ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{":authority": {authority}, "x-forwarded-for": {forwarded}})
		ctx = peer.NewContext(ctx, &peer.Peer{Addr: name(remote)})
		handler := func(context.Context, any) (any, error) { return nil, nil }
		if _, err := l.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, handler); err != nil {
			t.Error(err)
		}
	})
}

// name is an address of any text.
type name string

func (n name) Network() string { return "unix" }
func (n name) String() string  { return string(n) }
