package redisstore_test

import (
	"cmp"
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(workerEnv); addr != "" {
		work(addr)
		return
	}
	// What the client leaves behind for some seconds when a cluster has changed.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// every is every algorithm.
var every = append([]stint.Algorithm{algo.LeakyQueue{MaxWaiting: 4}}, algo.All...)

// open returns a store on a server, with options.
func open(t testing.TB, s *redistest.Server, o redisstore.Options) *redisstore.Store {
	t.Helper()
	o.Addrs = []string{s.Addr}
	store, err := redisstore.New(patient(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// patient are options of a test that is not about how long something takes: on a
// machine that does much else a server may be still for seconds.
func patient(o redisstore.Options) redisstore.Options {
	o.ReadTimeout, o.DialTimeout = cmp.Or(o.ReadTimeout, 20*time.Second), cmp.Or(o.DialTimeout, 20*time.Second)
	return o
}

// policy makes a policy; the limit is a sentence.
func policy(t testing.TB, name, limit string, a stint.Algorithm) *stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// client asks a store, at a time if the clock is the client's.
type client struct {
	testing.TB
	store stint.Store
	now   stint.Micros
}

// ask settles one charge of one bucket.
func (c *client) ask(p *stint.Policy, key string, cost int64) stint.Verdict {
	c.Helper()
	v, err := c.try(p, key, cost)
	if err != nil {
		c.Fatal(err)
	}
	return v
}

func (c *client) try(p *stint.Policy, key string, cost int64) (stint.Verdict, error) {
	charges := []stint.Charge{{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}}
	var v [1]stint.Verdict
	_, err := c.store.Take(context.Background(), c.now, charges, v[:])
	return v[0], err
}

// allows demands that n requests pass, one after the other.
func (c *client) allows(n int, p *stint.Policy, key string) {
	c.Helper()
	for i := range n {
		if v := c.ask(p, key, 1); !v.OK {
			c.Fatalf("request %d of %d is refused: %+v", i+1, n, v)
		}
	}
}

// refuses demands that n requests do not pass.
func (c *client) refuses(n int, p *stint.Policy, key string) (last stint.Verdict) {
	c.Helper()
	for i := range n {
		if last = c.ask(p, key, 1); last.OK {
			c.Fatalf("request %d of %d is allowed: %+v", i+1, n, last)
		}
	}
	return last
}

// after moves the client's clock.
func (c *client) after(d time.Duration) { c.now += stint.Micros(d / time.Microsecond) }

// scripted is a client whose clock the test moves.
func scripted(t *testing.T, s *redistest.Server) *client {
	t.Helper()
	return &client{TB: t, store: open(t, s, redisstore.Options{ClientClock: true}), now: storetest.Start}
}

// real is a client on the clock of Redis.
func real(t *testing.T, s *redistest.Server) *client {
	t.Helper()
	return &client{TB: t, store: open(t, s, redisstore.Options{})}
}

func TestStore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	storetest.Run(t, func(t *testing.T) stint.Store {
		server.Do("FLUSHALL")
		return open(t, server, redisstore.Options{ClientClock: true})
	})
}

func TestOverASocketAndWithAUser(t *testing.T) {
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "limiter", "on", ">hunter2", "~stint:*", "+@all", "-@dangerous", "+info")
	o, err := redisstore.ParseURL("unix://limiter:hunter2@" + server.Socket)
	if err != nil {
		t.Fatal(err)
	}
	store, err := redisstore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := &client{TB: t, store: store}
	p := policy(t, "p", "2 per 60s", algo.TokenBucket)
	c.allows(2, p, "k")
	c.refuses(1, p, "k")
}

func TestSeveralStoresOfOnePolicy(t *testing.T) {
	a, b := real(t, redistest.Start(t)), real(t, redistest.Start(t))
	p := policy(t, "p", "2 per 60s", algo.TokenBucket)
	for _, c := range []*client{a, b, a, b} {
		c.allows(1, p, "k")
	}
	a.refuses(1, p, "k")
	b.refuses(1, p, "k")
}

func TestClosedStore(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	p := policy(t, "p", "2 per 60s", algo.TokenBucket)
	c.allows(1, p, "k")
	c.store.(*redisstore.Store).Close()
	c.store.(*redisstore.Store).Close()
	if _, err := c.try(p, "k", 1); err == nil {
		t.Error("a closed store answers")
	}
}
