package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
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

// openCluster returns a store on a cluster.
func openCluster(t *testing.T, c *redistest.Cluster, o redisstore.Options) *redisstore.Store {
	t.Helper()
	o.Addrs, o.Cluster = c.Addrs(), true
	s, err := redisstore.New(patient(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func flush(c *redistest.Cluster) {
	for _, m := range c.Masters {
		m.Do("FLUSHALL")
	}
}

// scattered are keys in many slots.
func scattered(policies []*stint.Policy, i int, costs ...int64) []stint.Charge {
	var all []stint.Charge
	for j, p := range policies {
		c := stint.Charge{Policy: p, Key: []byte("key " + strconv.Itoa(i) + " of rule " + strconv.Itoa(j)), Ask: stint.Ask{Cost: 1}}
		if j < len(costs) {
			c.Cost = costs[j]
		}
		all = append(all, c)
	}
	return all
}

func TestCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers")
	}
	cluster := redistest.StartCluster(t)
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) stint.Store {
			flush(cluster)
			return together{openCluster(t, cluster, redisstore.Options{ClientClock: true})}
		})
	})
	t.Run("twin of the reference over slots", func(t *testing.T) { clusterTwin(t, cluster) })
	t.Run("C052 hostile keys", func(t *testing.T) { clusterKeys(t, cluster) })
	t.Run("a clamped refund that another slot refuses", func(t *testing.T) { clusterClamped(t, cluster) })
	t.Run("all that can be asked over slots", func(t *testing.T) { clusterRandom(t, cluster) })
	t.Run("a node fails in between", func(t *testing.T) { clusterNodeFails(t, cluster) })
	t.Run("what is undone at once", func(t *testing.T) { clusterUndone(t, cluster) })
	t.Run("a refusal in another slot", func(t *testing.T) { clusterRefusal(t, cluster) })
	t.Run("never more than the limits", func(t *testing.T) { clusterCrowd(t, cluster) })
	t.Run("the least user", func(t *testing.T) { clusterUser(t, cluster) })
	t.Run("a slot moves", func(t *testing.T) { clusterMove(t, cluster) })
	t.Run("a master dies", func(t *testing.T) { clusterFailover(t, cluster) })
}

// together is a store on a cluster whose keys share a slot: they have a first part
// in front, as rules make it.
type together struct{ *redisstore.Store }

func (s together) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	charges = slices.Clone(charges)
	for i := range charges {
		if key := charges[i].Key; len(key)+3 <= stint.MaxKey {
			charges[i].Key = append([]byte("\x01\x01a"), key...)
		}
	}
	return s.Store.Take(ctx, now, charges, verdicts)
}

// clusterTwin: requests over several slots are answered as in one, where time goes
// on and nothing is given back.
func clusterTwin(t *testing.T, cluster *redistest.Cluster) {
	flush(cluster)
	store := openCluster(t, cluster, redisstore.Options{ClientClock: true})
	seed := rand.Uint64()
	x := rand.New(rand.NewPCG(seed, 2))
	for round := range 40 {
		reference := storetest.NewReference()
		var rules []*stint.Policy
		for i := range 8 {
			a := every[x.IntN(len(every))]
			limit := strconv.Itoa(1+x.IntN(20)) + " per " + strconv.Itoa(1+x.IntN(20)) + "s"
			rules = append(rules, policy(t, strconv.Itoa(round)+"/"+strconv.Itoa(i), limit, a))
		}
		now := storetest.Start
		for step := range 60 {
			now += stint.Micros(x.Int64N(2_000_000))
			charges := make([]stint.Charge, 1+x.IntN(6))
			for i := range charges {
				charges[i] = stint.Charge{
					Policy: rules[x.IntN(len(rules))], Key: []byte{'k', byte('0' + x.IntN(3))},
					Ask: stint.Ask{Cost: x.Int64N(4)}, Shadow: x.IntN(5) == 0,
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
					got[i].RetryAfter, want[i].RetryAfter = 0, 0 // may count other shadows
				}
				if got[i] != want[i] {
					t.Fatalf("seed %d, round %d, step %d, charge %d of %d: %s %v, %+v\ngot  %+v\nwant %+v", seed, round, step, i,
						len(charges), charges[i].Policy.Algorithm.Name(), charges[i].Policy.Limit, charges[i], got[i], want[i])
				}
			}
		}
	}
}

func clusterKeys(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster, redisstore.Options{})
	c := &client{TB: t, store: store}
	for _, a := range algo.All {
		rules := []*stint.Policy{
			policy(t, "a "+a.Name(), "10 per 1h", a), policy(t, "b "+a.Name(), "50 per 1h", a), policy(t, "c "+a.Name(), "70 per 1h", a),
		}
		for _, key := range []string{"u1", "a}b{c", "{}", "{x}", "", string(make([]byte, 300))} {
			passed := 0
			for range 100 {
				charges := make([]stint.Charge, len(rules))
				for i, p := range rules {
					charges[i] = stint.Charge{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: 1}}
				}
				var v [3]stint.Verdict
				if _, err := store.Take(t.Context(), 0, charges, v[:]); err != nil {
					t.Fatal(err)
				}
				if v[0].OK && v[1].OK && v[2].OK {
					passed++
				}
				if min(v[0].Remaining, v[1].Remaining, v[2].Remaining) < 0 {
					t.Fatalf("%+v", v)
				}
			}
			if passed != 10 {
				t.Errorf("%s, key %q: %d of 100 passed, want 10", a.Name(), key, passed)
			}
			if v := c.ask(rules[1], key, 0); v.Remaining != 40 {
				t.Errorf("%s, key %q: %d left, want 40", a.Name(), key, v.Remaining)
			}
		}
	}
}

// clusterRefusal: what another slot took is given back, whatever the algorithm,
// and the refused request tells of it as it was.
func clusterRefusal(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster, redisstore.Options{})
	c := &client{TB: t, store: store}
	for round, a := range every {
		limit := "8 per 1h"
		if round == 0 {
			limit = "8 per 1h, burst 4"
		}
		rules := []*stint.Policy{policy(t, "large "+a.Name(), limit, a), policy(t, "small "+a.Name(), "2 per 1h", algo.FixedWindow)}
		charges := scattered(rules, round, 2)
		var v [2]stint.Verdict
		for i := range 10 {
			if _, err := store.Take(t.Context(), 0, charges, v[:]); err != nil {
				t.Fatal(err)
			}
			if v[1].OK != (i < 2) || !v[0].OK {
				t.Fatalf("%s, request %d: %+v", a.Name(), i, v)
			}
			if i >= 2 && v[0].Remaining > 4 {
				t.Errorf("%s: a refused request is told that %d are left, want at most 4", a.Name(), v[0].Remaining)
			}
			eventually(t, time.Second, func() error {
				if left := c.ask(rules[0], string(charges[0].Key), 0).Remaining; left != max(4, int64(6-2*i)) {
					return errors.New(strconv.Itoa(int(left)) + " left")
				}
				return nil
			})
		}
	}
}

// clusterCrowd: many that refuse each other never get more than the limits.
func clusterCrowd(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster, redisstore.Options{})
	c := &client{TB: t, store: store}
	for round, a := range algo.All {
		rules := []*stint.Policy{policy(t, "x"+a.Name(), "30 per 24h", a), policy(t, "y"+a.Name(), "20 per 24h", algo.FixedWindow)}
		charges := scattered(rules, round)
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					var v [2]stint.Verdict
					if _, err := store.Take(context.Background(), 0, charges, v[:]); err != nil {
						t.Error(err)
					}
					if v[0].OK && v[1].OK {
						passed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if n := passed.Load(); n > 20 || n < 1 {
			t.Errorf("%s: %d passed, want at most 20", a.Name(), n)
		}
		eventually(t, time.Second, func() error {
			if left := c.ask(rules[0], string(charges[0].Key), 0).Remaining; left != 30-passed.Load() {
				return errors.New(strconv.Itoa(int(left)) + " left")
			}
			return nil
		})
	}
}

// clusterMove: a slot moves while it is asked; nothing is lost, nothing counted
// twice.
func clusterMove(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster, redisstore.Options{})
	p, q := policy(t, "moved p", "500 per 24h", algo.FixedWindow), policy(t, "moved q", "10000 per 24h", algo.FixedWindow)
	slot, err := strconv.Atoi(cluster.Masters[0].Do("CLUSTER", "KEYSLOT", "{k}"))
	if err != nil {
		t.Fatal(err)
	}
	owner := slot * 3 / (1 << 14)
	from, to := cluster.Masters[owner], cluster.Masters[(owner+1)%3]
	var passed atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				charges := []stint.Charge{
					{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}}, {Policy: q, Key: []byte("k"), Ask: stint.Ask{Cost: 1}},
				}
				var v [2]stint.Verdict
				_, err := store.Take(context.Background(), 0, charges, v[:])
				if err != nil {
					t.Error(err)
					return
				}
				if v[0].OK && v[1].OK {
					passed.Add(1)
				}
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	cluster.MoveSlot(slot, from, to, func() { time.Sleep(30 * time.Millisecond) })
	for deadline := time.Now().Add(5 * time.Second); passed.Load() < 500 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	if n := passed.Load(); n != 500 {
		t.Errorf("%d passed, want 500", n)
	}
}

// clusterFailover: a master dies, its replica takes over, and the store finds it.
// What the replica had not heard of is let through again: at most what passed in
// the time that it lagged behind.
func clusterFailover(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster, redisstore.Options{})
	p := policy(t, "failover", "1000 per 24h", algo.FixedWindow)
	slot, err := strconv.Atoi(cluster.Masters[0].Do("CLUSTER", "KEYSLOT", "{f}"))
	if err != nil {
		t.Fatal(err)
	}
	owner := slot * 3 / (1 << 14)
	var passed, failed atomic.Int64
	var refused atomic.Bool
	take := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		var v [1]stint.Verdict
		_, err := store.Take(ctx, 0, []stint.Charge{{Policy: p, Key: []byte("f"), Ask: stint.Ask{Cost: 1}}}, v[:])
		switch {
		case err != nil:
			failed.Add(1)
		case v[0].OK:
			passed.Add(1)
		default:
			refused.Store(true)
		}
		return err
	}
	eventually(t, 10*time.Second, take) // connects
	for passed.Load() < 500 {
		if err := take(); err != nil && failed.Load() > 50 {
			t.Fatal(err)
		}
	}
	cluster.Replicas[owner].AwaitMaster()
	cluster.Masters[owner].Kill()
	eventually(t, 20*time.Second, take)
	for end := time.Now().Add(20 * time.Second); !refused.Load() && time.Now().Before(end); {
		_ = take()
	}
	// Each failed call may have counted without being told.
	if n := passed.Load(); n > 1000 || n < 1000-failed.Load() {
		t.Errorf("%d passed and %d failed, want 1000 less at most those that failed", n, failed.Load())
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers")
	}
	s := redistest.StartSentinels(t)
	store, err := redisstore.New(patient(redisstore.Options{Addrs: s.Addrs(), MasterSet: s.Name}))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := &client{TB: t, store: store}
	p := policy(t, "p", "10 per 24h", algo.FixedWindow)
	c.allows(4, p, "k")
	for _, r := range s.Replicas {
		r.AwaitMaster()
	}
	s.Master.Kill()
	eventually(t, 30*time.Second, func() error {
		_, err := c.try(p, "k", 0)
		return err
	})
	c.allows(6, p, "k")
	c.refuses(1, p, "k")
}
