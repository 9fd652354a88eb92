// Package failover is a store in front of a store that may fail.
//
// It bounds how long a decision waits for the store, stops asking one that fails
// until it answers again, and decides meanwhile as each policy wants:
// [stint.FailLocal] by a store in this process with this server's share of the
// limit, [stint.FailAllow], or [stint.FailDeny]. Such decisions are Degraded. The
// store's own counts are the truth: as soon as it answers, they decide again. Where
// the store has parts that fail apart from each other, each has a breaker; a request
// is decided by the store if all parts that it is about are well.
//
// It never retries: a call that ran into the deadline may have been counted.
package failover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/breaker"
)

// The defaults of Options.
const (
	DefaultDeadline = 5 * time.Millisecond
	DefaultFailures = 5
	DefaultProbe    = time.Second
)

// Options of a store with failover. Store and Local must be set.
type Options struct {
	// Store is asked first. Of a [stint.PartedStore] each part is left alone by
	// itself.
	Store stint.Store
	// Local counts in this process while Store fails.
	Local stint.Store
	// Deadline is the longest a decision waits for Store. 0 means
	// DefaultDeadline.
	Deadline time.Duration
	// Failures in a row after which Store, or a part of it, is left alone. 0 means
	// DefaultFailures.
	Failures int
	// Probe is how long it is left alone before a single decision tries it again.
	// 0 means DefaultProbe.
	Probe time.Duration
	// Fleet is how many servers share the limits; each allows its part while Store
	// fails: of the rate, of what may pass at once, and of a queue, at least one unit.
	// A cost above the part that is within the limit passes where nothing of the part
	// is used, and is owed: by a bucket as debt, by a window as that many of the next
	// windows. Nil, and whatever it says below 2, mean that this one is alone. It is
	// called for decisions and must not block.
	Fleet func() int
	// Changed, if set, is told once when Store, or the first part of it, is left
	// alone, and once when all of it answers again; err is nil then. It is called on
	// the way of a request, one call at a time. It must not block, nor ask this store.
	Changed func(err error)
}

// Store is a [stint.Store] with failover. It is safe for concurrent use.
type Store struct {
	store    stint.Store
	bounded  stint.Store       // store for callers who wait until the deadline; nil if it does not bound that
	parted   stint.PartedStore // nil for a store without parts
	local    stint.Store
	deadline time.Duration
	probe    time.Duration
	fleet    func() int
	changed  func(error)
	start    time.Time
	clock    func() time.Duration // since start, above 0
	parts    breaker.Parts
	shares   sync.Map // shareKey → share
	known    atomic.Int64
	owing    owing

	mu   sync.Mutex   // orders the calls of changed
	open atomic.Int64 // parts that are left alone, changed under mu

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
	case o.Failures < 0 || o.Failures > breaker.MostFailures:
		return nil, fmt.Errorf("%d failures in a row: from 1 to %d, or leave it out for %d", o.Failures, breaker.MostFailures, DefaultFailures)
	case o.Probe < 0:
		return nil, fmt.Errorf("probe %v is negative: leave it out for %v", o.Probe, DefaultProbe)
	}
	s := &Store{
		store: o.Store, local: o.Local, fleet: o.Fleet, changed: o.Changed, start: time.Now(),
		deadline: cmp.Or(o.Deadline, DefaultDeadline), probe: cmp.Or(o.Probe, DefaultProbe),
	}
	s.parted, _ = o.Store.(stint.PartedStore)
	if b, ok := o.Store.(stint.BoundedStore); ok {
		s.bounded = b.Within(s.deadline)
	}
	s.clock = func() time.Duration { return time.Since(s.start) + 1 }
	s.parts.Most = uint64(cmp.Or(o.Failures, DefaultFailures))
	s.parts.Pause = min(s.probe, math.MaxInt64/4)
	s.parts.Lease = s.parts.Pause + min(s.deadline, math.MaxInt64/4)
	return s, nil
}

// Stats are counters of a store with failover.
type Stats struct {
	// Open is how many parts of the store are left alone; a store without parts is
	// one.
	Open int
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
		Open: int(max(s.open.Load(), 0)), Failed: s.failed.Load(), Timeouts: s.timeouts.Load(),
		Cancelled: s.cancelled.Load(), Degraded: s.degraded.Load(),
	}
}

// Take implements [stint.Store]. Its error is [stint.ErrDegraded] where the store
// did not answer, or ctx.Err() where the caller has gone away: a caller whose own
// deadline is shorter says nothing about the store.
func (s *Store) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	switch n := len(charges); {
	case n != len(verdicts) || n > stint.MaxCharges:
		return 0, fmt.Errorf("%d charges and %d verdicts: as many of each, at most %d", n, len(verdicts), stint.MaxCharges)
	case n == 0: // says nothing about the store
		return s.store.Take(ctx, now, charges, verdicts)
	}
	about := uint64(0)
	if s.parted != nil {
		about = s.parted.Parts(charges)
	}
	call, ok := s.parts.Pass(max(about, 1), s.clock)
	if !ok {
		return s.decide(ctx, now, charges, verdicts)
	}
	at, err := s.ask(ctx, now, charges, verdicts)
	switch {
	case err == nil || errors.Is(err, stint.ErrDegraded):
		s.report(&call, 0, nil)
		return at, err
	case ctx.Err() != nil:
		s.parts.Abandon(&call, s.clock())
		s.cancelled.Add(1)
		return 0, ctx.Err()
	}
	s.fail(&call, err)
	s.failed.Add(1)
	if errors.Is(err, context.DeadlineExceeded) {
		s.timeouts.Add(1)
	}
	return s.decide(ctx, now, charges, verdicts)
}

// ask asks the store, for as long as the deadline says.
func (s *Store) ask(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if s.bounded != nil {
		return s.bounded.Take(ctx, now, charges, verdicts)
	}
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	return s.store.Take(ctx, now, charges, verdicts)
}

// fail tells the breakers of a call that ended with an error. One about the charges
// says nothing of the store, which may not have been asked at all.
func (s *Store) fail(call *breaker.Passage, err error) {
	failed := call.Parts
	if e, ok := errors.AsType[*stint.PartError](err); ok {
		if e.Parts == 0 {
			s.parts.Abandon(call, s.clock())
			return
		}
		if e.Parts&failed != 0 {
			failed &= e.Parts
		}
	}
	s.report(call, failed, err)
}

// report tells the breakers which of a call's parts failed; the others answered.
func (s *Store) report(call *breaker.Passage, failed uint64, err error) {
	closed := s.parts.Answered(call, call.Parts&^failed)
	opened := 0
	if failed != 0 {
		opened = s.parts.Failed(call, failed, s.clock())
	}
	if opened|closed == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.open.Load()
	after := s.open.Add(int64(opened - closed))
	switch {
	case s.changed == nil:
	case before <= 0 && after > 0:
		s.changed(err)
	case before > 0 && after <= 0:
		s.changed(nil)
	}
}
