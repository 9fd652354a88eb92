package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
)

// writer is a ResponseWriter that costs nothing.
type writer struct {
	header http.Header
	status int
}

func (w *writer) Header() http.Header         { return w.header }
func (w *writer) WriteHeader(status int)      { w.status = status }
func (w *writer) Write(p []byte) (int, error) { return len(p), nil }

// load is a handler and a request for it, to be served again and again.
type load struct {
	h http.Handler
	w *writer
	r *http.Request
}

func newLoad(h http.Handler) *load {
	return &load{h, &writer{header: make(http.Header)}, httptest.NewRequest(http.MethodGet, "/v1/orders", nil)}
}

func (l *load) serve() {
	clear(l.w.header)
	l.h.ServeHTTP(l.w, l.r)
}

var bare = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// limited returns bare behind a limiter whose four headers are x-ratelimit's and
// the exposure of them, on the store's own clock.
func limited(t testing.TB, limit string, headers httplimit.Headers) *load {
	t.Helper()
	l := newLoad(newMiddleware(t, httplimit.Options{
		Headers: headers,
		Decider: &httplimit.Single{
			Limiter: newLimiter(t, nil), Policy: newPolicy(t, "api", limit, algo.TokenBucket), Key: httplimit.ByIP,
		},
	})(bare))
	l.r.Header.Set("Origin", "https://app.example")
	l.serve()
	l.serve()
	return l
}

func TestMiddlewareAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	base := testing.AllocsPerRun(1000, newLoad(bare).serve)
	for _, headers := range []httplimit.Headers{
		httplimit.XRateLimit, httplimit.IETF, httplimit.XRateLimit | httplimit.IETF, httplimit.GitHub | httplimit.IETF,
	} {
		l := limited(t, "1000000000 per second", headers)
		if got := testing.AllocsPerRun(1000, l.serve) - base; got > 3 {
			t.Errorf("headers %v: %v allocations above the handler, want at most 3", headers, got)
		}
		if l.w.status != http.StatusNoContent || len(l.w.header) < 3 {
			t.Errorf("status %d, headers %v", l.w.status, l.w.header)
		}
	}
}

func TestSourceAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/a%20b/%2F?x=1&key=v", nil)
	r.Host, r.RemoteAddr = "api.example.com:443", "[2001:db8::1]:443"
	r.Header.Set("X-Api-Key", "k1")
	r.Header.Set("Cookie", `a=b; sid="x"`)
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	fields := []stint.Field{
		{Kind: stint.FieldMethod},
		{Kind: stint.FieldPath},
		{Kind: stint.FieldHost},
		{Kind: stint.FieldHeader, Name: "X-Api-Key"},
		{Kind: stint.FieldQuery, Name: "key"},
		{Kind: stint.FieldCookie, Name: "sid"},
	}
	d := decide(func(src stint.Source, _ *stint.Decision) error {
		for _, f := range fields {
			if _, ok := src.Value(f); !ok {
				t.Errorf("no field %v", f)
			}
			if got := testing.AllocsPerRun(100, func() { src.Value(f) }); got > 0 {
				t.Errorf("field %v: %v allocations", f, got)
			}
		}
		if got := testing.AllocsPerRun(100, func() { src.Addr() }); got > 0 {
			t.Errorf("address: %v allocations", got)
		}
		return nil
	})
	o := httplimit.Options{Decider: d, TrustedProxies: prefixes("2001:db8::/32")}
	newMiddleware(t, o)(hello).ServeHTTP(httptest.NewRecorder(), r)
}

func BenchmarkMiddleware(b *testing.B) {
	for _, bm := range []struct {
		name string
		load func() *load
	}{
		{"bare", func() *load { return newLoad(bare) }},
		{"allowed/four headers", func() *load { return limited(b, "1000000000 per second", httplimit.XRateLimit) }},
		{"allowed/six headers", func() *load { return limited(b, "1000000000 per second", httplimit.DefaultHeaders) }},
		{"allowed/no headers", func() *load { return limited(b, "1000000000 per second", httplimit.NoHeaders) }},
		{"refused/four headers", func() *load { return limited(b, "1 per hour", httplimit.XRateLimit) }},
		{"refused/no headers", func() *load { return limited(b, "1 per hour", httplimit.NoHeaders) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			l := bm.load()
			b.ReportAllocs()
			for b.Loop() {
				l.serve()
			}
		})
	}
}

// BenchmarkSingle is the decision alone: what the middleware adds is the rest.
func BenchmarkSingle(b *testing.B) {
	single := &httplimit.Single{
		Limiter: newLimiter(b, nil), Policy: newPolicy(b, "api", "1000000000 per second", algo.TokenBucket), Key: httplimit.Global,
	}
	var d stint.Decision
	b.ReportAllocs()
	for b.Loop() {
		if err := single.Decide(b.Context(), nil, &d); err != nil {
			b.Fatal(err)
		}
	}
}
