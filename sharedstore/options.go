package sharedstore

import (
	"errors"
	"time"

	"github.com/stint-dev/stint/memstore"
)

// Options of a shared store. The zero Options are the defaults.
type Options struct {
	// Prefix begins every key in Redis. Empty means that of the URL, or
	// redisstore.DefaultPrefix.
	Prefix string
	// Deadline is the longest that a decision waits for Redis. 0 means
	// failover.DefaultDeadline.
	Deadline time.Duration
	// Failures in a row after which Redis, or a part of a cluster, is left alone. 0
	// means failover.DefaultFailures.
	Failures int
	// Probe is how long it is left alone before one decision tries it again. 0 means
	// failover.DefaultProbe.
	Probe time.Duration
	// MaxShield is the longest that a known refusal is repeated without asking Redis. 0
	// means shield.DefaultMaxWait.
	MaxShield time.Duration
	// NoShield asks Redis every time.
	NoShield bool
	// Local are the options of the store in memory that counts while Redis fails.
	Local memstore.Options
	// Fleet is how many servers share the limits. The zero Fleet leaves it to a
	// heartbeat in Redis.
	Fleet Fleet
	// Changed, if set, is told once when Redis, or the first part of a cluster, is left
	// alone, and once when all of it answers again; err is nil then. It must not block,
	// nor ask this store.
	Changed func(err error)
	// FleetChanged, if set, is told when another number of servers is found, and once
	// when a way of counting them no longer answers. It must neither block nor close the
	// store. The two ways of counting may call it at once.
	FleetChanged func(FleetChange)
}

// check says all that is wrong with what is not checked elsewhere.
func (o *Options) check() error {
	var errs []error
	if o.Fleet.Servers < 0 || o.Fleet.AtLeast < 0 {
		errs = append(errs, errors.New("a fleet of fewer than no servers: leave it out, and the servers count themselves"))
	}
	if o.NoShield && o.MaxShield != 0 {
		errs = append(errs, errors.New("both MaxShield and NoShield: leave out one"))
	}
	return errors.Join(errs...)
}
