// Command chi limits a chi router: by address for everything, and again for one
// route.
package main

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
)

func main() {
	h, err := newHandler()
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:8080", h))
}

func newHandler() (http.Handler, error) {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		return nil, err
	}
	limiter := &stint.Limiter{Store: store}
	all, err := limit(limiter, "all", stint.Limit{Count: 100, Window: time.Minute})
	if err != nil {
		return nil, err
	}
	search, err := limit(limiter, "search", stint.Limit{Count: 3, Window: time.Minute})
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(all)
	r.Get("/", hello)
	r.With(search).Get("/search", hello)
	return r, nil
}

func limit(l *stint.Limiter, name string, limit stint.Limit) (func(http.Handler) http.Handler, error) {
	policy, err := stint.NewPolicy(name, limit, algo.TokenBucket)
	if err != nil {
		return nil, err
	}
	single := &httplimit.Single{Limiter: l, Policy: policy, Key: httplimit.ByIP}
	return httplimit.New(httplimit.Options{Decider: single})
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
