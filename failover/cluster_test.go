package failover_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// onCluster is a store with failover in front of a cluster.
type onCluster struct {
	*testing.T
	cluster *redistest.Cluster
	redis   *redisstore.Store
	store   *failover.Store
	limiter *stint.Limiter
	changes []error
}

func startCluster(t *testing.T, o failover.Options) *onCluster {
	t.Helper()
	c := &onCluster{T: t, cluster: redistest.StartCluster(t, "--cluster-node-timeout", "60000", "--cluster-require-full-coverage", "no")}
	redis, err := redisstore.New(redisstore.Options{Addrs: c.cluster.Addrs(), Cluster: true, ReadTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Close)
	c.redis = redis
	o.Store, o.Local = redis, storetest.NewReference()
	o.Changed = func(err error) { c.changes = append(c.changes, err) }
	if c.store, err = failover.New(o); err != nil {
		t.Fatal(err)
	}
	c.limiter = &stint.Limiter{Store: c.store}
	return c
}

// owner is the number of the master that has the bucket of a key. A part that two
// masters have is of none: -1.
func (c *onCluster) owner(key string) int {
	c.Helper()
	const slots = 1 << 14
	slot := 0
	if _, err := fmt.Sscan(c.cluster.Masters[0].Do("CLUSTER", "KEYSLOT", "{"+key+"}"), &slot); err != nil {
		c.Fatal(err)
	}
	part := slot / 256 * 256
	first, last := 0, 0
	for first = 0; part >= slots*(first+1)/3; first++ {
	}
	for last = 0; part+255 >= slots*(last+1)/3; last++ {
	}
	if first != last {
		return -1
	}
	return first
}

// keysOf are n keys of each master.
func (c *onCluster) keysOf(n int) (keys [3][]string) {
	c.Helper()
	for i := 0; len(keys[0]) < n || len(keys[1]) < n || len(keys[2]) < n; i++ {
		key := fmt.Sprint("client ", i)
		if o := c.owner(key); o >= 0 && len(keys[o]) < n {
			keys[o] = append(keys[o], key)
		}
	}
	return keys
}

// TestOneMasterHangs: what the two others count stays exact and quick; what the dead
// one counts waits a few times in all, and then once for each probe of a part.
func TestOneMasterHangs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers")
	}
	const deadline, probe, limit, clients = 500 * time.Millisecond, 2 * time.Second, 20, 4
	c := startCluster(t, failover.Options{Deadline: deadline, Failures: 2, Probe: probe})
	p := newStory(t, failover.Options{}).policy("20 per 24h", stint.FailDeny)
	keys := c.keysOf(clients + 1) // and one to begin with
	ask := func(key string) stint.Decision {
		t.Helper()
		d, err := c.limiter.Allow(context.Background(), p, key)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for i := range keys { // until it is connected to all
		for ask(keys[i][clients]).Degraded {
			time.Sleep(time.Millisecond)
		}
		keys[i] = keys[i][:clients]
	}
	c.changes = nil
	// half of each limit is used while all are well
	for range limit / 2 {
		for _, of := range keys {
			for _, key := range of {
				if d := ask(key); !d.Allowed || d.Degraded {
					t.Fatalf("%s: %+v", key, d)
				}
			}
		}
	}
	parts := map[uint64]bool{}
	for _, key := range keys[1] {
		parts[c.redis.Parts([]stint.Charge{{Policy: p, Key: []byte(key)}})] = true
	}
	c.cluster.Masters[1].Pause()
	paused, waited := time.Now(), 0
	for range 2 { // is no failure of the other, and charges nothing
		one := stint.Ask{Cost: 1}
		d, err := c.limiter.Take(context.Background(), stint.Charge{Policy: p, Key: []byte(keys[0][0]), Ask: one}, stint.Charge{Policy: p, Key: []byte(keys[1][0]), Ask: one})
		if err != nil || d.Allowed || d.Reason != stint.ReasonUnavailable {
			t.Fatalf("%+v, %v", d, err)
		}
		waited++
	}
	for i := range limit {
		for master, of := range keys {
			for _, key := range of {
				begun := time.Now()
				d := ask(key)
				switch took := time.Since(begun); {
				case master != 1 && (d.Degraded || d.Allowed != (i < limit/2)):
					t.Fatalf("%s of a master that is well, request %d: %+v", key, i, d)
				case master == 1 && (!d.Degraded || d.Allowed):
					t.Fatalf("%s of the dead master, request %d: %+v", key, i, d)
				case master == 1 && took > deadline/2:
					waited++
				}
			}
		}
	}
	least := 2 * len(parts)
	if most := least + len(parts)*int(time.Since(paused)/probe); waited < least || waited > most {
		t.Errorf("%d requests waited for the dead master, want from %d to %d: its keys have %d parts", waited, least, most, len(parts))
	}
	if st := c.store.Stats(); st.Open != len(parts) || len(c.changes) != 1 {
		t.Errorf("%+v, told of %v; want %d open parts", st, c.changes, len(parts))
	}
	c.cluster.Masters[1].Resume()
	for end := time.Now().Add(20 * time.Second); c.store.Stats().Open > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never recovers: %+v", c.store.Stats())
		}
		for _, key := range keys[1] {
			ask(key)
		}
	}
	if len(c.changes) != 2 || c.changes[1] != nil {
		t.Errorf("told of %v", c.changes)
	}
	c.beats()
}

// beats: a fleet has its key on one of the masters.
func (c *onCluster) beats() {
	c.Helper()
	there := func() (n int) {
		for _, m := range c.cluster.Masters {
			for _, key := range m.Keys(0) {
				if key == "stint:{fleet}" {
					n++
				}
			}
		}
		return n
	}
	fleet, err := c.redis.Join(redisstore.FleetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); there() != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatal("no heartbeat on the cluster")
		}
	}
	if fleet.Close(); there() != 0 {
		c.Error("the heartbeat is left behind")
	}
}
