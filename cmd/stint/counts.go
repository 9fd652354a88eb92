package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/admin"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/redisstore"
)

// counts are the stores of a server: one in memory, and before it one that is
// shared, if the settings name one. Then the memory only counts while that fails.
type counts struct {
	stint.Store
	name     string
	memory   *memstore.Store
	redis    *redisstore.Store
	failover *failover.Store
}

// openCounts makes the stores. A shared one need not be there yet. changed is told
// when it fails and when it answers again.
func openCounts(kept config.Store, changed func(error)) (*counts, error) {
	options := memstore.Options{MaxBuckets: kept.MaxBuckets}
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
	where, err := redisstore.ParseURL(kept.Redis.URL)
	if err != nil {
		return nil, err
	}
	if kept.Redis.Prefix != "" {
		where.Prefix = kept.Redis.Prefix
	}
	if c.redis, err = redisstore.New(where); err != nil {
		return nil, err
	}
	c.failover, err = failover.New(failover.Options{
		Store: c.redis, Local: memory, Changed: changed,
		Deadline: kept.Redis.Deadline, Probe: kept.Redis.Probe, Failures: kept.Redis.Failures,
		Fleet: func() int { return max(kept.Redis.Fleet, 1) },
	})
	if err != nil {
		c.redis.Close()
		return nil, err
	}
	c.Store, c.name = c.failover, kept.Redis.String()
	return c, nil
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
// is connected to, so that the first requests need not wait for that.
func (c *counts) inspect(ctx context.Context, logger *slog.Logger) {
	if c.redis == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, inspectFor)
	defer cancel()
	found, err := c.redis.Inspect(ctx)
	if err != nil {
		logger.Warn("the shared store does not answer yet; it is tried again", "store", c.name, "error", err)
		return
	}
	logger.Info("shared store", "store", c.name, "is", found.Name+" "+found.Version, "mode", found.Mode,
		"clock_ahead", found.ClockAhead.Round(time.Microsecond), "round_trip", found.RoundTrip.Round(time.Microsecond))
}

// close lets go of connections.
func (c *counts) close() {
	if c.redis != nil {
		c.redis.Close()
	}
}

// stats are the counters of the store in memory as the admin shows them.
func (c *counts) stats() admin.StoreStats {
	now := c.memory.Stats()
	return admin.StoreStats{
		Buckets: now.Buckets, MaxBuckets: now.MaxBuckets, Evicted: now.Evicted, EvictedInUse: now.EvictedInUse,
	}
}

// shared returns the counters of the shared store, nil if there is none.
func (c *counts) shared() func() admin.SharedStats {
	if c.failover == nil {
		return nil
	}
	return func() admin.SharedStats {
		now := c.failover.Stats()
		return admin.SharedStats{
			Name: c.name, Up: !now.Open, Failed: now.Failed, Timeouts: now.Timeouts, Cancelled: now.Cancelled, Degraded: now.Degraded,
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
