package shield_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/shield"
)

// A shield stands before a store that others share; here a store in memory takes
// its place.
func Example() {
	shared, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := shield.New(shield.Options{Store: shared})
	if err != nil {
		fmt.Println(err)
		return
	}
	perUser, err := stint.NewPolicy("per-user", stint.Limit{Count: 2, Window: time.Hour}, algo.TokenBucket)
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := stint.Limiter{Store: store}
	for range 5 {
		d, err := limiter.Allow(context.Background(), perUser, "alice")
		fmt.Println(d.Allowed, err)
	}
	fmt.Println(store.Stats().Answered, "of them without asking the shared store")
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
	// false <nil>
	// false <nil>
	// 2 of them without asking the shared store
}
