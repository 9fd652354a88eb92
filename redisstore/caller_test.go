package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestWithinBoundsTheWait: whoever waits so long at most waits no longer, on one
// server and for several slots of a cluster, and a caller who goes away is told apart.
func TestWithinBoundsTheWait(t *testing.T) {
	server := redistest.Start(t)
	cluster := redistest.StartCluster(t)
	stores := map[string]*redisstore.Store{
		"single":  open(t, server, redisstore.Options{}),
		"cluster": openCluster(t, cluster, redisstore.Options{}),
	}
	pauses := map[string]func(){"single": server.Pause, "cluster": func() {
		for _, node := range cluster.Masters {
			node.Pause()
		}
	}}
	for name, store := range stores {
		p := policies(t, 3, "5 per 60s", algo.TokenBucket)
		var charges []stint.Charge
		for i, key := range []string{"a", "b", "c"} {
			charges = append(charges, stint.Charge{Policy: p[i], Key: []byte(key), Ask: stint.Ask{Cost: 1}})
		}
		verdicts := make([]stint.Verdict, len(charges))
		eventually(t, 20*time.Second, func() error {
			_, err := store.Within(5*time.Second).Take(t.Context(), 0, charges, verdicts)
			return err
		})
		pauses[name]()
		const wait = 20 * time.Millisecond
		bounded := store.Within(wait)
		for range 3 {
			before := time.Now()
			_, err := bounded.Take(t.Context(), 0, charges, verdicts)
			waited := time.Since(before)
			if !errors.Is(err, context.DeadlineExceeded) || waited < wait || waited > wait+3*time.Second {
				t.Errorf("%s: waited %v, %v", name, waited, err)
			}
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := store.Within(time.Minute).Take(gone, 0, charges, verdicts); !errors.Is(err, gone.Err()) {
			t.Errorf("%s: a caller who went away: %v", name, err)
		}
		cancel()
	}
}
