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

// TestTheClientSeesTheTighterOfTwoLimiters, whichever of them is outside, and the
// policies of both in the lists.
func TestTheClientSeesTheTighterOfTwoLimiters(t *testing.T) {
	const loose, tight, block = "600 per minute", "10 per minute", "0 per minute"
	for _, c := range []struct {
		name                 string
		outer, inner         string
		outerHead, innerHead httplimit.Headers
		status               string
		limit, remaining     string
		policies, states     string
	}{
		{
			"the outer one is tighter", tight, loose, 0, 0, "A", "10", "9",
			`"outer";q=10;w=60, "inner";q=600;w=60`, `"outer";r=9;t=60, "inner";r=599;t=60`,
		},
		{
			"the inner one is tighter", loose, tight, 0, 0, "A", "10", "9",
			`"outer";q=600;w=60, "inner";q=10;w=60`, `"outer";r=599;t=60, "inner";r=9;t=60`,
		},
		{
			"the outer one refuses", block, loose, 0, 0, "D", "0", "0",
			`"outer";q=0;w=60`, `"outer";r=0`,
		},
		{
			"the inner one refuses", loose, block, 0, 0, "D", "0", "0",
			`"outer";q=600;w=60, "inner";q=0;w=60`, `"outer";r=599;t=60, "inner";r=0`,
		},
		{
			"the outer one is tighter and hidden", tight, loose, httplimit.NoHeaders, 0, "A", "600", "599",
			`"inner";q=600;w=60`, `"inner";r=599;t=60`,
		},
		{
			"the inner one is tighter and hidden", loose, tight, 0, httplimit.NoHeaders, "A", "600", "599",
			`"outer";q=600;w=60`, `"outer";r=599;t=60`,
		},
		{
			"the outer one is tighter and has the lists only", tight, loose, httplimit.IETF, httplimit.XRateLimit, "A", "600", "599",
			`"outer";q=10;w=60`, `"outer";r=9;t=60`,
		},
		{
			"the inner one is tighter and as GitHub's", loose, tight, httplimit.XRateLimit, httplimit.GitHub, "A", "10", "9", "", "",
		},
		{
			"the inner one is tighter, the outer one as GitHub's", loose, tight, httplimit.GitHub, httplimit.XRateLimit, "A", "10", "9", "", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			limiter := newLimiter(t, newClock())
			wrap := func(name, limit string, h httplimit.Headers) func(http.Handler) http.Handler {
				return newMiddleware(t, httplimit.Options{Headers: h, Decider: &httplimit.Single{
					Limiter: limiter, Policy: newPolicy(t, name, limit, algo.FixedWindow), Key: httplimit.ByIP,
				}})
			}
			res := get(t, wrap("outer", c.outer, c.outerHead)(wrap("inner", c.inner, c.innerHead)(hello)), "Origin: https://app.example")
			wantString(t, "status", letter(res), c.status)
			for name, want := range map[string]string{
				"X-RateLimit-Limit": c.limit, "X-RateLimit-Remaining": c.remaining, "RateLimit-Policy": c.policies, "RateLimit": c.states,
			} {
				if want == "" {
					wantHeader(t, res, name)
					continue
				}
				wantHeader(t, res, name, want)
			}
			github := c.innerHead == httplimit.GitHub
			if got := len(res.Header["X-Ratelimit-Resource"]) > 0; got != github {
				t.Errorf("X-RateLimit-Resource is there: %t", got)
			}
		})
	}
}

// TestThreeLimitersInAChain: the tightest of those that show themselves.
func TestThreeLimitersInAChain(t *testing.T) {
	limiter := newLimiter(t, newClock())
	h := http.Handler(hello)
	for _, limit := range []string{"60 per minute", "5 per minute", "30 per minute"} {
		h = newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
			Limiter: limiter, Policy: newPolicy(t, limit, limit, algo.FixedWindow), Key: httplimit.ByIP,
		}})(h)
	}
	res := get(t, h, "Origin: https://app.example")
	wantHeader(t, res, "X-RateLimit-Limit", "5")
	wantHeader(t, res, "RateLimit", `"30 per minute";r=29;t=60, "5 per minute";r=4;t=60, "60 per minute";r=59;t=60`)
	wantHeader(t, res, "Access-Control-Expose-Headers",
		"X-Ratelimit-Limit, X-Ratelimit-Remaining, X-Ratelimit-Reset, Ratelimit-Policy, Ratelimit")
}
