package redisstore_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// longLog is a game on one long log: its ring grows, wraps around and shrinks, charges
// are taken off its end, and the clock is set back.
type longLog struct {
	*rand.Rand
	policies []*stint.Policy
	key      string
	now      stint.Micros
	giants   int // one charge in so many is of as many units as can be counted
}

// request makes up the next request.
func (l *longLog) request() []stint.Charge {
	p := l.policies[0]
	if l.IntN(50) == 0 {
		p = l.policies[l.IntN(len(l.policies))]
	}
	window := int64(p.Limit.Window / time.Microsecond)
	switch n := l.IntN(400); {
	case n < 300:
		l.now += stint.Micros(l.Int64N(3 * window / p.Limit.Count))
	case n < 310:
		l.now -= stint.Micros(l.Int64N(window / 50))
	case n < 311:
		l.now -= stint.Micros(window + l.Int64N(window/2))
	case n < 313:
		l.now += stint.Micros(l.Int64N(window * 3 / 2))
	}
	charges := make([]stint.Charge, 1+l.IntN(3)*l.IntN(2))
	for i := range charges {
		c := &charges[i]
		c.Policy, c.Key, c.Cost = p, []byte(l.key), 1
		switch n := l.IntN(100); {
		case n < 4:
			c.Cost = 0
		case n < 8:
			c.Cost = 1 + l.Int64N(p.Limit.Count/4)
		case n < 10:
			c.Cost = -1 - l.Int64N(p.Limit.Count/8)
		case n < 11:
			c.Cost, c.Forced = 1+l.Int64N(p.Limit.Count), true
		case n < 12:
			c.Shadow = true
		}
		if l.IntN(l.giants) == 0 {
			c.Cost, c.Forced = []int64{-stint.MaxUnits, stint.MaxUnits - l.Int64N(20)}[l.IntN(2)], true
		}
	}
	return charges
}

// TestTwinOfTheReferenceOnLongLogs: a log in Redis, of which each charge reads and
// writes a few bytes, is the list of the reference.
func TestTwinOfTheReferenceOnLongLogs(t *testing.T) {
	t.Parallel()
	redis := open(t, redistest.Start(t), redisstore.Options{ClientClock: true})
	seed := storetest.Seed()
	for game := range 5 {
		reference := storetest.NewReference()
		l := &longLog{Rand: rand.New(rand.NewPCG(seed, uint64(game))), key: strconv.Itoa(game), now: storetest.Start, giants: 5000}
		if game == 3 {
			l.giants = 50 // sums wrap around
		}
		for _, limit := range []string{"100 per 1s", "700 per 10s", "1500 per 60s"} {
			l.policies = append(l.policies, policy(t, "log "+strconv.Itoa(game), limit, algo.SlidingWindowLog))
		}
		l.policies[0], l.policies[game%3] = l.policies[game%3], l.policies[0]
		for step := range twins(t) / 20 {
			charges := l.request()
			want, got := make([]stint.Verdict, len(charges)), make([]stint.Verdict, len(charges))
			if _, err := reference.Take(t.Context(), l.now, charges, want); err != nil {
				t.Fatal(err)
			}
			if _, err := redis.Take(t.Context(), l.now, charges, got); err != nil {
				t.Fatalf("seed %d, game %d, step %d: %v", seed, game, step, err)
			}
			for i := range charges {
				if got[i] != want[i] {
					t.Fatalf("seed %d, game %d, step %d at %d, charge %d of %d: %+v\ngot  %+v\nwant %+v",
						seed, game, step, l.now, i, len(charges), charges[i].Ask, got[i], want[i])
				}
			}
		}
	}
}

// TestALongLogIsReadInParts: what an ask of a log moves does not grow with the log. The
// whole is written only now and then, when its ring is full.
func TestALongLogIsReadInParts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := scripted(t, server)
	p := policy(t, "p", "10000 per 3600s", algo.SlidingWindowLog)
	commands := func(n int) (calls map[string]int) {
		server.Do("CONFIG", "RESETSTAT")
		for range n {
			if v := c.ask(p, "k", 1); !v.OK {
				t.Fatalf("refused: %+v", v)
			}
			c.after(350 * time.Millisecond)
		}
		calls = make(map[string]int)
		for _, name := range []string{"get", "mget", "getrange", "set", "setrange"} {
			calls[name] = server.Calls(name)
		}
		return calls
	}
	short := commands(100)
	for range 4500 {
		c.ask(p, "k", 1)
		c.after(350 * time.Millisecond)
	}
	long := commands(100)
	if long["get"]+long["mget"] > 0 || long["set"] > 1 || short["set"] > 10 {
		t.Errorf("the whole log is read or written: %v of a short one, %v of a long one", short, long)
	}
	if long["getrange"] > 3*100 || long["setrange"] > 2*100 {
		t.Errorf("more than a few commands for an ask: %v", long)
	}
}

// TestALogThatWasCutShort is wrong only for those who ask about it.
func TestALogThatWasCutShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := scripted(t, server)
	p := policy(t, "log", "1000 per 60s", algo.SlidingWindowLog)
	for range 500 {
		c.after(10 * time.Millisecond)
		c.allows(1, p, "k")
	}
	key := server.Keys(0)[0]
	value := server.Do("GET", key)
	for _, n := range []int{0, 1, 53, 54, 200, 255, 256, 300, 2000, len(value) - 1} {
		server.Do("SET", key, value[:n])
		for _, wait := range []time.Duration{0, 0, 50 * time.Second, 0, 0, 7 * time.Second, 0} {
			c.after(wait)
			if _, err := c.try(p, "k", 1); err != nil && !errors.Is(err, redisstore.ErrForeign) {
				t.Errorf("%d bytes of %d: %v", n, len(value), err)
			}
		}
		c.after(-57 * time.Second)
	}
}

// TestADamagedLogIsNoFailureOfRedis: whatever stands in the head of a log, asks of it
// end, and no error of it says that Redis is unavailable.
func TestADamagedLogIsNoFailureOfRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := &client{TB: t, store: open(t, server, redisstore.Options{})}
	p := policy(t, "log", "100 per 1m", algo.SlidingWindowLog)
	r := rand.New(rand.NewPCG(storetest.Seed(), 5))
	for range 200 {
		for range 5 {
			if _, err := c.try(p, "k", 1); errors.Is(err, redisstore.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		key := server.Keys(0)[0]
		server.Do("SETRANGE", key, strconv.Itoa(6+r.IntN(50)), strings.Repeat(string(rune(r.IntN(128))), 1+r.IntN(7)))
		for _, cost := range []int64{-1, 1, 0, -200, 3} {
			if _, err := c.try(p, "k", cost); errors.Is(err, redisstore.ErrUnavailable) {
				t.Fatalf("cost %d: %v", cost, err)
			}
		}
		server.Do("DEL", key)
	}
}
