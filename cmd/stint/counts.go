package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/admin"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/sharedstore"
)

// counts are the stores of a server: one in memory, or one that servers share, whose
// store in memory only counts while that fails.
type counts struct {
	stint.Store
	name   string
	memory *memstore.Store
	shared *sharedstore.Store // nil for counts in memory
	told   fleetLines
}

// fleetLines are the lines about how many servers share a store, for each way of
// counting them.
type fleetLines struct{ heartbeat, names damped }

// openCounts makes the stores. A shared one need not be there yet. changed is told
// when it fails and when it answers again.
func openCounts(kept config.Store, changed func(error), logger *slog.Logger) (*counts, error) {
	local := memstore.Options{MaxBuckets: kept.MaxBuckets, MaxMemory: kept.MaxMemory}
	if kept.RefuseNew {
		local.WhenFull = memstore.RefuseNew
	}
	r := kept.Redis
	if r == nil {
		memory, err := memstore.New(local)
		if err != nil {
			return nil, err
		}
		return &counts{Store: memory, name: "memory", memory: memory}, nil
	}
	c := &counts{name: r.String()}
	shared, err := sharedstore.Open(r.URL, sharedstore.Options{
		Prefix: r.Prefix, Deadline: r.Deadline, Failures: r.Failures, Probe: r.Probe,
		MaxShield: r.Shield, NoShield: r.NoShield, Local: local,
		Fleet: sharedstore.Fleet(r.Fleet), Changed: changed,
		FleetChanged: func(now sharedstore.FleetChange) { c.told.tell(logger, c.name, now) },
	})
	if err != nil {
		return nil, err
	}
	c.Store, c.shared, c.memory = shared, shared, shared.Local()
	return c, nil
}

// forget drops what is known of buckets without asking the shared store: limits have
// changed.
func (c *counts) forget() {
	if c.shared != nil {
		c.shared.Forget()
	}
}

// sweep drops worthless buckets. A shared store sweeps its memory by itself.
func (c *counts) sweep() {
	if c.shared == nil {
		c.memory.Sweep(0)
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
// is connected to, so that the first requests need not wait for that.
func (c *counts) inspect(ctx context.Context, logger *slog.Logger) {
	if c.shared == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, inspectFor)
	defer cancel()
	found, err := c.shared.Inspect(ctx)
	if err != nil {
		logger.Warn("the shared store does not answer yet; it is tried again", "store", c.name, "error", err)
		return
	}
	logger.Info("shared store", "store", c.name, "is", found.Name+" "+found.Version, "mode", found.Mode,
		"clock_ahead", found.ClockAhead.Round(time.Microsecond), "round_trip", found.RoundTrip.Round(time.Microsecond))
}

// tell tells of another number of servers, or that it is no longer known.
func (l *fleetLines) tell(logger *slog.Logger, store string, now sharedstore.FleetChange) {
	lines, by, at, unknown := &l.heartbeat, "store", store, "the shared store does not tell how many servers share it; the last number stays"
	told := "servers that share the store"
	if now.DNS != "" {
		lines, by, at, unknown = &l.names, "name", now.DNS, "the name of the servers that share the store is not answered for; the last number stays"
		told += ", by their name"
	}
	lines.tell(func(changes int) {
		if now.Err != nil {
			logger.Warn(unknown, by, at, "servers", now.Servers, "changes", changes, "error", now.Err)
			return
		}
		logger.Info(told, by, at, "servers", now.Servers, "changes", changes)
	})
}

// close leaves the fleet and lets go of connections.
func (c *counts) close() {
	if c.shared != nil {
		c.shared.Close()
	}
	c.told.heartbeat.flush()
	c.told.names.flush()
}

// stats are the counters of the store in memory as the admin shows them.
func (c *counts) stats() admin.StoreStats {
	now := c.memory.Stats()
	return admin.StoreStats{
		Buckets: now.Buckets, MaxBuckets: now.MaxBuckets, Memory: now.Memory, MaxMemory: now.MaxMemory,
		Evicted: now.Evicted, EvictedInUse: now.EvictedInUse,
	}
}

// sharedStats returns the counters of the shared store, nil if there is none.
func (c *counts) sharedStats() func() admin.SharedStats {
	if c.shared == nil {
		return nil
	}
	return func() admin.SharedStats {
		now := c.shared.Stats()
		return admin.SharedStats{
			Name: c.name, Up: now.Open == 0, Failed: now.Failed, Timeouts: now.Timeouts, Cancelled: now.Cancelled, Degraded: now.Degraded,
			Fleet: c.shared.FleetSize(), Repeated: now.Repeated,
		}
	}
}

// String says where the counts are.
func (c *counts) String() string {
	if c.shared == nil {
		return "counts in memory"
	}
	return fmt.Sprintf("counts in %s, in memory while it does not answer", c.name)
}
