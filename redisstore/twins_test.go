package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// twins is how many random requests are sent to Redis and to memory; some have
// many charges. STINT_TWINS overrides it, for longer searches.
func twins(t *testing.T) int {
	text := os.Getenv("STINT_TWINS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTwinOfMemory: the script and memory answer alike, whatever is asked.
func TestTwinOfMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	server := redistest.Start(t)
	memory, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	redis := open(t, server, redisstore.Options{ClientClock: true})
	if err := (storetest.Pair{A: memory, B: redis, Seed: storetest.Seed()}).Differ(twins(t)); err != nil {
		t.Fatal(err)
	}
}

// TestTwinOfTheReference is the same against the store that is obviously right.
func TestTwinOfTheReference(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	redis := open(t, server, redisstore.Options{ClientClock: true})
	storetest.Twins(t, storetest.NewReference(), redis, twins(t)/4)
}

// extremes draws limits up to the edge of what compiles.
type extremes struct{ *rand.Rand }

// number is of any size up to 2^52.
func (x extremes) number() int64 { return 1 + x.Int64N(1<<x.IntN(53)) }

func (x extremes) limit() stint.Limit {
	l := stint.Limit{Count: x.number(), Window: time.Duration(min(x.number(), 25_000*24*3_600_000_000)) * time.Microsecond}
	if x.IntN(3) == 0 {
		l.Burst = x.number()
	}
	return l
}

func (x extremes) algorithm() stint.Algorithm {
	if a := x.IntN(len(algo.All) + 1); a < len(algo.All) {
		return algo.All[a]
	}
	return algo.LeakyQueue{MaxWaiting: x.number(), MaxWait: time.Duration(x.IntN(3)) * time.Duration(x.number()%1e15)}
}

// policy makes one with any limit that the algorithm takes.
func (x extremes) policy(name string, a stint.Algorithm) *stint.Policy {
	for {
		if p, err := stint.NewPolicy(name, x.limit(), a); err == nil {
			return p
		}
	}
}

func (x extremes) cost(p *stint.Policy) int64 {
	switch x.IntN(8) {
	case 0:
		return 0
	case 1:
		return -x.number()
	case 2:
		return x.number()
	case 3:
		return []int64{-1 << 63, 1<<63 - 1, stint.MaxUnits, stint.MaxUnits + 1, -stint.MaxUnits}[x.IntN(5)]
	case 4:
		return p.Capacity()
	default:
		return 1 + x.Int64N(p.Capacity())
	}
}

// TestTwinOfTheReferenceAtTheEdge asks under limits, costs and steps of time of
// any size, of which up to three take turns.
func TestTwinOfTheReferenceAtTheEdge(t *testing.T) {
	t.Parallel()
	redis := open(t, redistest.Start(t), redisstore.Options{ClientClock: true})
	seed := storetest.Seed()
	x := extremes{rand.New(rand.NewPCG(seed, 1))}
	for i := range twins(t) / 200 {
		name := "p" + strconv.Itoa(i)
		a := x.algorithm()
		policies := []*stint.Policy{x.policy(name, a)}
		for range x.IntN(3) {
			policies = append(policies, x.policy(name, a))
		}
		if err := x.game(t, redis, policies); err != nil {
			t.Fatalf("seed %d, turn %d: %v", seed, i, err)
		}
	}
}

// TestTwinOfTheReferenceInTurn asks one bucket under several limits and algorithms.
// The two buckets, which Redis keeps alike, do not take turns with each other.
func TestTwinOfTheReferenceInTurn(t *testing.T) {
	t.Parallel()
	redis := open(t, redistest.Start(t), redisstore.Options{ClientClock: true})
	seed := storetest.Seed()
	x := extremes{rand.New(rand.NewPCG(seed, 2))}
	kinds := []stint.Algorithm{
		algo.TokenBucket, algo.FixedWindow, algo.SlidingWindowCounter, algo.SlidingWindowLog,
		algo.LeakyQueue{MaxWaiting: 5},
		algo.LeakyQueue{MaxWait: time.Second},
	}
	for i := range twins(t) / 200 {
		var policies []*stint.Policy
		for range 2 + x.IntN(3) {
			l := stint.Limit{Count: 1 + x.Int64N(20), Window: time.Duration(1+x.Int64N(4)) * time.Second}
			p, err := stint.NewPolicy("p"+strconv.Itoa(i), l, kinds[x.IntN(len(kinds))])
			if err != nil {
				t.Fatal(err)
			}
			policies = append(policies, p)
		}
		if err := x.game(t, redis, policies); err != nil {
			t.Fatalf("seed %d, turn %d: %v", seed, i, err)
		}
	}
}

// game asks one bucket under policies in turn, in Redis and in the reference, and
// returns the first difference.
func (x extremes) game(t *testing.T, redis stint.Store, policies []*stint.Policy) error {
	t.Helper()
	reference, now, p := storetest.NewReference(), storetest.Start, policies[0]
	for step := range 25 {
		now = x.later(now, p)
		charges := make([]stint.Charge, 1+x.IntN(2))
		for j := range charges {
			if x.IntN(4) == 0 {
				p = policies[x.IntN(len(policies))]
			}
			charges[j] = stint.Charge{
				Policy: p, Ask: stint.Ask{Cost: x.cost(p), Forced: x.IntN(6) == 0}, Shadow: x.IntN(6) == 0,
			}
			if x.IntN(4) == 0 {
				charges[j].MaxDelay = time.Duration(x.number() / 4)
			}
		}
		var want, got [2]stint.Verdict
		if _, err := reference.Take(t.Context(), now, charges, want[:len(charges)]); err != nil {
			return err
		}
		_, err := redis.Take(t.Context(), now, charges, got[:len(charges)])
		if err != nil || got != want {
			text := fmt.Sprintf("step %d at %d:", step, now)
			for _, c := range charges {
				text += fmt.Sprintf("\n%s %v %v: %+v, shadow %t", c.Policy.Algorithm.Name(), c.Policy.Limit, c.Policy.Params, c.Ask, c.Shadow)
			}
			return fmt.Errorf("%s\ngot  %+v\nwant %+v, %w", text, got, want, err)
		}
	}
	return nil
}

// later is an instant after now, or rarely before.
func (x extremes) later(now stint.Micros, p *stint.Policy) stint.Micros {
	span := x.Int64N(1 << x.IntN(50))
	switch n := x.IntN(10); {
	case n < 6:
		now += stint.Micros(span % (3 * p.Limit.Window.Microseconds()))
	case n < 7 && int64(now) > span:
		now -= stint.Micros(span)
	}
	return min(now, storetest.Start*2)
}

// TestAnotherAlgorithmCarriesTheUse: a rule whose algorithm changes gives nobody a
// fresh bucket, however often servers that disagree ask in turn.
func TestAnotherAlgorithmCarriesTheUse(t *testing.T) {
	server := redistest.Start(t)
	c := scripted(t, server)
	for _, from := range every {
		for _, to := range every {
			if from.Name() == to.Name() {
				continue
			}
			key := from.Name() + " to " + to.Name()
			limit := map[bool]string{true: "10 per 60s, burst 6", false: "10 per 60s"}
			a := policy(t, "p", limit[from.Name() == "leaky_queue"], from)
			b := policy(t, "p", limit[to.Name() == "leaky_queue"], to)
			c.allows(7, a, key)
			if v := c.ask(b, key, 0); v.Remaining != 3 {
				t.Errorf("%s: %d left, want 3", key, v.Remaining)
			}
			c.allows(1, b, key)
			c.allows(1, a, key)
			if v := c.ask(b, key, 1); !v.OK || v.Remaining != 0 {
				t.Errorf("%s: %+v, want the last", key, v)
			}
			c.refuses(1, a, key)
			c.refuses(1, b, key)
		}
	}
}
