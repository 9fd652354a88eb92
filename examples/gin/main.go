// Command gin limits a gin engine by address.
package main

import (
	"log"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

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
	r := gin.New()
	r.Use(wrap(limit))
	r.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "hello\n") })
	return r, nil
}

// wrap makes a middleware of net/http one of gin.
func wrap(m func(http.Handler) http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		passed := false
		m(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed, c.Request = true, r
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
		if !passed {
			c.Abort()
		}
	}
}
