package sharedstore

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/shield"
)

// Store is a [stint.Store] that servers share. It is made by [Open], safe for
// concurrent use, and has to be closed.
type Store struct {
	redis     *redisstore.Store
	local     *memstore.Store
	failover  *failover.Store
	shield    *shield.Store     // nil where it is off
	heartbeat *redisstore.Fleet // nil where the options say how many servers there are
	names     *names            // nil without a name
	fleet     Fleet
	sweeper   chan struct{} // closed by Close
	close     sync.Once
}

var _ stint.OneStore = (*Store)(nil)

// sweepEvery is how often the store in memory drops buckets that are worth nothing.
const sweepEvery = 5 * time.Second

// Open returns the store that a URL names, which is written as
// [redisstore.ParseURL] says. It does not wait for Redis, which may come later; until
// then the store counts in memory. An error shows nothing of the URL, which often holds
// a password.
func Open(url string, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	options, err := redisstore.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if o.Prefix != "" {
		options.Prefix = o.Prefix
	}
	s := &Store{fleet: o.Fleet, sweeper: make(chan struct{})}
	if s.local, err = memstore.New(o.Local); err != nil {
		return nil, err
	}
	if s.redis, err = redisstore.New(options); err != nil {
		return nil, err
	}
	if err := s.arrange(&o); err != nil {
		s.redis.Close()
		return nil, err
	}
	if err := s.count(&o); err != nil {
		s.redis.Close()
		return nil, err
	}
	go s.sweep()
	return s, nil
}

// arrange puts failover and shield before Redis.
func (s *Store) arrange(o *Options) (err error) {
	s.failover, err = failover.New(failover.Options{
		Store: s.redis, Local: s.local, Changed: o.Changed, Fleet: s.FleetSize,
		Deadline: o.Deadline, Probe: o.Probe, Failures: o.Failures,
	})
	if err != nil || o.NoShield {
		return err
	}
	s.shield, err = shield.New(shield.Options{Store: s.failover, MaxWait: o.MaxShield})
	return err
}

// count begins to count the servers, unless the options say how many they are.
func (s *Store) count(o *Options) (err error) {
	if o.Fleet.Servers > 0 {
		return nil
	}
	if o.Fleet.DNS != "" {
		s.names = countNames(o.Fleet.DNS, net.DefaultResolver.LookupHost, o.heard)
	}
	s.heartbeat, err = s.redis.Join(redisstore.FleetOptions{Changed: func(size int, err error) {
		o.heard(FleetChange{Servers: size, Err: err})
	}})
	return err
}

// Take implements [stint.Store].
func (s *Store) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if s.shield != nil {
		return s.shield.Take(ctx, now, charges, verdicts)
	}
	return s.failover.Take(ctx, now, charges, verdicts)
}

// TakeOne implements [stint.OneStore].
func (s *Store) TakeOne(ctx context.Context, now stint.Micros, p *stint.Policy, key string, ask stint.Ask) (stint.Micros, stint.Verdict, error) {
	if s.shield != nil {
		return s.shield.TakeOne(ctx, now, p, key, ask)
	}
	var verdicts [1]stint.Verdict
	at, err := s.failover.Take(ctx, now, []stint.Charge{{Policy: p, Key: []byte(key), Ask: ask}}, verdicts[:])
	return at, verdicts[0], err
}

// Forget drops what is known of buckets without asking Redis. It is called when limits
// have changed.
func (s *Store) Forget() {
	if s.shield != nil {
		s.shield.Clear()
	}
}

// Inspect connects to Redis and says what it is. It also waits until the name of the
// fleet, if there is one, was looked up. It is not needed: the first decision connects
// too, but may run into its deadline on the way.
func (s *Store) Inspect(ctx context.Context) (redisstore.Server, error) {
	if s.names != nil {
		defer s.names.await(ctx)
	}
	return s.redis.Inspect(ctx)
}

// Local is the store in memory that counts while Redis fails.
func (s *Store) Local() *memstore.Store { return s.local }

// Stats are counters of a shared store.
type Stats struct {
	failover.Stats
	// Repeated are refusals that were known without asking Redis.
	Repeated int64
}

// Stats returns the counters now.
func (s *Store) Stats() Stats {
	now := Stats{Stats: s.failover.Stats()}
	if s.shield != nil {
		now.Repeated = s.shield.Stats().Answered
	}
	return now
}

// Close leaves the fleet and closes the connections. Nobody may use the store any
// more. It does not need Redis to answer.
func (s *Store) Close() {
	s.close.Do(func() {
		close(s.sweeper)
		if s.names != nil {
			s.names.close()
		}
		if s.heartbeat != nil {
			s.heartbeat.Close()
		}
		s.redis.Close()
	})
}

// sweep drops worthless buckets in memory until the store is closed.
func (s *Store) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.sweeper:
			return
		case <-tick.C:
			s.local.Sweep(0)
		}
	}
}
