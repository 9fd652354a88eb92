package sharedstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/sharedstore"
)

// Servers that open the same Redis count together. Nobody listens on this port: then
// each of four servers allows its quarter of the limit.
func ExampleOpen() {
	store, err := sharedstore.Open("redis://127.0.0.1:1", sharedstore.Options{Fleet: sharedstore.Fleet{Servers: 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	perMinute, _ := stint.NewPolicy("per-key", stint.Limit{Count: 100, Window: time.Minute}, algo.TokenBucket)
	limiter := &stint.Limiter{Store: store}
	d, err := limiter.Allow(context.Background(), perMinute, "k_acme")
	fmt.Println(d.Allowed, d.Remaining, d.Degraded, err)
	// Output: true 24 true <nil>
}
