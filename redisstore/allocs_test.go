//go:build !race

package redisstore_test

import (
	"context"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// allocations is the most that a request which has a call for itself allocates,
// however many rules it has: the call's keys, its argument, and the answer, which is
// the client library's. Requests that leave together share them.
const allocations = 3

func TestAllocationsOfARequest(t *testing.T) {
	server := redistest.Start(t)
	store := open(t, server, redisstore.Options{})
	rules := policies(t, 3, "100000 per minute", algo.TokenBucket)
	for n := 1; n <= len(rules); n++ {
		var charges []stint.Charge
		for _, p := range rules[:n] {
			charges = append(charges, stint.Charge{Policy: p, Key: []byte("user:100000"), Ask: stint.Ask{Cost: 1}})
		}
		verdicts := make([]stint.Verdict, n)
		got := testing.AllocsPerRun(1000, func() {
			if _, err := store.Take(context.Background(), 0, charges, verdicts); err != nil {
				t.Fatal(err)
			}
		})
		if got > allocations {
			t.Errorf("%d rules: %.0f allocations, want at most %d", n, got, allocations)
		}
	}
}
