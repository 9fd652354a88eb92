package redisstore_test

import (
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestTheWaitForABucketTwice: a refused request that asks one bucket twice is told when
// the bucket has room for both, and never where it cannot have.
func TestTheWaitForABucketTwice(t *testing.T) {
	t.Parallel()
	c := scripted(t, redistest.Start(t))
	ask := func(p *stint.Policy, costs ...int64) []stint.Verdict {
		t.Helper()
		charges, verdicts := make([]stint.Charge, len(costs)), make([]stint.Verdict, len(costs))
		for i, cost := range costs {
			charges[i] = stint.Charge{Policy: p, Ask: stint.Ask{Cost: cost}}
		}
		if _, err := c.store.Take(t.Context(), c.now, charges, verdicts); err != nil {
			t.Fatal(err)
		}
		return verdicts
	}
	for _, a := range append([]stint.Algorithm{algo.LeakyQueue{MaxWaiting: 1}}, algo.All...) {
		p := policy(t, a.Name(), "12 per 12s", a)
		if _, queue := a.(stint.QueueAlgorithm); queue {
			p = policy(t, a.Name(), "1 per 1s, burst 11", a)
		}
		ask(p, 10)
		v := ask(p, 6, 6)
		if v[1].OK {
			t.Fatalf("%s: %+v, want a refusal", a.Name(), v)
		}
		wait := v[1].RetryAfter
		c.after(wait - time.Microsecond)
		if v = ask(p, 6, 6); v[1].OK {
			t.Errorf("%s: passes before the wait of %v is over", a.Name(), wait)
		}
		c.after(time.Microsecond)
		if v = ask(p, 6, 6); !v[0].OK || !v[1].OK {
			t.Errorf("%s: refused again after a wait of %v: %+v", a.Name(), wait, v)
		}
		if v = ask(p, 10, 10); v[1].RetryAfter != stint.Never {
			t.Errorf("%s: 20 of 12 are told to wait %v", a.Name(), v[1].RetryAfter)
		}
		c.after(time.Hour)
	}
}
