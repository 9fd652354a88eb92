package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestForeignValues: a key that holds something else is an error, and nothing of
// the request is written; other requests do not suffer.
func TestForeignValues(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	for _, a := range every {
		server.Do("FLUSHALL")
		p := policy(t, a.Name(), "5 per 60s", a)
		other := policy(t, "other", "5 per 60s", algo.FixedWindow)
		c.allows(1, p, "k")
		key := server.Keys(0)[0]
		value := server.Do("GET", key)
		for _, foreign := range [][]string{
			{"SET", key, ""},
			{"SET", key, "12"},
			{"SET", key, value + "x"},
			{"SET", key, value[:len(value)-1]},
			{"SET", key, "x" + value[1:]},
			{"SET", key, "\x4c" + value[1:]},
			{"SET", key, "\xff"},
			{"SET", key, strings.Repeat("A", 1000)},
			{"RPUSH", key, "a"},
			{"HSET", key, "a", "b"},
		} {
			server.Do("DEL", key)
			server.Do(foreign...)
			before := server.Do("DUMP", key)
			charges := []stint.Charge{
				{Policy: other, Key: []byte("k"), Ask: stint.Ask{Cost: 1}},
				{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}},
			}
			var verdicts [2]stint.Verdict
			_, err := c.store.Take(context.Background(), 0, charges, verdicts[:])
			if !errors.Is(err, redisstore.ErrForeign) || !strings.Contains(err.Error(), p.Name) {
				t.Errorf("%s: %q: error %v, want that the key holds something else", p.Name, foreign, err)
			}
			if _, err := c.try(p, "k", 1); !errors.Is(err, redisstore.ErrForeign) {
				t.Errorf("%s: %q: error %v, want that the key holds something else", p.Name, foreign, err)
			}
			if server.Do("DUMP", key) != before {
				t.Errorf("%s: %q is not as it was", p.Name, foreign)
			}
		}
		if v := c.ask(other, "k", 0); v.Remaining != 5 {
			t.Errorf("%s: %d left, want 5: nothing was charged", p.Name, v.Remaining)
		}
	}
}

// TestOneForeignValueAmongMany: what leaves in one call does not fail together.
func TestOneForeignValueAmongMany(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	p := policy(t, "p", "100000 per 60s", algo.TokenBucket)
	c.allows(1, p, "bad")
	server.Do("SET", server.Keys(0)[0], "foreign")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for range 50 {
				key := "good"
				if i == 0 {
					key = "bad"
				}
				if _, err := c.try(p, key, 1); (err != nil) != (key == "bad") {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestScriptsFlushedUnderLoad loses nothing and counts nothing twice.
func TestScriptsFlushedUnderLoad(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	p := policy(t, "p", "1000 per 24h", algo.FixedWindow)
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 250 {
				v, err := c.try(p, "k", 1)
				if err != nil {
					t.Error(err)
				}
				if v.OK {
					passed.Add(1)
				}
			}
		})
	}
	for range 20 {
		server.Do("SCRIPT", "FLUSH")
	}
	wg.Wait()
	if passed.Load() != 1000 {
		t.Errorf("%d of 2000 passed, want 1000", passed.Load())
	}
}

// TestACallerThatGoesDisturbsNobody, is not counted if it had not left yet, and
// once if it had.
func TestACallerThatGoesDisturbsNobody(t *testing.T) {
	server := redistest.Start(t)
	c := &client{TB: t, store: open(t, server, redisstore.Options{ReadTimeout: 10 * time.Second})}
	p := policy(t, "p", "100 per 1h", algo.TokenBucket)
	c.allows(1, p, "k")
	server.Pause()
	var wg sync.WaitGroup
	go_ := func(timeout time.Duration, want error) {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			start := time.Now()
			charges := []stint.Charge{{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}}}
			var v [1]stint.Verdict
			_, err := c.store.Take(ctx, 0, charges, v[:])
			if !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
			if want != nil && time.Since(start) > timeout+slack {
				t.Errorf("waited %v, want %v", time.Since(start), timeout)
			}
		})
	}
	go_(20*time.Millisecond, context.DeadlineExceeded) // leaves at once
	time.Sleep(10 * time.Millisecond)
	for range 50 {
		go_(30*time.Millisecond, context.DeadlineExceeded) // wait, and go
	}
	go_(time.Minute, nil) // waits
	time.Sleep(100 * time.Millisecond)
	server.Resume()
	wg.Wait()
	if v := c.ask(p, "k", 0); v.Remaining != 97 {
		t.Errorf("%d left, want 97: the first, the one that had left, and the one that waited", v.Remaining)
	}
}

// TestTooManyWait: the queue is bounded, and those that have gone make room.
func TestTooManyWait(t *testing.T) {
	server := redistest.Start(t)
	c := &client{TB: t, store: open(t, server, redisstore.Options{ReadTimeout: 10 * time.Second, MaxWaiting: 5})}
	p := policy(t, "p", "100 per 1h", algo.TokenBucket)
	c.allows(1, p, "k")
	server.Pause()
	defer server.Resume()
	count := func(n int, d time.Duration) (overloaded int) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range n {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), d)
				defer cancel()
				var v [1]stint.Verdict
				_, err := c.store.Take(ctx, 0, []stint.Charge{{Policy: p, Ask: stint.Ask{Cost: 1}}}, v[:])
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, redisstore.ErrUnavailable) {
					overloaded++
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return overloaded
	}
	count(1, 10*time.Millisecond) // is under way
	if n := count(8, 200*time.Millisecond); n != 3 {
		t.Errorf("%d of 8 were too many, want 3", n)
	}
	if n := count(5, 10*time.Millisecond); n != 0 {
		t.Errorf("%d of 5 were too many after the others had gone", n)
	}
}

// eventually calls try until it succeeds.
func eventually(t *testing.T, within time.Duration, try func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("still %v after %v", err, within)
}

// TestAServerThatIsNotThere is an error that says so, from the start and later,
// until it is there.
func TestAServerThatIsNotThere(t *testing.T) {
	server := redistest.Start(t)
	server.Stop()
	c := real(t, server)
	p := policy(t, "p", "100 per 1h", algo.TokenBucket)
	down := func() {
		t.Helper()
		for range 20 {
			start := time.Now()
			if _, err := c.try(p, "k", 1); !errors.Is(err, redisstore.ErrUnavailable) {
				t.Errorf("error %v, want ErrUnavailable", err)
			}
			if d := time.Since(start); d > 200*time.Millisecond {
				t.Errorf("a refused connection took %v", d)
			}
		}
	}
	up := func() {
		t.Helper()
		eventually(t, 2*time.Second, func() error {
			_, err := c.try(p, "k", 1)
			return err
		})
	}
	down()
	server.Restart()
	up()
	server.Kill()
	down()
	server.Restart()
	up()
}

// TestRefusalsOfRedis are failures of the store, and nothing is written.
func TestRefusalsOfRedis(t *testing.T) {
	server := redistest.Start(t)
	master := redistest.Start(t)
	c := real(t, server)
	p := policy(t, "p", "100 per 1h", algo.TokenBucket)
	c.allows(1, p, "k")
	for _, fault := range []struct {
		name, want string
		begin, end []string
	}{
		{"no memory", "OOM", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
		{"a replica", "READONLY", []string{"REPLICAOF", "127.0.0.1", master.Port()}, []string{"REPLICAOF", "NO", "ONE"}},
	} {
		server.Do(fault.begin...)
		_, err := c.try(p, "new "+fault.name, 1)
		if !errors.Is(err, redisstore.ErrUnavailable) || !strings.Contains(err.Error(), fault.want) {
			t.Errorf("%s: error %v, want one that says %s", fault.name, err, fault.want)
		}
		server.Do(fault.end...)
		eventually(t, 2*time.Second, func() error {
			_, err := c.try(p, "new "+fault.name, 1)
			return err
		})
	}
}

// TestErrorsShowNoSecret: a wrong password is not shown.
func TestErrorsShowNoSecret(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "right")
	o, err := redisstore.ParseURL("redis://:hunter2@" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{TB: t, store: open(t, server, o)}
	_, err = c.try(policy(t, "p", "1 per 1s", algo.TokenBucket), "k", 1)
	if !errors.Is(err, redisstore.ErrUnavailable) || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want WRONGPASS and no secret", err)
	}
}

// TestC049EveryKeyHasAnExpiry, also when connections break at any moment.
func TestC049EveryKeyHasAnExpiry(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	store, err := redisstore.New(redisstore.Options{Addrs: []string{proxy.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var rules []*stint.Policy
	for _, a := range every {
		rules = append(rules, policy(t, a.Name(), "50 per 60s", a))
	}
	stop := make(chan struct{})
	var cutter, wg sync.WaitGroup
	cutter.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(7 * time.Millisecond):
				proxy.Cut()
			}
		}
	})
	var failed atomic.Int64
	for i := range 50 {
		wg.Go(func() {
			c := &client{TB: t, store: store}
			for j := range 1000 {
				if _, err := c.try(rules[(i+j)%len(rules)], strconv.Itoa(j%40), 1); err != nil {
					failed.Add(1)
					if !errors.Is(err, redisstore.ErrUnavailable) {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	cutter.Wait()
	if n := failed.Load(); n == 0 || n == 50_000 {
		t.Errorf("%d of 50000 failed: the proxy should have cut some", n)
	}
	for _, key := range server.Keys(0) {
		if ttl := pttl(t, server, key); ttl < 0 {
			t.Errorf("%q: PTTL %d", key, ttl)
		}
	}
}

// TestOneCommandForARequest, whatever the number of its rules.
func TestOneCommandForARequest(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	var charges []stint.Charge
	for _, a := range every {
		charges = append(charges, stint.Charge{Policy: policy(t, a.Name(), "1000 per 60s", a), Key: []byte("k"), Ask: stint.Ask{Cost: 1}})
	}
	charges[0].Shadow = true
	verdicts := make([]stint.Verdict, len(charges))
	take := func() {
		if _, err := c.store.Take(context.Background(), 0, charges, verdicts); err != nil {
			t.Fatal(err)
		}
	}
	take()
	server.Do("CONFIG", "RESETSTAT")
	for range 100 {
		take()
	}
	if n := server.Calls("evalsha"); n != 100 {
		t.Errorf("%d calls of EVALSHA for 100 requests", n)
	}
	if n := server.Calls("eval") + server.Calls("script"); n != 0 {
		t.Errorf("%d other calls", n)
	}
}

// TestRefusedChargesWriteNothing, and looks neither.
func TestRefusedChargesWriteNothing(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	for _, a := range algo.All {
		p := policy(t, a.Name(), "2 per 1h", a)
		c.allows(2, p, "k")
		server.Do("CONFIG", "RESETSTAT")
		c.refuses(10, p, "k")
		c.ask(p, "k", 0)
		c.ask(p, "never seen", 0)
		if n := server.Calls("set") + server.Calls("del") + server.Calls("pexpire"); n != 0 {
			t.Errorf("%s: %d writes", a.Name(), n)
		}
	}
}

// TestAHungServer: callers wait as long as they like and no longer, and soon after
// it goes on the store does too.
func TestAHungServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const timeout = 2 * time.Second // of the connection, which nobody may wait for
	c := &client{TB: t, store: open(t, server, redisstore.Options{ReadTimeout: timeout})}
	p := policy(t, "p", "10000 per 1h", algo.FixedWindow)
	c.allows(1, p, "k")
	take := func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		var v [1]stint.Verdict
		_, err := c.store.Take(ctx, 0, []stint.Charge{{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}}}, v[:])
		return err
	}
	server.Pause()
	var waits []time.Duration
	for start := time.Now(); time.Since(start) < 2*timeout+timeout/2; {
		asked := time.Now()
		if take(5*time.Millisecond) == nil {
			t.Fatal("a hung server answers")
		}
		waits = append(waits, time.Since(asked))
	}
	slices.Sort(waits)
	longest, p90 := waits[len(waits)-1], waits[len(waits)*9/10]
	if longest > timeout*3/4 || p90 > 5*time.Millisecond+usual {
		t.Errorf("of callers with 5ms nine in ten waited up to %v, and one %v", p90, longest)
	}
	server.Resume()
	eventually(t, 10*time.Second, func() error { return take(100 * time.Millisecond) })
	// A call for each time that the connection was given up, of at most a batch.
	left := c.ask(p, "k", 0).Remaining
	if left > 9998 || left < 10_000-2-100-10*redisstore.DefaultMaxBatch {
		t.Errorf("%d left", left)
	}
}
