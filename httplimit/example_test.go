package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
)

func Example() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		panic(err)
	}
	limiter := &stint.Limiter{Store: store}

	policy, err := stint.NewPolicy("api", stint.Limit{Count: 2, Window: time.Hour}, algo.TokenBucket)
	if err != nil {
		panic(err)
	}
	limit, err := httplimit.New(httplimit.Options{
		Decider: &httplimit.Single{Limiter: limiter, Policy: policy, Key: httplimit.ByIP},
		Headers: httplimit.IETF,
	})
	if err != nil {
		panic(err)
	}
	h := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello")
	}))

	for range 3 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Printf("%d %s %q\n", w.Code, w.Header().Get("RateLimit-Policy"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "api";q=2;w=3600 ""
	// 200 "api";q=2;w=3600 ""
	// 429 "api";q=2;w=3600 "1800"
}

// A Key can be any value of the request, or one that another middleware put into
// its context.
func ExampleKey() {
	type user struct{ id string }
	type userKey struct{}
	var key httplimit.Key = func(ctx context.Context, _ stint.Source, dst []byte) ([]byte, bool) {
		u, ok := ctx.Value(userKey{}).(user)
		return append(dst, u.id...), ok
	}
	ctx := context.WithValue(context.Background(), userKey{}, user{"u-7"})
	name, ok := key(ctx, nil, nil)
	fmt.Println(string(name), ok)
	// Output: u-7 true
}

func ExampleFromContext() {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d, ok := httplimit.FromContext(r.Context()); ok {
			fmt.Fprintf(w, "%d of %d left", d.Remaining, d.Capacity)
		}
	})
	d := decide(func(_ stint.Source, d *stint.Decision) error {
		d.Allowed, d.Result = true, stint.Result{Policy: "api", Capacity: 10, Verdict: stint.Verdict{OK: true, Remaining: 9}}
		return nil
	})
	limit, err := httplimit.New(httplimit.Options{Decider: d})
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	limit(h).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Body)
	// Output: 9 of 10 left
}
