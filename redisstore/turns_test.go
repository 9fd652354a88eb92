package redisstore_test

import (
	"testing"

	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// TestLimitsInTurn: limits and algorithms that take turns on one bucket admit together
// what the largest of them admits, and lock nobody out for longer than they need.
func TestLimitsInTurn(t *testing.T) {
	t.Parallel()
	redis := open(t, redistest.Start(t), redisstore.Options{ClientClock: true})
	if err := (storetest.Turns{Store: redis, Seed: storetest.Seed()}).Differ(twins(t) / 1000); err != nil {
		t.Fatal(err)
	}
}
