package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
)

func TestC108OneRequestIsCountedOnce(t *testing.T) {
	single := newSingle(t, newClock(), "10 per minute")
	one := newMiddleware(t, httplimit.Options{Decider: single})
	two := newMiddleware(t, httplimit.Options{Decider: single})
	other := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "600 per minute"), Headers: httplimit.NoHeaders})
	for name, h := range map[string]http.Handler{
		"the same middleware":         one(one(hello)),
		"the same decider":            one(two(hello)),
		"another limiter in between":  one(other(two(one(hello)))),
		"another limiter around them": other(one(other(two(hello)))),
	} {
		t.Run(name, func(t *testing.T) {
			peer := "peer " + map[string]string{
				"the same middleware": "192.0.2.1", "the same decider": "192.0.2.2",
				"another limiter in between": "192.0.2.3", "another limiter around them": "192.0.2.4",
			}[name] + ":1"
			for i := range 10 {
				res := get(t, h, peer)
				wantString(t, "status", letter(res), "A")
				wantHeader(t, res, "X-RateLimit-Remaining", fmt.Sprint(9-i))
			}
			wantString(t, "eleventh", letter(get(t, h, peer)), "D")
		})
	}
}

// value is a Decider that can not be compared.
type value struct{ f func() }

func (v value) Decide(_ context.Context, _ stint.Source, d *stint.Decision) error {
	v.f()
	d.Clear()
	d.Allowed = true
	return nil
}

func TestC108DecidersThatCanNotBeCompared(t *testing.T) {
	calls := 0
	v := value{func() { calls++ }}
	one := newMiddleware(t, httplimit.Options{Decider: v})
	two := newMiddleware(t, httplimit.Options{Decider: v})
	get(t, one(two(one(hello))))
	if calls != 2 {
		t.Errorf("%d decisions of two middlewares, want 2", calls)
	}
}

func TestTwoLimitersCountOnceEach(t *testing.T) {
	limiter := newLimiter(t, newClock())
	newNamed := func(name, limit string) func(http.Handler) http.Handler {
		return newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
			Limiter: limiter, Policy: newPolicy(t, name, limit, algo.FixedWindow), Key: httplimit.ByIP,
		}})
	}
	all, route := newNamed("all", "600 per minute"), newNamed("route", "300 per minute")
	var outer, inner stint.Decision
	h := all(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outer, _ = httplimit.FromContext(r.Context())
		route(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			inner, _ = httplimit.FromContext(r.Context())
		})).ServeHTTP(w, r)
	}))
	for range 300 {
		get(t, h)
	}
	if outer.Policy != "all" || outer.Remaining != 300 || inner.Policy != "route" || inner.Remaining != 0 {
		t.Errorf("%s %d, %s %d", outer.Policy, outer.Remaining, inner.Policy, inner.Remaining)
	}
	wantString(t, "one more", letter(get(t, h)), "D")
}

func TestFromContextEndsWithTheHandler(t *testing.T) {
	if _, ok := httplimit.FromContext(t.Context()); ok {
		t.Error("a decision without a limiter")
	}
	var ctx context.Context
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "3 per minute")})(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(r.Context())
			defer cancel()
			d, ok := httplimit.FromContext(ctx)
			if !ok || d.Remaining != 2 || d.Policy != "default" || len(d.Results) != 1 {
				t.Errorf("%+v, %v", d, ok)
			}
		}))
	get(t, h)
	if d, ok := httplimit.FromContext(ctx); ok {
		t.Errorf("after the handler: %+v", d)
	}
}

// A panic must reach the server, and leave the limiter in order.
func TestPanicOfTheHandler(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "3 per minute")})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for range 3 {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("panic %v", err)
				}
			}()
			get(t, h)
		}()
	}
	wantString(t, "fourth", letter(get(t, h)), "D")
}
