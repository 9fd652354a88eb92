// Command echo limits an echo server by address.
package main

import (
	"log"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

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
	policy, err := stint.NewPolicy("api", stint.Limit{Count: 3, Window: time.Minute}, algo.TokenBucket)
	if err != nil {
		return nil, err
	}
	limit, err := httplimit.New(httplimit.Options{
		Decider: &httplimit.Single{Limiter: &stint.Limiter{Store: store}, Policy: policy, Key: httplimit.ByIP},
	})
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(echo.WrapMiddleware(limit))
	e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "hello\n") })
	return e, nil
}
