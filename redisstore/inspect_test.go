package redisstore_test

import (
	"testing"
	"time"

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
