// Package failover is a store in front of a store that may fail.
//
// It bounds how long a decision waits for the store, stops asking one that fails
// until it answers again, and decides meanwhile as each policy wants:
// [stint.FailLocal] by a store in this process with this server's share of the
// limit, [stint.FailAllow], or [stint.FailDeny]. Such decisions are Degraded. The
// store's own counts are the truth: as soon as it answers, they decide again.
//
// It never retries: a call that ran into the deadline may have been counted.
package failover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// The defaults of Options.
const (
	DefaultDeadline = 5 * time.Millisecond
	DefaultFailures = 5
	DefaultProbe    = time.Second
)

// Options of a store with failover. Store and Local must be set.
type Options struct {
	// Store is asked first.
	Store stint.Store
	// Local counts in this process while Store fails.
	Local stint.Store
	// Deadline is the longest a decision waits for Store. 0 means
	// DefaultDeadline.
	Deadline time.Duration
	// Failures in a row after which Store is left alone. 0 means DefaultFailures.
	Failures int
	// Probe is how long it is left alone before a single decision tries it again.
	// 0 means DefaultProbe.
	Probe time.Duration
	// Fleet is how many servers share the limits; each allows its part while Store
	// fails. Nil means that this one is alone.
	Fleet func() int
	// Changed, if set, is told when Store is left alone and when it answers again;
	// err is nil then. It is called on the way of a request and must not block.
	Changed func(err error)
}

// Store is a [stint.Store] with failover. It is safe for concurrent use.
type Store struct {
	store    stint.Store
	local    stint.Store
	deadline time.Duration
	probe    time.Duration
	fleet    func() int
	changed  func(error)
	start    time.Time
	breaker  breaker
	shares   sync.Map // share → *stint.Policy
	known    atomic.Int64

	failed    atomic.Int64
	timeouts  atomic.Int64
	cancelled atomic.Int64
	degraded  atomic.Int64
}

var _ stint.Store = (*Store)(nil)

// New returns a store with failover, or what is wrong with o.
func New(o Options) (*Store, error) {
	switch {
	case o.Store == nil || o.Local == nil:
		return nil, errors.New("failover needs a store and a local one, for example of memstore")
	case o.Deadline < 0:
		return nil, fmt.Errorf("deadline %v is negative: leave it out for %v", o.Deadline, DefaultDeadline)
	case o.Failures < 0:
		return nil, fmt.Errorf("%d failures is negative: leave it out for %d", o.Failures, DefaultFailures)
	case o.Probe < 0:
		return nil, fmt.Errorf("probe %v is negative: leave it out for %v", o.Probe, DefaultProbe)
	}
	s := &Store{store: o.Store, local: o.Local, deadline: o.Deadline, probe: o.Probe, fleet: o.Fleet, changed: o.Changed, start: time.Now()}
	if s.deadline == 0 {
		s.deadline = DefaultDeadline
	}
	if s.probe == 0 {
		s.probe = DefaultProbe
	}
	s.breaker.most, s.breaker.pause = int64(o.Failures), s.probe
	if o.Failures == 0 {
		s.breaker.most = DefaultFailures
	}
	return s, nil
}

// Stats are counters of a store with failover.
type Stats struct {
	// Open says that the store is left alone.
	Open bool
	// Failed are calls that the store did not answer, Timeouts those of them that
	// ran into the deadline.
	Failed, Timeouts int64
	// Cancelled are calls whose caller went away. They are no failures.
	Cancelled int64
	// Degraded are decisions made without the store.
	Degraded int64
}

// Stats returns the counters now.
func (s *Store) Stats() Stats {
	return Stats{
		Open: s.breaker.open(), Failed: s.failed.Load(), Timeouts: s.timeouts.Load(),
		Cancelled: s.cancelled.Load(), Degraded: s.degraded.Load(),
	}
}

// Take implements [stint.Store]. Its error is [stint.ErrDegraded] where the store
// did not answer, or ctx.Err() where the caller has gone away.
func (s *Store) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if !s.breaker.pass(s.elapsed()) {
		return s.decide(ctx, now, charges, verdicts)
	}
	bounded, cancel := context.WithTimeout(ctx, s.deadline)
	at, err := s.store.Take(bounded, now, charges, verdicts)
	cancel()
	switch {
	case err == nil:
		if s.breaker.succeed() {
			s.tell(nil)
		}
		return at, nil
	case ctx.Err() != nil:
		s.breaker.abandon()
		s.cancelled.Add(1)
		return 0, ctx.Err()
	}
	s.failed.Add(1)
	if errors.Is(err, context.DeadlineExceeded) {
		s.timeouts.Add(1)
	}
	if s.breaker.fail(s.elapsed()) {
		s.tell(err)
	}
	return s.decide(ctx, now, charges, verdicts)
}

// elapsed is the time since the start, above 0.
func (s *Store) elapsed() time.Duration { return time.Since(s.start) + 1 }

func (s *Store) tell(err error) {
	if s.changed != nil {
		s.changed(err)
	}
}

// decide answers without the store.
func (s *Store) decide(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	s.degraded.Add(1)
	denied := false
	for i := range charges {
		c := &charges[i]
		denied = denied || c.Policy.OnStoreFailure == stint.FailDeny && !c.Shadow
		verdicts[i] = stint.Verdict{OK: true, Remaining: stint.Unknown}
		if c.Policy.OnStoreFailure == stint.FailDeny {
			verdicts[i] = stint.Verdict{Remaining: stint.Unknown, RetryAfter: s.probe}
		}
	}
	if !denied {
		at, err := s.decideLocally(ctx, now, charges, verdicts)
		if err != nil {
			return 0, err
		}
		now = at
	}
	if now == 0 {
		now = stint.MicrosOf(time.Now())
	}
	return now, stint.ErrDegraded
}

// decideLocally asks the local store for the charges that want it.
func (s *Store) decideLocally(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	var local []stint.Charge
	var which []int
	for i := range charges {
		switch charges[i].Policy.OnStoreFailure {
		case stint.FailAllow, stint.FailDeny:
			continue
		}
		c := charges[i]
		c.Policy = s.share(c.Policy)
		local, which = append(local, c), append(which, i)
	}
	if len(local) == 0 {
		return now, nil
	}
	said := make([]stint.Verdict, len(local))
	at, err := s.local.Take(ctx, now, local, said)
	if err != nil {
		return 0, err
	}
	for n, i := range which {
		verdicts[i] = said[n]
	}
	return at, nil
}
