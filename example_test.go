package stint_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

// A hundred requests a minute for each key.
func Example() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := &stint.Limiter{Store: store}
	perMinute, err := stint.NewPolicy("per-key", stint.Limit{Count: 100, Window: time.Minute}, algo.TokenBucket)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := limiter.Allow(context.Background(), perMinute, "k_acme")
	fmt.Println(d.Allowed, d.Remaining, err)
	// Output: true 99 <nil>
}

// Several limits hold for one request; what one of them refuses, none counts.
func ExampleLimiter_Take() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	limiter := &stint.Limiter{Store: store, Clock: func() time.Time { return noon }}
	user, err := stint.NewPolicy("per-user", stint.Limit{Count: 10, Window: time.Second}, algo.TokenBucket)
	if err != nil {
		fmt.Println(err)
		return
	}
	everyone, err := stint.NewPolicy("everyone", stint.Limit{Count: 3, Window: time.Minute}, algo.FixedWindow)
	if err != nil {
		fmt.Println(err)
		return
	}
	one := stint.Ask{Cost: 1}
	for range 4 {
		d, err := limiter.Take(context.Background(),
			stint.Charge{Policy: user, Key: []byte("alice"), Ask: one},
			stint.Charge{Policy: everyone, Ask: one},
		)
		fmt.Println(d.Allowed, d.Policy, d.Remaining, d.RetryAfter, err)
	}
	// Output:
	// true everyone 2 0s <nil>
	// true everyone 1 0s <nil>
	// true everyone 0 0s <nil>
	// false everyone 0 1m0s <nil>
}

func ExampleParseLimit() {
	l, err := stint.ParseLimit("1_000 per 30 seconds, burst 50")
	fmt.Println(l.Count, l.Window, l.Burst, err)
	_, err = stint.ParseLimit("5 per fortnight")
	fmt.Println(err)
	// Output:
	// 1000 30s 50 <nil>
	// limit "5 per fortnight": window "fortnight": "fortnight" is not a unit: write 2 weeks
}

// A queue smooths what comes too fast instead of refusing it.
func ExampleDecision_Wait() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := &stint.Limiter{Store: store}
	smooth, err := stint.NewPolicy("orders", stint.Limit{Count: 1000, Window: time.Second}, algo.LeakyQueue{MaxWaiting: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		d, err := limiter.Take(context.Background(), stint.Charge{Policy: smooth, Ask: stint.Ask{Cost: 1}})
		if err != nil || !d.Allowed {
			fmt.Println("refused", err)
			return
		}
		if err := d.Wait(context.Background()); err != nil {
			fmt.Println("gave up", err)
			return
		}
		fmt.Println("served")
	}
	// Output:
	// served
	// served
	// served
}
