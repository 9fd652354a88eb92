package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/gateway"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
)

func Example() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := stint.NewPolicy("api", stint.Limit{Count: 2, Window: time.Hour}, algo.TokenBucket)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := gateway.New(gateway.Options{
		Upstream: "demo",
		Limit: httplimit.Options{
			Decider: &httplimit.Single{Limiter: &stint.Limiter{Store: store}, Policy: policy, Key: httplimit.ByIP},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- (&gateway.Server{Handler: g}).Serve(ctx, l) }()
	for range 3 {
		res, err := http.Get("http://" + l.Addr().String() + "/v1/orders")
		if err != nil {
			fmt.Println(err)
			break
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		fmt.Println(res.StatusCode, res.Header.Get("X-RateLimit-Remaining"))
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	fmt.Println(<-served)
	// Output:
	// 200 1
	// 200 0
	// 429 0
	// <nil>
}
