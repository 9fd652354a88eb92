package redisstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// byTheStore is how many requests passed by the shared counts so far.
func (a *tally) byTheStore() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.passed - a.local
}

// TestAMasterOfAClusterDiesUnderLoad: its replica takes over. Replication does not
// wait, so what the replica had not heard of is let through once more: what passed
// in the time that it lagged behind, which is far less than a second. Besides, each
// server gives away its share meanwhile.
func TestAMasterOfAClusterDiesUnderLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers")
	}
	cluster := redistest.StartCluster(t)
	const limit = 4000
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.FixedWindow)
	var nodes []*node
	for range 2 {
		store := openCluster(t, cluster, redisstore.Options{ReadTimeout: 300 * time.Millisecond})
		n := newNode(t, store, 2, failover.Options{Deadline: 50 * time.Millisecond})
		n.recovers(20 * time.Second)
		nodes = append(nodes, n)
	}
	slot, err := strconv.Atoi(cluster.Masters[0].Do("CLUSTER", "KEYSLOT", "{f}"))
	if err != nil {
		t.Fatal(err)
	}
	load := startLoad(p, "f", 4, 5*time.Millisecond, nodes...)
	load.until(200, 0)
	early := load.byTheStore()
	time.Sleep(time.Second)
	atKill := load.byTheStore()
	cluster.Masters[slot*3/(1<<14)].Kill()
	start := time.Now()
	down := new(tally)
	for end := start.Add(40 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if d := nodes[0].ask(down, p, "f"); !d.Degraded && time.Since(start) > 500*time.Millisecond {
			break
		}
	}
	t.Logf("the store decides again %v after the kill", time.Since(start).Round(time.Millisecond))
	for end, last := time.Now().Add(30*time.Second), -1; time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		now := load.byTheStore() // until the bucket is empty
		if now == last {
			break
		}
		last = now
	}
	a := load.end()
	a.asked, a.passed, a.local, a.degraded = a.asked+down.asked, a.passed+down.passed, a.local+down.local, a.degraded+down.degraded
	a.check(t, "a master dies", 50*time.Millisecond)
	lost := max(0, a.passed-a.local-limit)
	most := atKill - early
	t.Logf("acknowledged and lost: %d, bound: %d (what passed in the last second before the kill)", lost, most)
	if lost > most {
		t.Errorf("%d acknowledged charges were lost, want at most %d", lost, most)
	}
	a.most(t, limit+most+2*(limit/2), "the limit, what may be lost, and the shares of two servers")
	if a.degraded == 0 {
		t.Error("nothing was decided without the store")
	}
}

// TestASentinelHangs: the one that is listened to, and then the master dies. The
// others make another master, and it is found.
func TestASentinelHangs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers")
	}
	s := redistest.StartSentinels(t)
	open := func() *node {
		store, err := redisstore.New(redisstore.Options{
			Addrs: s.Addrs(), MasterSet: s.Name, ReadTimeout: 300 * time.Millisecond, DialTimeout: 300 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		return newNode(t, store, 2, failover.Options{Deadline: 100 * time.Millisecond})
	}
	n := open()
	n.recovers(20 * time.Second)
	const limit = 100
	p := policy(t, "p", strconv.Itoa(limit)+" per 24h", algo.FixedWindow)
	s.Sentinels[0].Pause()
	late := open() // meets the one that hangs first
	t.Logf("connects after %v", late.recovers(30*time.Second).Round(time.Millisecond))
	load := startLoad(p, "k", 2, 20*time.Millisecond, n)
	load.until(20, 200*time.Millisecond)
	s.Master.Kill()
	time.Sleep(100 * time.Millisecond)
	t.Logf("recovered after %v", n.recovers(60*time.Second).Round(time.Millisecond))
	t.Logf("recovered after %v", late.recovers(60*time.Second).Round(time.Millisecond))
	load.until(2*limit, 0)
	a := load.end()
	a.check(t, "a Sentinel hangs", n.deadline)
	a.most(t, 2*limit+limit/2, "the limit, what of it may be lost, and the share of one of two servers")
	s.Sentinels[0].Resume()
}
