package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// clusterClamped: a refund, or a reset, in a request that another slot refuses gives
// nothing and takes nothing.
func clusterClamped(t *testing.T, cluster *redistest.Cluster) {
	for _, clock := range []bool{false, true} {
		store := openCluster(t, cluster, redisstore.Options{ClientClock: clock})
		now := stint.Micros(0)
		if clock {
			now = storetest.Start
		}
		for i, a := range every {
			for j, cost := range []int64{-1, -5, -stint.MaxUnits} {
				for used := range int64(4) {
					name := fmt.Sprintf("%t %d %d %d", clock, i, j, used)
					given, spent := policy(t, "given "+name, "3 per 1h", a), policy(t, "spent "+name, "1 per 1h", algo.FixedWindow)
					c := &client{TB: t, store: store, now: now}
					if capacity := given.Capacity(); used > capacity {
						continue
					}
					c.ask(spent, "other", 1)
					c.ask(given, "key", used)
					charges := []stint.Charge{
						{Policy: given, Key: []byte("key"), Ask: stint.Ask{Cost: cost}},
						{Policy: spent, Key: []byte("other"), Ask: stint.Ask{Cost: 1}},
					}
					var v [2]stint.Verdict
					if _, err := store.Take(t.Context(), now, charges, v[:]); err != nil {
						t.Fatal(err)
					}
					left := given.Capacity() - used
					if !v[0].OK || v[1].OK || v[0].Remaining != left {
						t.Errorf("%s: %+v, want a refusal and %d left", name, v, left)
					}
					if v := c.ask(given, "key", 0); v.Remaining != left {
						t.Errorf("%s, refund of %d with %d used: %d remain after the refusal, want %d", a.Name(), -cost, used, v.Remaining, left)
					}
				}
			}
		}
	}
}

// clusterRandom: requests over several slots with refunds, resets, forced and shadow
// charges are settled as in one slot.
func clusterRandom(t *testing.T, cluster *redistest.Cluster) {
	rounds := 30
	if n, err := strconv.Atoi(os.Getenv("STINT_TWINS")); err == nil {
		rounds = max(rounds, n/100)
	}
	store := openCluster(t, cluster, redisstore.Options{ClientClock: true})
	seed := storetest.Seed()
	x := rand.New(rand.NewPCG(seed, 8))
	for round := range rounds {
		flush(cluster)
		reference := storetest.NewReference()
		var rules []*stint.Policy
		for i := range 1 + x.IntN(6) {
			a := every[x.IntN(len(every))]
			limit := strconv.Itoa(1+x.IntN(20)) + " per " + strconv.Itoa(1+x.IntN(20)) + "s"
			rules = append(rules, policy(t, "random/"+strconv.Itoa(round)+"/"+strconv.Itoa(i), limit, a))
		}
		now := storetest.Start
		for step := range 100 {
			now += stint.Micros(x.Int64N(1_000_000))
			charges := make([]stint.Charge, 1+x.IntN(6))
			for i := range charges {
				charges[i] = stint.Charge{
					Policy: rules[x.IntN(len(rules))], Key: []byte{'k', byte('0' + x.IntN(3))},
					Ask: stint.Ask{Cost: anyCost(x), Forced: x.IntN(12) == 0}, Shadow: x.IntN(5) == 0,
				}
			}
			want, got := make([]stint.Verdict, len(charges)), make([]stint.Verdict, len(charges))
			if _, err := reference.Take(t.Context(), now, charges, want); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Take(t.Context(), now, charges, got); err != nil {
				t.Fatal(err)
			}
			for i := range charges {
				if _, isList := charges[i].Policy.Algorithm.(stint.ListAlgorithm); isList && charges[i].Shadow {
					got[i].RetryAfter, want[i].RetryAfter = 0, 0 // see readBefore
				}
				if got[i] != want[i] {
					t.Fatalf("seed %d, round %d, step %d, charge %d of %d: %s %v, %+v\ngot  %+v\nwant %+v\nof %v", seed, round, step, i,
						len(charges), charges[i].Policy.Algorithm.Name(), charges[i].Policy.Limit, charges[i], got[i], want[i], charges)
				}
			}
		}
	}
}

func anyCost(x *rand.Rand) int64 {
	switch x.IntN(10) {
	case 0:
		return -stint.MaxUnits
	case 1, 2:
		return -1 - x.Int64N(12)
	case 3:
		return 1 + x.Int64N(12)
	default:
		return x.Int64N(4)
	}
}

// clusterNodeFails: a node does not answer. A request over its slots and others takes
// nothing from the others, and gives them nothing.
func clusterNodeFails(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster, redisstore.Options{ReadTimeout: 300 * time.Millisecond})
	bounded := store.Within(200 * time.Millisecond)
	c := &client{TB: t, store: store}
	// Keys of the first and of the last node.
	keys := map[int]string{}
	for i := 0; len(keys) < 3; i++ {
		key := "node " + strconv.Itoa(i)
		slot, err := strconv.Atoi(cluster.Masters[0].Do("CLUSTER", "KEYSLOT", "{"+key+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := keys[slot*3/(1<<14)]; !ok {
			keys[slot*3/(1<<14)] = key
		}
	}
	for i, a := range every {
		name := "fails " + strconv.Itoa(i)
		given, taken, away := policy(t, "g"+name, "4 per 1h", a), policy(t, "t"+name, "4 per 1h", a), policy(t, "a"+name, "4 per 1h", a)
		c.ask(given, keys[0], 1)
		c.ask(taken, keys[1], 1)
		c.ask(away, keys[2], 1)
		g, w := given.Capacity()-1, taken.Capacity()-1
		for _, cost := range []int64{1, -1, -stint.MaxUnits} {
			charges := []stint.Charge{
				{Policy: given, Key: []byte(keys[0]), Ask: stint.Ask{Cost: -3}},
				{Policy: taken, Key: []byte(keys[1]), Ask: stint.Ask{Cost: 2}},
				{Policy: away, Key: []byte(keys[2]), Ask: stint.Ask{Cost: cost}},
			}
			if cost < 0 {
				charges = charges[1:] // What else is only given to may have been given.
			}
			cluster.Masters[2].Pause()
			v := make([]stint.Verdict, len(charges))
			_, err := bounded.Take(t.Context(), 0, charges, v)
			cluster.Masters[2].Resume()
			if err == nil {
				t.Errorf("%s, cost %d: no error from a node that stands still", a.Name(), cost)
			}
			eventually(t, 10*time.Second, func() error {
				_, err := c.try(away, keys[2], 0)
				return err
			})
			if left := c.ask(given, keys[0], 0).Remaining; left != g {
				t.Errorf("%s, cost %d: %d remain of what was to be given, want %d", a.Name(), cost, left, g)
			}
			if left := c.ask(taken, keys[1], 0).Remaining; left != w {
				t.Errorf("%s, cost %d: %d remain of what was taken, want %d", a.Name(), cost, left, w)
			}
			if left := c.ask(away, keys[2], 0).Remaining; left < away.Capacity()-2 {
				t.Errorf("%s, cost %d: %d remain on the node that stood still", a.Name(), cost, left)
			}
		}
	}
}

// clusterUndone: many requests at once over several slots, of which some are refused.
// No bucket holds more than those that passed have charged, and none less than that
// without what they gave back.
func clusterUndone(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster, redisstore.Options{})
	c := &client{TB: t, store: store}
	for i, a := range every {
		var rules []*stint.Policy
		for j, limit := range []string{"30 per 24h", "20 per 24h", "3 per 24h"} {
			if _, ok := a.(algo.LeakyQueue); ok {
				limit += ", burst 3"
			}
			rules = append(rules, policy(t, fmt.Sprintf("undone %d %d", i, j), limit, a))
		}
		var taken, given [3]atomic.Int64
		var wg sync.WaitGroup
		for worker := range 8 {
			x := rand.New(rand.NewPCG(storetest.Seed(), uint64(worker)))
			wg.Go(func() {
				for range 40 {
					var charges []stint.Charge
					var places []int
					for range 1 + x.IntN(4) {
						j := x.IntN(3)
						cost := 1 + x.Int64N(3)
						if x.IntN(3) == 0 {
							cost = -cost
						}
						places = append(places, j)
						charges = append(charges, stint.Charge{Policy: rules[j], Key: []byte{'u', byte('0' + j)}, Ask: stint.Ask{Cost: cost}})
					}
					v := make([]stint.Verdict, len(charges))
					if _, err := store.Take(context.Background(), 0, charges, v); err != nil {
						t.Error(err)
						return
					}
					for k := range v {
						if !v[k].OK {
							charges = nil
						}
					}
					for k := range charges {
						if cost := charges[k].Cost; cost > 0 {
							taken[places[k]].Add(cost)
						} else {
							given[places[k]].Add(-cost)
						}
					}
				}
			})
		}
		wg.Wait()
		for j, p := range rules {
			least := max(0, p.Capacity()-taken[j].Load())
			most := min(p.Capacity(), p.Capacity()-taken[j].Load()+given[j].Load())
			eventually(t, 2*time.Second, func() error {
				if left := c.ask(p, "u"+strconv.Itoa(j), 0).Remaining; left < least || left > most {
					return fmt.Errorf("%s: %d remain of %v, want %d to %d", a.Name(), left, p.Limit, least, most)
				}
				return nil
			})
		}
	}
}
