package redisstore_test

import (
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
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

// TestServersWithTwoBursts: while a burst of 1000 becomes one of 900, two servers that
// ask in turn admit what the larger admits.
func TestServersWithTwoBursts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	servers := []*redisstore.Store{
		open(t, server, redisstore.Options{ClientClock: true}), open(t, server, redisstore.Options{ClientClock: true}),
	}
	policies := []*stint.Policy{
		policy(t, "p", "50 per 1s, burst 1000", algo.TokenBucket), policy(t, "p", "50 per 1s, burst 900", algo.TokenBucket),
	}
	passed, now := int64(0), storetest.Start
	for i := range 4000 {
		charge, verdict := []stint.Charge{{Policy: policies[i%2], Ask: stint.Ask{Cost: 1}}}, make([]stint.Verdict, 1)
		if _, err := servers[i%2].Take(t.Context(), now, charge, verdict); err != nil {
			t.Fatal(err)
		}
		if verdict[0].OK {
			passed++
		}
		if most := 1000 + 50*int64(now-storetest.Start)/1_000_000; passed > most {
			t.Fatalf("%d passed after %d µs, where the larger limit admits %d", passed, now-storetest.Start, most)
		}
		now += 330
	}
	if passed < 900 {
		t.Errorf("%d passed, want at least the smaller burst", passed)
	}
}
