package overgrpc_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/client"
	"github.com/stint-dev/stint/client/overgrpc"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
	"github.com/stint-dev/stint/server"
)

// path is a request of one client for a path.
type path string

func (path) Addr() netip.Addr { return netip.MustParseAddr("192.0.2.7") }

func (p path) Value(f stint.Field) (string, bool) {
	switch f.Kind {
	case stint.FieldPath:
		return string(p), true
	case stint.FieldMethod:
		return "GET", true
	}
	return "", false
}

// newRules are the same rules each time, on a clock that stands still.
func newRules(t testing.TB) (*rules.Decider, *stint.Limiter) {
	t.Helper()
	set, err := rules.Compile(rules.Spec{
		Keys: []rules.Key{{Name: "phone", JSON: "phone"}},
		Rules: []rules.Rule{
			{ID: "search", Match: rules.Match{Path: []string{"/v1/search"}}, Key: []string{"ip"}, Limits: []stint.Limit{{Count: 3, Window: time.Minute}}},
			{ID: "send-otp", Key: []string{"phone"}, Missing: rules.MissingSkip, Limits: []stint.Limit{{Count: 5, Window: time.Hour}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &stint.Limiter{Store: store, Clock: func() time.Time { return time.Unix(1772409600, 0) }}
	return rules.NewDecider(l, set), l
}

// connect serves newRules and returns a connection to them.
func connect(t testing.TB, options ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	d, l := newRules(t)
	s, err := server.New(server.Options{Limit: httplimit.Options{Decider: d}, Charger: d, Limiter: l})
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(options...)
	s.RegisterGRPC(g)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = g.Serve(listener) // Stopping it is how it ends.
		close(done)
	}()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		g.Stop()
		<-done
	})
	return conn
}

func newClient(t testing.TB, conn *grpc.ClientConn, failure stint.FailureMode) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Carrier: overgrpc.New(conn), Failure: failure, Deadline: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDecisionsOverGRPCAreThoseOfTheRules(t *testing.T) {
	embedded, _ := newRules(t)
	remote := newClient(t, connect(t), stint.FailDeny)
	for range 4 {
		var got, want stint.Decision
		if err := errors.Join(remote.Decide(t.Context(), path("/v1/search"), &got), embedded.Decide(t.Context(), path("/v1/search"), &want)); err != nil {
			t.Fatal(err)
		}
		if got, want := got.Clone(), want.Clone(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

func TestChargesOverGRPC(t *testing.T) {
	c := newClient(t, connect(t), stint.FailDeny)
	otp := client.Charge{Rule: "send-otp", Key: []string{"+49"}, Cost: 2}
	d, err := c.Check(t.Context(), otp)
	if err != nil || !d.Allowed || d.Remaining != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = c.Refund(t.Context(), otp); err != nil || d.Remaining != 5 {
		t.Errorf("%+v, %v", d, err)
	}
	otp.Rule = "send-opt"
	_, err = c.Check(t.Context(), otp)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 400 || !strings.Contains(e.Detail, "/charges/0: there is no rule") {
		t.Errorf("%v", err)
	}
}

// TestBadQuestionsOverGRPC: garbage, an empty question and one that is too long.
func TestBadQuestionsOverGRPC(t *testing.T) {
	carrier := overgrpc.New(connect(t))
	for _, text := range []string{"", "{", "\xff", "null", `{"pth":1}`, strings.Repeat(" ", 1<<20+1)} {
		_, err := carrier.Ask(t.Context(), client.Question{Method: client.Check, Text: []byte(text)})
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 400 || e.Detail == "" {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestNoServerOverGRPC(t *testing.T) {
	conn := connect(t)
	conn.Close()
	c := newClient(t, conn, stint.FailAllow)
	var d stint.Decision
	if err := c.Decide(t.Context(), path("/v1/search"), &d); err != nil || !d.Allowed || !d.Degraded {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := c.Refund(t.Context(), client.Charge{Rule: "send-otp", Key: []string{"1"}, Cost: 1}); err == nil {
		t.Error("a lost refund is no error")
	}
}

// TestInterceptorsSeeTheQuestion: those of the server are called, and one that
// changes the question's type is found out.
func TestInterceptorsSeeTheQuestion(t *testing.T) {
	var seen []string
	conn := connect(t, grpc.UnaryInterceptor(func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		seen = append(seen, info.FullMethod)
		if q, ok := in.(*wrapperspb.BytesValue); !ok || string(q.GetValue()) == "spoil" {
			return next(ctx, "spoilt")
		}
		return next(ctx, in)
	}))
	carrier := overgrpc.New(conn)
	if _, err := carrier.Ask(t.Context(), client.Question{Method: client.Check, Text: []byte(`{"path":"/"}`)}); err != nil {
		t.Error(err)
	}
	if _, err := carrier.Ask(t.Context(), client.Question{Method: client.Refund, Text: []byte("spoil")}); err == nil {
		t.Error("no error")
	}
	if strings.Join(seen, " ") != "/stint.v1.Decisions/Check /stint.v1.Decisions/Refund" {
		t.Errorf("%v", seen)
	}
}

func BenchmarkCheckOverGRPC(b *testing.B) {
	c := newClient(b, connect(b), stint.FailDeny)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var d stint.Decision
		for pb.Next() {
			if err := c.Decide(b.Context(), path("/v1/search"), &d); err != nil {
				b.Error(err)
			}
		}
	})
}
