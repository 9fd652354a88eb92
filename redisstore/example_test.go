package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
)

// Every server that has this limiter counts together with the others.
func Example() {
	store, err := redisstore.Open("redis://127.0.0.1:6379/0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	perUser, err := stint.NewPolicy("per-user", stint.Limit{Count: 100, Window: time.Minute}, algo.TokenBucket)
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := stint.Limiter{Store: store}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	switch d, err := limiter.Allow(ctx, perUser, "alice"); {
	case err != nil:
		fmt.Println("nobody can tell:", err)
	case !d.Allowed:
		fmt.Println("come back in", d.RetryAfter)
	}
}
