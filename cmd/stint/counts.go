package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/admin"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/shield"
)

// counts are the stores of a server: one in memory, and before it one that is
// shared, if the settings name one. Then the memory only counts while that fails.
type counts struct {
	stint.Store
	name     string
	memory   *memstore.Store
	redis    *redisstore.Store
	failover *failover.Store
	shield   *shield.Store                    // nil where it is off
	given    config.Fleet                     // what the settings say of the servers that share the store
	fleet    atomic.Pointer[redisstore.Fleet] // that counts them, once it is joined
	peers    atomic.Pointer[peers]            // that counts them by a name, if the settings have one
	told     damped                           // lines about the fleet
}

// openCounts makes the stores. A shared one need not be there yet. changed is told
// when it fails and when it answers again.
func openCounts(kept config.Store, changed func(error)) (*counts, error) {
	options := memstore.Options{MaxBuckets: kept.MaxBuckets, MaxMemory: kept.MaxMemory}
	if kept.RefuseNew {
		options.WhenFull = memstore.RefuseNew
	}
	memory, err := memstore.New(options)
	if err != nil {
		return nil, err
	}
	c := &counts{Store: memory, name: "memory", memory: memory}
	if kept.Redis == nil {
		return c, nil
	}
	if c.redis, err = openRedis(kept.Redis); err != nil {
		return nil, err
	}
	c.given = kept.Redis.Fleet
	c.failover, err = failover.New(failover.Options{
		Store: c.redis, Local: memory, Changed: changed, Fleet: c.size,
		Deadline: kept.Redis.Deadline, Probe: kept.Redis.Probe, Failures: kept.Redis.Failures,
	})
	if err != nil {
		c.redis.Close()
		return nil, err
	}
	c.Store, c.name = c.failover, kept.Redis.String()
	if kept.Redis.NoShield {
		return c, nil
	}
	c.shield, err = shield.New(shield.Options{Store: c.failover, MaxWait: kept.Redis.Shield})
	if err != nil {
		c.redis.Close()
		return nil, err
	}
	c.Store = c.shield
	return c, nil
}

// forget drops what is known of buckets without asking the shared store: limits have
// changed.
func (c *counts) forget() {
	if c.shield != nil {
		c.shield.Clear()
	}
}

// checkStore says what is wrong with a store that a file names.
func checkStore(kept config.Store) error {
	if kept.Redis == nil {
		return nil
	}
	_, err := redisstore.ParseURL(kept.Redis.URL)
	return err
}

// inspectFor is how long a server waits at the start to hear of its shared store.
const inspectFor = time.Second

// inspect says what the shared store is, or that it does not answer. Either way it
// is connected to, so that the first requests need not wait for that. From now on
// this server is one of those that share the store.
func (c *counts) inspect(ctx context.Context, logger *slog.Logger) {
	if c.redis == nil {
		return
	}
	defer c.join(logger)
	ctx, cancel := context.WithTimeout(ctx, inspectFor)
	defer cancel()
	if c.given.DNS != "" {
		named := countPeers(c.given.DNS, net.DefaultResolver.LookupHost, logger)
		c.peers.Store(named)
		defer named.await(ctx)
	}
	found, err := c.redis.Inspect(ctx)
	if err != nil {
		logger.Warn("the shared store does not answer yet; it is tried again", "store", c.name, "error", err)
		return
	}
	logger.Info("shared store", "store", c.name, "is", found.Name+" "+found.Version, "mode", found.Mode,
		"clock_ahead", found.ClockAhead.Round(time.Microsecond), "round_trip", found.RoundTrip.Round(time.Microsecond))
}

// join lets the servers that share the store count themselves, if the settings do not
// say how many they are.
func (c *counts) join(logger *slog.Logger) {
	if c.given.Servers > 0 {
		return
	}
	fleet, err := c.redis.Join(redisstore.FleetOptions{Changed: func(size int, err error) {
		c.told.tell(func(changes int) {
			if err != nil {
				logger.Warn("the shared store does not tell how many servers share it; the last number stays",
					"servers", size, "changes", changes, "error", err)
				return
			}
			logger.Info("servers that share the store", "store", c.name, "servers", size, "changes", changes)
		})
	}})
	if err == nil { // It is only about options that are not good.
		c.fleet.Store(fleet)
	}
}

// size is how many servers share the store: as many as the settings say, or the
// largest of what is known otherwise. It does not wait.
func (c *counts) size() int {
	if c.given.Servers > 0 {
		return c.given.Servers
	}
	size := max(c.given.AtLeast, 1)
	if fleet := c.fleet.Load(); fleet != nil {
		size = max(size, fleet.Size())
	}
	if named := c.peers.Load(); named != nil {
		size = max(size, int(named.size.Load()))
	}
	return size
}

// close leaves the fleet and lets go of connections.
func (c *counts) close() {
	if named := c.peers.Load(); named != nil {
		named.close()
	}
	if fleet := c.fleet.Load(); fleet != nil {
		fleet.Close()
	}
	c.told.flush()
	if c.redis != nil {
		c.redis.Close()
	}
}

// stats are the counters of the store in memory as the admin shows them.
func (c *counts) stats() admin.StoreStats {
	now := c.memory.Stats()
	return admin.StoreStats{
		Buckets: now.Buckets, MaxBuckets: now.MaxBuckets, Memory: now.Memory, MaxMemory: now.MaxMemory,
		Evicted: now.Evicted, EvictedInUse: now.EvictedInUse,
	}
}

// shared returns the counters of the shared store, nil if there is none.
func (c *counts) shared() func() admin.SharedStats {
	if c.failover == nil {
		return nil
	}
	return func() admin.SharedStats {
		now := c.failover.Stats()
		repeated := int64(0)
		if c.shield != nil {
			repeated = c.shield.Stats().Answered
		}
		return admin.SharedStats{
			Name: c.name, Up: now.Open == 0, Failed: now.Failed, Timeouts: now.Timeouts, Cancelled: now.Cancelled, Degraded: now.Degraded,
			Fleet: c.size(), Repeated: repeated,
		}
	}
}

// String says where the counts are.
func (c *counts) String() string {
	if c.failover == nil {
		return "counts in memory"
	}
	return fmt.Sprintf("counts in %s, in memory while it does not answer", c.name)
}
