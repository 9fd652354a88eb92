package redisstore_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// fleet makes servers that share a store, connected.
func fleet(t testing.TB, addr string, size int, o failover.Options) []*node {
	t.Helper()
	var nodes []*node
	for range size {
		n := newNode(t, openAt(t, addr, redisstore.Options{ReadTimeout: 300 * time.Millisecond}), size, o)
		n.recovers(20 * time.Second)
		nodes = append(nodes, n)
	}
	return nodes
}

// TestC063AProcessThatHangs: stopped under load, and let go on.
func TestC063AProcessThatHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	nodes := fleet(t, server.Addr, 2, failover.Options{Deadline: 50 * time.Millisecond})
	const limit = 100
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.FixedWindow)
	before := runtime.NumGoroutine()
	load := startLoad(p, "k", 10, 10*time.Millisecond, nodes...)
	load.until(limit/2, 0)
	server.Pause()
	most := 0
	for range 100 {
		most = max(most, runtime.NumGoroutine())
		time.Sleep(10 * time.Millisecond)
	}
	server.Resume()
	for _, n := range nodes {
		t.Logf("recovered after %v", n.recovers(20*time.Second).Round(time.Millisecond))
	}
	load.until(2*limit, 0)
	a := load.end()
	a.check(t, "hangs", 50*time.Millisecond)
	a.most(t, limit+2*(limit/2), "the limit, and the shares of two servers")
	if most > before+200 {
		t.Errorf("%d goroutines while it hung, %d before", most, before)
	}
	for _, n := range nodes {
		s := n.failover.Stats()
		if failed, answered := n.told(); failed == 0 || answered == 0 || s.Timeouts == 0 || s.Degraded == 0 {
			t.Errorf("told %d times that it fails and %d times that it answers: %+v", failed, answered, s)
		}
	}
	exact(t, nodes...)
}

// TestC067KilledUnderLoad: killed and restarted, empty, some times. Each time the
// store forgets what was used; each server gives away its share once, since its
// memory does not forget.
func TestC067KilledUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	nodes := fleet(t, server.Addr, 2, failover.Options{Deadline: 50 * time.Millisecond})
	const limit, kills = 60, 3
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.SlidingWindowCounter)
	load := startLoad(p, "k", 5, 2*time.Millisecond, nodes...)
	load.until(2*limit, 0)
	for range kills {
		server.Kill()
		time.Sleep(100 * time.Millisecond)
		server.Restart()
		for _, n := range nodes {
			n.recovers(20 * time.Second)
		}
		time.Sleep(100 * time.Millisecond)
	}
	a := load.end()
	a.check(t, "killed", 50*time.Millisecond)
	a.most(t, limit*(1+kills)+2*(limit/2), "the limit once more for each of three restarts, and the shares of two servers")
	exact(t, nodes...)
}

// TestC067KilledWithItsData: what was written to disk before each answer is not
// forgotten.
func TestC067KilledWithItsData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	n := fleet(t, server.Addr, 1, failover.Options{Deadline: 5 * time.Second, Failures: 1})[0]
	p := policy(t, "p", "5 per 24h", algo.FixedWindow)
	p.OnStoreFailure = stint.FailAllow
	a := new(tally)
	for range 3 {
		n.ask(a, p, "k")
	}
	server.Kill()
	down := new(tally)
	for range 20 {
		n.ask(down, p, "k")
	}
	if down.passed != 20 || down.degraded != 20 {
		t.Errorf("meanwhile %d of 20 passed, %d decided without the store", down.passed, down.degraded)
	}
	server.Restart()
	n.recovers(20 * time.Second)
	for range 4 {
		n.ask(a, p, "k")
	}
	if a.passed != 5 || a.degraded != 0 {
		t.Errorf("%d passed of 3 before and 4 afterwards, want 5 of them; %d decided without the store", a.passed, a.degraded)
	}
}

// TestRefusingRedis: what Redis refuses under load, for some time or once, no client
// sees; each server gives away its share at most.
func TestRefusingRedis(t *testing.T) {
	t.Parallel()
	server, master := redistest.Start(t), redistest.Start(t)
	for _, c := range []struct {
		name       string
		begin, end []string // end: it refuses until then
	}{
		{"no memory", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
		{"a replica", []string{"REPLICAOF", "127.0.0.1", master.Port()}, []string{"REPLICAOF", "NO", "ONE"}},
		{"no scripts", []string{"SCRIPT", "FLUSH"}, nil},
		{"no connections", []string{"CLIENT", "KILL", "TYPE", "normal"}, nil},
		{"paused", []string{"CLIENT", "PAUSE", "300", "ALL"}, nil},
	} {
		nodes := fleet(t, server.Addr, 2, failover.Options{Deadline: 50 * time.Millisecond})
		const limit = 100
		p := policy(t, c.name, strconv.Itoa(limit)+" per 24h", algo.TokenBucket)
		load := startLoad(p, "k", 4, 5*time.Millisecond, nodes...)
		load.until(limit/2, 0)
		server.Do(c.begin...)
		time.Sleep(400 * time.Millisecond)
		if c.end != nil {
			server.Do(c.end...)
		}
		for _, n := range nodes {
			n.recovers(20 * time.Second)
		}
		load.until(3*limit, 0)
		a := load.end()
		a.check(t, c.name, 50*time.Millisecond)
		if most := limit + 2*(limit/2); c.name != "a replica" {
			a.most(t, most, "the limit, and the shares of two servers")
		} else { // It takes over what its master has, which is nothing.
			a.most(t, most+limit, "the limit twice, since it was forgotten, and the shares of two servers")
		}
		if c.end != nil && a.degraded == 0 {
			t.Errorf("%s: nothing was decided without the store", c.name)
		}
		exact(t, nodes...)
		server.Do("FLUSHALL")
	}
}

// TestC068CallersThatGoAway: a hundred hang up before or during the call, and
// nobody else notices.
func TestC068CallersThatGoAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	n := newNode(t, openAt(t, proxy.Addr, redisstore.Options{ReadTimeout: 10 * time.Second}), 1, failover.Options{Deadline: 10 * time.Second, Failures: 5})
	n.recovers(10 * time.Second)
	p := policy(t, "p", "10 per 24h", algo.TokenBucket)
	proxy.Delay(time.Second) // longer than any of them waits
	for i := range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%10)*time.Millisecond)
		if _, err := n.limiter.Allow(ctx, p, "gone"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		cancel()
	}
	proxy.Delay(0)
	a := new(tally)
	for range 15 {
		n.ask(a, p, "k")
	}
	s := n.failover.Stats()
	if failed, _ := n.told(); a.passed != 10 || a.degraded != 0 || failed != 0 || s.Failed != 0 || s.Cancelled != 100 {
		t.Errorf("%d of 15 passed, %d decided without the store, told %d times that it fails: %+v", a.passed, a.degraded, failed, s)
	}
}

// TestNothingIsLeft: what a store and its failover had is gone when the store is
// closed, whatever Redis does at that moment.
func TestNothingIsLeft(t *testing.T) {
	server := redistest.Start(t)
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	settle := func(most int) (n int) {
		for range 1000 {
			if n = runtime.NumGoroutine(); n <= most {
				return n
			}
			time.Sleep(10 * time.Millisecond)
		}
		return n
	}
	connected := func() string { return server.Info("clients")["connected_clients"] }
	before, conns := runtime.NumGoroutine(), connected()
	for i := range 12 {
		store, err := redisstore.New(redisstore.Options{Addrs: []string{server.Addr}, ReadTimeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		n := newNode(t, store, 1, failover.Options{})
		if i%4 != 3 {
			n.recovers(20 * time.Second)
		}
		load := startLoad(p, "k", 4, time.Millisecond, n)
		switch i % 4 {
		case 1:
			server.Pause()
		case 2:
			server.Kill()
		}
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		store.Close()
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("it took %v to close", d)
		}
		load.end()
		switch i % 4 {
		case 1:
			server.Resume()
		case 2:
			server.Restart()
		}
	}
	if after := settle(before); after > before {
		buffer := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d afterwards:\n%s", before, after, buffer[:runtime.Stack(buffer, true)])
	}
	if now := connected(); now != conns {
		t.Errorf("%s connections before, %s afterwards", conns, now)
	}
}
