package redisstore_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestLoading: while Redis reads what it had saved each server gives away its share;
// then what was counted before counts.
func TestLoading(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--enable-debug-command", "yes", "--appendonly", "no")
	n := newNode(t, openAt(t, server.Addr, redisstore.Options{ReadTimeout: 200 * time.Millisecond}), 2, failover.Options{})
	const limit = 100
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.FixedWindow)
	n.recovers(10 * time.Second)
	a := new(tally)
	for range 30 {
		n.ask(a, p, "k")
	}
	before := a.passed // some of them perhaps without the store, if this machine is slow
	server.Do("DEBUG", "POPULATE", "1500", "key", "20")
	server.Do("SAVE")
	server.Reload(time.Millisecond)
	load := startLoad(p, "k", 4, 5*time.Millisecond, n)
	loading := 0
	for server.Loading() {
		loading++
		time.Sleep(10 * time.Millisecond)
	}
	took := n.recovers(20 * time.Second)
	load.until(3*limit, 0)
	b := load.end()
	b.check(t, "loading", n.deadline)
	b.passed, b.local = b.passed+before, b.local+a.local
	b.most(t, limit+limit/2, "the limit, and the share of one of two servers")
	if loading == 0 || b.degraded == 0 || b.local != limit/2 {
		t.Errorf("loading seen %d times; %d decided without the store, %d of them passed, want its share of %d", loading, b.degraded, b.local, limit/2)
	}
	if failed, answered := n.told(); failed == 0 || answered == 0 {
		t.Errorf("told %d times that it fails and %d times that it answers", failed, answered)
	}
	t.Logf("recovered %v after it had loaded", took.Round(time.Millisecond))
	exact(t, n)
}

// TestConnectionLimit: others have all connections that Redis has to give.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxclients", "8")
	var others []net.Conn
	release := func() {
		for _, c := range others {
			c.Close()
		}
		others = nil
	}
	defer release()
	for range 8 {
		eventually(t, 10*time.Second, func() error { // until the one that saw it start is gone
			c, err := net.Dial("tcp", server.Addr)
			if err != nil {
				return err
			}
			if _, err := c.Write([]byte("PING\r\n")); err != nil {
				c.Close()
				return err
			}
			var answer [7]byte
			if _, err := io.ReadFull(c, answer[:]); err != nil || string(answer[:]) != "+PONG\r\n" {
				c.Close()
				return fmt.Errorf("%q: %w", answer, errors.Join(err, errors.New("no connection")))
			}
			others = append(others, c)
			return nil
		})
	}
	store := openAt(t, server.Addr, redisstore.Options{})
	const limit = 60
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.TokenBucket)
	c := &client{TB: t, store: store}
	if _, err := c.try(p, "k", 0); !errors.Is(err, redisstore.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	n := newNode(t, store, 3, failover.Options{})
	a := new(tally)
	for range 2 * limit {
		n.ask(a, p, "k")
	}
	a.check(t, "no connection", n.deadline)
	if a.local != limit/3 || a.degraded != a.asked {
		t.Errorf("%d of %d passed and %d were decided without the store, want the share of %d", a.local, a.asked, a.degraded, limit/3)
	}
	release()
	t.Logf("recovered after %v", n.recovers(20*time.Second).Round(time.Millisecond))
	exact(t, n)
}

// TestWrongPassword: the rules decide, and as soon as the password is right the
// store does.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "limiter", "on", ">right", "~*", "+@all")
	store := openAt(t, server.Addr, redisstore.Options{Username: "limiter", Password: "wrong"})
	n := newNode(t, store, 2, failover.Options{})
	p := policy(t, "p", "10 per 24h", algo.TokenBucket)
	a := new(tally)
	for range 20 {
		n.ask(a, p, "k")
	}
	a.check(t, "wrong password", n.deadline)
	if a.local != 5 || a.degraded != 20 {
		t.Errorf("%d of 20 passed, %d decided without the store, want 5 and all", a.local, a.degraded)
	}
	server.Do("ACL", "SETUSER", "limiter", ">wrong")
	t.Logf("recovered after %v", n.recovers(20*time.Second).Round(time.Millisecond))
	exact(t, n)
}

// TestEvictedBuckets: a Redis that throws keys away to make room forgets what was
// used, and answers. Each time that a bucket is thrown away it can be used again.
func TestEvictedBuckets(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory", "2mb", "--maxmemory-policy", "allkeys-lru")
	n := newNode(t, openAt(t, server.Addr, redisstore.Options{}), 1, failover.Options{Deadline: 5 * time.Second})
	p, other := policy(t, "p", "2 per 24h", algo.FixedWindow), policy(t, "other", "5 per 24h", algo.FixedWindow)
	a, b := new(tally), new(tally)
	forgotten := -1 // the first time it is not there either
	for i := range 30_000 {
		n.ask(b, other, strconv.Itoa(i))
		if i%5000 == 0 && n.ask(a, p, "k").Remaining == 1 {
			forgotten++
		}
	}
	evicted, _ := strconv.Atoi(server.Info("stats")["evicted_keys"])
	if evicted == 0 {
		t.Fatal("nothing was evicted")
	}
	a.check(t, "evicted", n.deadline)
	t.Logf("%d keys were evicted", evicted)
	a.most(t, 2*(1+forgotten), "the limit, and once more for each of the "+strconv.Itoa(forgotten)+" times that the bucket was evicted")
	if b.passed != b.asked || b.degraded+a.degraded != 0 {
		t.Errorf("of %d new clients %d passed, %d were decided without the store", b.asked, b.passed, b.degraded+a.degraded)
	}
}
