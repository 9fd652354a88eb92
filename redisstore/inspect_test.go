package redisstore_test

import (
	"testing"
	"time"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

func TestInspect(t *testing.T) {
	server := redistest.Start(t)
	found, err := open(t, server, redisstore.Options{}).Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found.Name == "" || found.Version != server.Info("server")["redis_version"] || found.Mode != "standalone" {
		t.Errorf("%+v", found)
	}
	if d := found.ClockAhead.Abs(); d > found.RoundTrip+time.Millisecond {
		t.Errorf("a clock of this machine is %v off", found.ClockAhead)
	}
}

// TestInspectTeachesTheScript: after a word at the start the first decision is one
// call and no more.
func TestInspectTeachesTheScript(t *testing.T) {
	server := redistest.Start(t)
	store := open(t, server, redisstore.Options{})
	if _, err := store.Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := &client{TB: t, store: store}
	if _, err := c.try(policy(t, "p", "5 per 60s", algo.TokenBucket), "k", 1); err != nil {
		t.Fatal(err)
	}
	if evals, calls := server.Calls("eval"), server.Calls("evalsha"); evals != 0 || calls != 1 {
		t.Errorf("%d evals and %d evalsha, want 0 and 1", evals, calls)
	}
}
