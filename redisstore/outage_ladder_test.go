package redisstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/shield"
)

// ladder is a server whose store has a shield before it.
type ladder struct {
	*node
	shield *shield.Store
}

func newLadder(t *testing.T, addr string, fleet int, maxWait time.Duration) *ladder {
	t.Helper()
	n := newNode(t, openAt(t, addr, redisstore.Options{}), fleet, failover.Options{Deadline: 5 * time.Second, Failures: 1})
	s, err := shield.New(shield.Options{Store: n.failover, MaxWait: maxWait})
	if err != nil {
		t.Fatal(err)
	}
	n.limiter = &stint.Limiter{Store: s}
	return &ladder{n, s}
}

// TestTheWholeLadder: what each step remembers outlives neither what it was told nor
// the time that it promises, whatever becomes of Redis.
func TestTheWholeLadder(t *testing.T) {
	t.Parallel()
	const limit, maxWait = 10, 300 * time.Millisecond
	server := redistest.Start(t)
	all := []*ladder{newLadder(t, server.Addr, 2, maxWait), newLadder(t, server.Addr, 2, maxWait)}
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.TokenBucket)
	for _, l := range all {
		l.recovers(20 * time.Second)
	}
	passes := func(want, degraded int) {
		t.Helper()
		a := new(tally)
		for i := range 4 * limit {
			all[i%2].ask(a, p, "k")
		}
		if a.passed != want || a.degraded != degraded {
			t.Fatalf("%d of %d passed, %d were decided without the store, want %d and %d", a.passed, a.asked, a.degraded, want, degraded)
		}
	}
	passes(limit, 0)
	if n := all[0].shield.Stats(); n.Answered == 0 {
		t.Errorf("%+v: nothing was known", n)
	}

	// Redis forgets: so do the shields, in the time that they promise.
	server.Do("FLUSHALL")
	time.Sleep(maxWait)
	passes(limit, 0)

	// Redis is away: what is known is repeated, and then each server has its share.
	server.Kill()
	time.Sleep(maxWait)
	passes(2*(limit/2), 4*limit)
	passes(0, 4*limit)

	// What was refused without Redis is not known: at once its counts are the truth.
	server.Restart()
	for _, l := range all {
		l.recovers(20 * time.Second)
	}
	passes(limit, 0)

	// Another limit of the same name: what is known is of the old one.
	more := policy(t, "p", strconv.Itoa(limit+4)+" per 24h", algo.TokenBucket)
	a := new(tally)
	for i := range 4 * limit {
		all[i%2].ask(a, more, "k")
	}
	if a.passed != 4 || a.degraded != 0 {
		t.Errorf("%d passed of a limit that grew by 4, %d without the store", a.passed, a.degraded)
	}
}

// TestWhatRedisCanNotBeAsked is an error or the rule's choice, and opens no breaker.
func TestWhatRedisCanNotBeAsked(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := newLadder(t, server.Addr, 1, time.Second)
	l.recovers(20 * time.Second)
	p := policy(t, "p", "100 per 24h", algo.TokenBucket)
	take := func(n, key int) ([]stint.Verdict, error) {
		charges, verdicts := make([]stint.Charge, n), make([]stint.Verdict, n)
		for i := range charges {
			charges[i] = stint.Charge{Policy: p, Key: append(make([]byte, key), byte(i)), Ask: stint.Ask{Cost: 1}}
		}
		_, err := l.limiter.Store.Take(t.Context(), 0, charges, verdicts)
		return verdicts, err
	}
	for range 20 {
		if _, err := take(1, stint.MaxKey); err == nil {
			t.Error("a key that is too long is taken")
		}
		if _, err := take(stint.MaxCharges+1, 1); err == nil {
			t.Error("33 charges are taken")
		}
		if _, err := take(0, 0); err != nil {
			t.Errorf("no charges: %v", err)
		}
	}
	verdicts, err := take(stint.MaxCharges, 1)
	for i, v := range verdicts {
		if err != nil || !v.OK || v.Remaining != 99 {
			t.Errorf("charge %d of 32: %+v, %v", i, v, err)
		}
	}
	if n := l.failover.Stats(); n.Open != 0 {
		t.Errorf("%+v", n)
	}
	if failed, _ := l.told(); failed != 0 {
		t.Error("told that the store fails")
	}
}
