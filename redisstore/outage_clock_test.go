package redisstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestClocksOfServersDoNotMatter: of three servers one is five seconds behind and
// one five ahead. Together they let the limit through, whatever the algorithm, and
// tell what the clock of Redis says.
func TestClocksOfServersDoNotMatter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var nodes []*node
	for _, off := range []time.Duration{0, -5 * time.Second, 5 * time.Second} {
		n := newNode(t, openAt(t, server.Addr, redisstore.Options{}), 3, failover.Options{Deadline: 10 * time.Second})
		n.limiter.Clock = func() time.Time { return time.Now().Add(off) }
		nodes = append(nodes, n)
	}
	const limit = 60
	for _, a := range every {
		p := policy(t, a.Name(), strconv.Itoa(limit)+" per 24h", a)
		want := limit
		if a == every[0] { // the queue: one leaves at once, the others wait
			want = 1 + 4
		}
		sum := new(tally)
		for i := range 4 * limit {
			d := nodes[i%3].ask(sum, p, "k")
			if at := d.At.Time(); time.Until(at).Abs() > 3*time.Second {
				t.Errorf("%s: server %d decided at %v, which is not the time of Redis", a.Name(), i%3, at)
			}
			if d.RetryAfter > 24*time.Hour {
				t.Errorf("%s: server %d: wait %v", a.Name(), i%3, d.RetryAfter)
			}
		}
		if sum.passed != want || sum.degraded != 0 {
			t.Errorf("%s: %d passed and %d were decided without the store, want %d and none", a.Name(), sum.passed, sum.degraded, want)
		}
	}
}
