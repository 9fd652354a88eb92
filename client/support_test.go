package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/client"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
	"github.com/stint-dev/stint/server"
)

// request is a source made of values.
type request struct {
	addr   string
	values map[stint.Field]string
}

func (r *request) Addr() netip.Addr {
	a, _ := netip.ParseAddr(r.addr)
	return a
}

func (r *request) Value(f stint.Field) (string, bool) {
	v, ok := r.values[f]
	return v, ok
}

// get is a request for a path. Pairs of a field and its text follow.
func get(path string, more ...any) *request {
	r := &request{addr: "192.0.2.7", values: map[stint.Field]string{
		{Kind: stint.FieldMethod}: "GET", {Kind: stint.FieldPath}: path, {Kind: stint.FieldHost}: "api.example",
	}}
	for i := 0; i < len(more); i += 2 {
		r.values[more[i].(stint.Field)] = more[i+1].(string)
	}
	return r
}

func field(kind stint.FieldKind, name string) stint.Field { return stint.Field{Kind: kind, Name: name} }

func per(n int64, window time.Duration) []stint.Limit {
	return []stint.Limit{{Count: n, Window: window}}
}

// newRules are the same rules each time, on a clock that stands still.
func newRules(t testing.TB) (*rules.Decider, *stint.Limiter) {
	t.Helper()
	set, err := rules.Compile(rules.Spec{
		Keys: []rules.Key{
			{Name: "api_key", Header: "X-Api-Key", Secret: true},
			{Name: "phone", JSON: "phone"},
			{Name: "page", Query: "page"},
			{Name: "session", Cookie: "session"},
			{Name: "tenant", Descriptor: "tenant"},
		},
		Rules: []rules.Rule{
			{ID: "search", Match: rules.Match{Path: []string{"/v1/search"}, Method: []string{"GET"}, Host: []string{"api.example"}}, Key: []string{"ip"}, Algorithm: "fixed_window", Limits: per(3, time.Minute)},
			{ID: "key", Key: []string{"api_key"}, Missing: rules.MissingSkip, Limits: per(5, time.Minute)},
			{ID: "send-otp", Key: []string{"phone"}, Missing: rules.MissingSkip, Algorithm: "sliding_window_log", Limits: per(5, time.Hour)},
			{ID: "page", Key: []string{"page"}, Missing: rules.MissingSkip, Limits: per(5, time.Minute), Shadow: true},
			{ID: "session", Key: []string{"session"}, Missing: rules.MissingSkip, Unlimited: true},
			{ID: "tenant", Key: []string{"tenant"}, Missing: rules.MissingSkip, Limits: per(2, time.Minute), Cost: 7},
			{ID: "closed", Match: rules.Match{Path: []string{"/closed"}}, Key: []string{"global"}, Limits: per(0, time.Minute)},
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

// allFields are those that newRules reads.
func allFields() []stint.Field {
	return []stint.Field{
		field(stint.FieldHeader, "x-api-key"), field(stint.FieldJSON, "phone"), field(stint.FieldQuery, "page"),
		field(stint.FieldCookie, "session"), field(stint.FieldDescriptor, "tenant"),
	}
}

// serveRules serves newRules and returns the URL.
func serveRules(t testing.TB) string {
	t.Helper()
	d, l := newRules(t)
	s, err := server.New(server.Options{Limit: httplimit.Options{Decider: d}, Charger: d, Limiter: l})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, s)
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// newClient returns a client that fails the test on errors that it is not meant to
// see.
func newClient(t testing.TB, o client.Options) *client.Client {
	t.Helper()
	if o.Failure == "" && o.Local == nil {
		o.Failure = stint.FailDeny
	}
	if o.Deadline == 0 {
		o.Deadline = 10 * time.Second
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func decide(t testing.TB, d stint.Decider, src stint.Source) stint.Decision {
	t.Helper()
	var got stint.Decision
	if err := d.Decide(context.Background(), src, &got); err != nil {
		t.Fatal(err)
	}
	return got.Clone()
}

// serveCounting serves a decider and counts the connections.
func serveCounting(t testing.TB, d stint.Decider, opened *atomic.Int64) string {
	t.Helper()
	s, err := server.New(server.Options{Limit: httplimit.Options{Decider: d}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL
}
