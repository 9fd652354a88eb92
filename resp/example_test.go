package resp_test

import (
	"context"
	"fmt"
	"net"

	"github.com/redis/rueidis"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/resp"
)

func Example() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := resp.New(resp.Options{Limiter: &stint.Limiter{Store: store}})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()

	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{listener.Addr().String()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for range 3 {
		// A bucket of 1 + 1, refilled by one in 60 seconds.
		throttle := client.B().ClThrottle().Key("user123").MaxBurst(1).CountPerPeriod(1).Period(60).Build()
		answer, err := client.Do(ctx, throttle).AsIntSlice()
		fmt.Println(answer, err)
	}
	client.Close()
	_ = server.Shutdown(ctx)
	fmt.Println(<-done)
	// Output:
	// [0 2 1 -1 60] <nil>
	// [0 2 0 -1 120] <nil>
	// [1 2 0 60 120] <nil>
	// resp: server closed
}
