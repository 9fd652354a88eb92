package redisstore_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

func TestC016WhatHasLeftIsNotCounted(t *testing.T) {
	c := scripted(t, redistest.Start(t))
	p := policy(t, "p", "5 per 10s", algo.SlidingWindowLog)
	c.allows(5, p, "k")
	c.after(10500 * time.Millisecond)
	if v := c.ask(p, "k", 1); !v.OK || v.Remaining != 4 {
		t.Errorf("%+v, want 4 left", v)
	}
}

func TestC017RequestsOfOneInstantAreEachCounted(t *testing.T) {
	server := redistest.Start(t)
	p := policy(t, "p", "10 per 60s", algo.SlidingWindowLog)
	c := scripted(t, server)
	c.allows(10, p, "frozen")
	c.refuses(90, p, "frozen")
	stores := make([]stint.Store, 20)
	for i := range stores {
		stores[i] = open(t, server, redisstore.Options{})
	}
	if n := crowd(t, stores, 5, p, "real"); n != 10 {
		t.Errorf("%d of 100 passed, want 10", n)
	}
}

// crowd asks from a goroutine for each store, each times, and returns how many
// passed.
func crowd(t *testing.T, stores []stint.Store, times int, p *stint.Policy, key string) int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	passed := 0
	start := make(chan struct{})
	for _, s := range stores {
		wg.Go(func() {
			c := &client{TB: t, store: s}
			<-start
			for range times {
				v, err := c.try(p, key, 1)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if v.OK {
					passed++
				}
				mu.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	return passed
}

func TestC021RefillInsideASecond(t *testing.T) {
	c := scripted(t, redistest.Start(t))
	p := policy(t, "p", "10 per 1s", algo.TokenBucket)
	c.allows(10, p, "k")
	c.after(500 * time.Millisecond)
	c.allows(5, p, "k")
	if v := c.refuses(1, p, "k"); v.RetryAfter != 100*time.Millisecond {
		t.Errorf("a wait of %v, want 100ms", v.RetryAfter)
	}
	c.after(50 * time.Millisecond)
	c.refuses(1, p, "k")
	c.after(100 * time.Millisecond)
	c.allows(1, p, "k")
}

func TestC023PollingDoesNotStopTheRefill(t *testing.T) {
	c := scripted(t, redistest.Start(t))
	p := policy(t, "p", "1 per 1s", algo.TokenBucket)
	for i := range 31 {
		if v := c.ask(p, "k", 1); v.OK != (i%10 == 0) {
			t.Errorf("at %d tenths: %+v", i, v)
		}
		c.after(100 * time.Millisecond)
	}
}

// TestC037ShortLivedBucketsLive: what is worth something for a third of a second
// is not kept for less.
func TestC037ShortLivedBucketsLive(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	for _, limit := range []string{"3 per 1s, burst 1", "1000 per 1s, burst 1"} {
		p := policy(t, limit, limit, algo.TokenBucket)
		passed := 0
		start := time.Now()
		for range 10 {
			if c.ask(p, "k", 1).OK {
				passed++
			}
		}
		most := 1 + int(time.Since(start).Seconds()*float64(p.Limit.Count))
		if passed < 1 || passed > most {
			t.Errorf("%s: %d of 10 passed at once, want at most %d", limit, passed, most)
		}
	}
	for _, key := range server.Keys(0) {
		if ttl := pttl(t, server, key); ttl < 1 {
			t.Errorf("%q is kept for %d ms", key, ttl)
		}
	}
}

func pttl(t *testing.T, s *redistest.Server, key string) int {
	t.Helper()
	n, err := strconv.Atoi(s.Do("PTTL", key))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestC044ClocksOfServersDoNotMatter(t *testing.T) {
	server := redistest.Start(t)
	now := stint.MicrosOf(time.Now())
	a, b := real(t, server), real(t, server)
	a.now, b.now = now, now-10_000_000
	p := policy(t, "p", "2 per 1h, burst 4", algo.TokenBucket)
	a.allows(4, p, "k")
	a.refuses(1, p, "k")
	b.refuses(1, p, "k")
	a.refuses(5, p, "k")
}

// TestC049ABucketWithoutExpiryIsMended by the next charge that is refused or written,
// also beside others in its request or its call.
func TestC049ABucketWithoutExpiryIsMended(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := real(t, server)
	for _, a := range append([]stint.Algorithm{algo.LeakyQueue{MaxWaiting: 4}}, algo.All...) {
		for _, refused := range []bool{false, true} {
			for rules := range 3 {
				server.Do("FLUSHALL")
				p := policy(t, a.Name(), "6 per 3600s", a)
				var charges []stint.Charge
				for i := range 1 + rules {
					charges = append(charges, stint.Charge{Policy: p, Key: []byte(strconv.Itoa(i)), Ask: stint.Ask{Cost: 1}})
				}
				verdicts := make([]stint.Verdict, len(charges))
				for verdicts[0].OK = true; verdicts[0].OK; {
					if _, err := c.store.Take(t.Context(), 0, charges, verdicts); err != nil {
						t.Fatal(err)
					}
					if !refused {
						break
					}
				}
				for _, key := range server.Keys(0) {
					server.Do("PERSIST", key)
				}
				if _, err := c.store.Take(t.Context(), 0, charges, verdicts); err != nil {
					t.Fatal(err)
				}
				for _, key := range server.Keys(0) {
					if ttl := pttl(t, server, key); ttl < 1 || ttl > 2*3_600_000+5001 {
						t.Errorf("%s, %d rules, refused %t: mended for %d ms, want at most two windows and five seconds", a.Name(), 1+rules, refused, ttl)
					}
				}
			}
		}
	}
}

// TestAWorthlessBucketWithoutExpiryIsMended by the next charge.
func TestAWorthlessBucketWithoutExpiryIsMended(t *testing.T) {
	server := redistest.Start(t)
	c := scripted(t, server)
	for _, a := range algo.All {
		server.Do("FLUSHALL")
		p := policy(t, a.Name(), "5 per 3s", a)
		c.allows(5, p, "k")
		key := server.Keys(0)[0]
		server.Do("PERSIST", key)
		c.after(2 * time.Hour)
		c.allows(5, p, "k")
		if ttl := pttl(t, server, key); ttl < 1 {
			t.Errorf("%s: has no expiry", a.Name())
		}
	}
}

func TestC051LifetimesAreShort(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	for _, a := range algo.All {
		p := policy(t, a.Name(), "60 per 60s", a)
		for key := range 100 {
			c.allows(10, p, strconv.Itoa(key))
		}
	}
	all := server.Keys(0)
	if len(all) != 100*len(algo.All) {
		t.Errorf("%d keys", len(all))
	}
	for _, key := range all {
		if ttl := pttl(t, server, key); ttl < 1 || ttl > 125_000 {
			t.Errorf("%q is kept for %d ms, want at most two windows and five seconds", key, ttl)
		}
	}
}

func TestC053TheScriptIsForgotten(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	p := policy(t, "p", "5 per 60s", algo.TokenBucket)
	c.allows(2, p, "k")
	server.Do("SCRIPT", "FLUSH")
	if n := crowd(t, []stint.Store{c.store, c.store, c.store, c.store}, 1, p, "k"); n != 3 {
		t.Errorf("%d of 4 passed after the scripts were flushed, want 3", n)
	}
	server.Restart()
	passed := 0
	for deadline := time.Now().Add(5 * time.Second); passed == 0 && time.Now().Before(deadline); {
		if v, err := c.try(p, "k", 1); err == nil && v.OK {
			passed++
		}
	}
	c.allows(4, p, "k")
	c.refuses(1, p, "k")
}

func TestC055TwoServersCountTogether(t *testing.T) {
	server := redistest.Start(t)
	a, b := real(t, server), real(t, server)
	pa, pb := policy(t, "p", "10 per 60s", algo.FixedWindow), policy(t, "p", "10 per 60s", algo.FixedWindow)
	for i := range 20 {
		c, p := a, pa
		if i%2 == 1 {
			c, p = b, pb
		}
		v := c.ask(p, "k", 1)
		if v.OK != (i < 10) || v.Remaining != max(0, int64(9-i)) {
			t.Errorf("request %d: %+v", i, v)
		}
	}
}

// TestC056OneRuleOneCounter, however many policies are made of it.
func TestC056OneRuleOneCounter(t *testing.T) {
	c := real(t, redistest.Start(t))
	a, b := policy(t, "r", "5 per 60s", algo.TokenBucket), policy(t, "r", "5 per 60s", algo.TokenBucket)
	c.allows(3, a, "ip")
	c.allows(2, b, "ip")
	c.refuses(1, a, "ip")
}

func TestC057EqualNumbersCountApart(t *testing.T) {
	c := real(t, redistest.Start(t))
	x, y := policy(t, "x", "3 per 60s", algo.TokenBucket), policy(t, "y", "3 per 60s", algo.TokenBucket)
	for _, p := range []*stint.Policy{x, y} {
		if v := c.ask(p, "ip", 1); v.Remaining != 2 {
			t.Errorf("%s: %+v", p.Name, v)
		}
	}
	for _, p := range []*stint.Policy{x, y} {
		c.allows(2, p, "ip")
		c.refuses(1, p, "ip")
	}
}

func TestC059DatabasesAreApart(t *testing.T) {
	server := redistest.Start(t)
	var clients []*client
	var rules []*stint.Policy
	for db := 1; db <= 2; db++ {
		clients = append(clients, &client{TB: t, store: open(t, server, redisstore.Options{DB: db})})
		rules = append(rules, policy(t, "r"+strconv.Itoa(db), "100 per 1h", algo.FixedWindow))
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			for range 5 {
				for i, c := range clients {
					if _, err := c.try(rules[i], "k", 1); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for i, c := range clients {
		all := server.Keys(i + 1)
		if len(all) != 1 || !strings.Contains(all[0], rules[i].Name) {
			t.Errorf("database %d has %q", i+1, all)
		}
		if v := c.ask(rules[i], "k", 0); v.Remaining != 75 {
			t.Errorf("database %d: %d left, want 75", i+1, v.Remaining)
		}
	}
	if all := server.Keys(0); len(all) != 0 {
		t.Errorf("database 0 has %q", all)
	}
}

func TestC061TheLastOfTheLimitPasses(t *testing.T) {
	c := scripted(t, redistest.Start(t))
	p := policy(t, "p", "10 per 60s", algo.FixedWindow)
	for i := range int64(10) {
		if v := c.ask(p, "k", 1); !v.OK || v.Remaining != 9-i {
			t.Errorf("request %d: %+v", i, v)
		}
	}
	c.refuses(1, p, "k")
}

// TestC092LongKeys: what rules do not hash is kept as it is, up to the longest key
// of a charge, and never cut.
func TestC092LongKeys(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	p := policy(t, "p", "5 per 60s", algo.TokenBucket)
	long := strings.Repeat("a", stint.MaxKey-1)
	for _, key := range []string{long + "a", long + "b", strings.Repeat("}", stint.MaxKey), "ключ\r\n"} {
		if v := c.ask(p, key, 1); v.Remaining != 4 {
			t.Errorf("%.10q: %+v, want 4 left", key, v)
		}
	}
	for _, key := range server.Keys(0) {
		if len(key) > 2*stint.MaxKey+redisstore.MaxPrefix+stint.MaxName+3 {
			t.Errorf("a key of %d bytes", len(key))
		}
	}
	if _, err := c.try(p, long+"aa", 1); err == nil {
		t.Error("a key that is too long is taken")
	}
}

func TestC136ACrowdOfServers(t *testing.T) {
	server := redistest.Start(t)
	var stores []stint.Store
	for range 4 {
		s := open(t, server, redisstore.Options{})
		for range 50 {
			stores = append(stores, s)
		}
	}
	for _, a := range algo.All {
		p := policy(t, a.Name(), "5 per 1h", a)
		for round := range 20 {
			if n := crowd(t, stores, 1, p, strconv.Itoa(round)); n != 5 {
				t.Errorf("%s, round %d: %d of 200 passed, want 5", a.Name(), round, n)
			}
		}
	}
}
