package redisstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestSlowNetwork: a store behind a slow network decides where the deadline allows
// it; where not, nobody waits longer, and each server gives away its share at most.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		delay, deadline time.Duration
		answers         bool // within the deadline
	}{
		{time.Millisecond, 20 * time.Second, true},
		{5 * time.Millisecond, 20 * time.Second, true},
		{50 * time.Millisecond, 20 * time.Second, true},
		{50 * time.Millisecond, 5 * time.Millisecond, false},
		{5 * time.Millisecond, 2 * time.Millisecond, false},
	} {
		name := c.delay.String() + " within " + c.deadline.String()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr)
			var nodes []*node
			for range 2 {
				store := openAt(t, proxy.Addr, redisstore.Options{})
				nodes = append(nodes, newNode(t, store, 2, failover.Options{Deadline: c.deadline}))
			}
			for _, n := range nodes {
				if c.answers {
					n.recovers(20 * time.Second) // is connected
				}
			}
			proxy.Delay(c.delay)
			const limit = 100
			p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.FixedWindow)
			load := startLoad(p, "k", 8, 5*time.Millisecond, nodes...)
			load.until(2*limit, 500*time.Millisecond)
			a := load.end()
			a.check(t, name, c.deadline)
			if c.answers {
				if a.degraded != 0 || a.passed != limit {
					t.Errorf("%d passed, %d decided without the store, want %d and none", a.passed, a.degraded, limit)
				}
				return
			}
			a.most(t, limit+2*(limit/2), "the limit, and the shares of two servers")
			if a.local > 2*(limit/2) || a.degraded < a.asked/2 {
				t.Errorf("%d passed without the store, which decided %d of %d", a.local, a.asked-a.degraded, a.asked)
			}
			for _, n := range nodes {
				if failed, _ := n.told(); failed == 0 || n.failover.Stats().Timeouts == 0 {
					t.Errorf("nobody is told: %+v", n.failover.Stats())
				}
			}
			proxy.Delay(0)
			for _, n := range nodes {
				n.recovers(20 * time.Second)
			}
		})
	}
}

// TestLossyNetwork: connections end, and halves of answers are lost.
func TestLossyNetwork(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	var nodes []*node
	for range 2 {
		store := openAt(t, proxy.Addr, redisstore.Options{ReadTimeout: 100 * time.Millisecond, DialTimeout: 200 * time.Millisecond})
		nodes = append(nodes, newNode(t, store, 2, failover.Options{Deadline: 20 * time.Millisecond}))
	}
	for _, n := range nodes {
		n.recovers(10 * time.Second)
	}
	proxy.Lose(9)
	const limit = 100
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.SlidingWindowLog)
	load := startLoad(p, "k", 4, 2*time.Millisecond, nodes...)
	time.Sleep(2 * time.Second)
	a := load.end()
	a.check(t, "lossy", 20*time.Millisecond)
	a.most(t, limit+2*(limit/2), "the limit, and the shares of two servers")
	failed := int64(0)
	for _, n := range nodes {
		failed += n.failover.Stats().Failed
	}
	if failed == 0 {
		t.Error("nothing was lost")
	}
	proxy.Lose(0)
	for _, n := range nodes {
		t.Logf("recovered after %v", n.recovers(20*time.Second).Round(time.Millisecond))
	}
	exact(t, nodes...)
}
