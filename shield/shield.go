// Package shield is a store in front of a shared store that answers refusals it
// knows already: a bucket that is spent stays spent for as long as the shared
// store has said, so a client that is far over its limit costs no trip.
//
// It never refuses what the shared store would let through, with one exception: a
// bucket that was refilled past the shield is refused here for at most
// Options.MaxWait longer. That is so after a refund or a reset on another server, and
// where the shared store has lost the bucket or its clock was set forward. Refunds,
// resets, forced charges and bookings that pass the shield make it forget the bucket at
// once.
//
// A wait shorter than a trip to the shared store saves nothing.
package shield

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// The defaults of Options.
const (
	DefaultEntries = 1 << 16
	DefaultMaxWait = time.Second
)

// The bounds of Options.
const (
	// MaxEntries is the largest Entries.
	MaxEntries = 1 << 24
	// LongestMaxWait is the largest MaxWait.
	LongestMaxWait = time.Hour
)

// Options of a store with a shield. Store must be set.
type Options struct {
	// Store is asked what is not known here.
	Store stint.Store
	// Entries is how many refusals are remembered at most: a power of two. When all
	// places are taken those that end first make room. A place takes 16 bytes from the
	// start and 96 more when it is used. 0 means DefaultEntries.
	Entries int
	// MaxWait is the longest a refusal is remembered, and so how long a reset on
	// another server, or a bucket that the shared store has lost, can go unseen. 0
	// means DefaultMaxWait.
	MaxWait time.Duration
}

// complete fills the defaults in and checks.
func (o Options) complete() (Options, error) {
	var errs []error
	if o.Store == nil {
		errs = append(errs, errors.New("a shield needs the store it stands before, for example one of redisstore"))
	}
	if o.Entries == 0 {
		o.Entries = DefaultEntries
	}
	if o.MaxWait == 0 {
		o.MaxWait = DefaultMaxWait
	}
	if n := o.Entries; n < ways || n > MaxEntries || n&(n-1) != 0 {
		errs = append(errs, fmt.Errorf("%d entries: write a power of two from %d to %d, or leave it out for %d",
			n, ways, MaxEntries, DefaultEntries))
	}
	if o.MaxWait < time.Microsecond || o.MaxWait > LongestMaxWait {
		errs = append(errs, fmt.Errorf("max wait %v: write one from 1µs to %v, or leave it out for %v",
			o.MaxWait, LongestMaxWait, DefaultMaxWait))
	}
	return o, errors.Join(errs...)
}

// Store is a [stint.Store] with a shield. It is safe for concurrent use and has no
// goroutine of its own.
//
// A request is answered here if one of its charges is known to be refused. The
// verdicts of charges that are not known then are OK and their Remaining is
// [stint.Unknown]: nobody was asked, and nothing is charged. Requests that give
// back or force a charge always reach the shared store, and so do those that come
// with an instant: the shield has no clock but its own. Nothing is known here of
// charges with a MaxDelay.
type Store struct {
	store   stint.Store
	one     stint.OneStore // store, if it is one
	maxWait time.Duration
	start   time.Time
	table   table
	scratch sync.Pool

	answered   tally
	remembered atomic.Int64
	dropped    atomic.Int64
}

var _ stint.OneStore = (*Store)(nil)

// New returns a store with a shield, or all that is wrong with o.
func New(o Options) (*Store, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Store{store: o.Store, maxWait: o.MaxWait, start: time.Now(), table: newTable(o.Entries)}
	s.one, _ = o.Store.(stint.OneStore)
	return s, nil
}

// Stats are counters of a store with a shield.
type Stats struct {
	// Answered are requests that were refused without asking the shared store.
	Answered int64
	// Remembered are refusals of the shared store that were kept.
	Remembered int64
	// Dropped are those of them that made room for others before they had ended. If
	// they are many, there are too few Entries.
	Dropped int64
}

// Stats returns the counters now.
func (s *Store) Stats() Stats {
	return Stats{Answered: s.answered.sum(), Remembered: s.remembered.Load(), Dropped: s.dropped.Load()}
}

// Forget forgets what is known of a bucket, under any limit of p's name. It is for
// who learns that the bucket was refilled past this store. An answer that is under
// way is not remembered either.
func (s *Store) Forget(p *stint.Policy, key []byte) {
	b := s.table.bucket(p, key)
	b.set.forget(&b)
}

// Clear forgets everything.
func (s *Store) Clear() { s.table.clear() }

// Take implements [stint.Store].
func (s *Store) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	switch {
	case len(charges) != len(verdicts) || len(charges) > stint.MaxCharges:
		return s.store.Take(ctx, now, charges, verdicts) // to say what is wrong
	case anyRefills(charges):
		return s.refill(ctx, now, charges, verdicts)
	case now != 0:
		return s.refill(ctx, now, charges, verdicts)
	}
	sent := s.elapsed()
	if at, ok := s.answer(sent, charges, verdicts); ok {
		s.answered.add()
		return at, nil
	}
	if slices.ContainsFunc(charges, func(c stint.Charge) bool { return books(c.Ask) }) {
		return s.book(ctx, sent, charges, verdicts)
	}
	return s.ask(ctx, sent, charges, verdicts)
}

// elapsed is the time since the start. It never steps.
func (s *Store) elapsed() time.Duration { return time.Since(s.start) }

// answer refuses a request of which a charge is known to be refused. If there is
// none the verdicts mean nothing.
func (s *Store) answer(now time.Duration, charges []stint.Charge, verdicts []stint.Verdict) (at stint.Micros, refused bool) {
	for i := range charges {
		c := &charges[i]
		var r *refusal
		if !books(c.Ask) {
			b := s.table.bucket(c.Policy, c.Key)
			r = b.set.find(&b, units(c.Ask), now)
		}
		// One that shares its bucket is told a wait for all that the request wants of it.
		if r == nil || !hasItsBucket(charges, i) {
			verdicts[i] = stint.Verdict{OK: true, Remaining: stint.Unknown}
			continue
		}
		verdicts[i] = r.verdict(now)
		at = max(at, r.instant(now))
		refused = refused || !c.Shadow
	}
	return at, refused
}

// hasItsBucket says whether no other charge is about the bucket of the i-th.
func hasItsBucket(charges []stint.Charge, i int) bool {
	c := &charges[i]
	for j := range charges {
		if o := &charges[j]; j != i && o.Policy.Name == c.Policy.Name && bytes.Equal(o.Key, c.Key) {
			return false
		}
	}
	return true
}

// mark is a bucket, and what its set had gone through when it was asked about.
type mark struct {
	bucket
	turn uint64
}

// ask asks the shared store and remembers what it refuses.
func (s *Store) ask(ctx context.Context, sent time.Duration, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	var marks [stint.MaxCharges]mark
	for i := range charges {
		b := s.table.bucket(charges[i].Policy, charges[i].Key)
		marks[i] = mark{b, b.set.turn.Load()}
	}
	at, err := s.store.Take(ctx, 0, charges, verdicts)
	if err != nil {
		return at, err
	}
	for i := range charges {
		// What is refused behind another charge of the bucket may fit alone.
		if !charges[i].Shadow && !books(charges[i].Ask) && isWorthKeeping(&verdicts[i]) && hasItsBucket(charges, i) {
			s.remember(&marks[i], &answer{ask: charges[i].Ask, verdict: verdicts[i], at: at, sent: sent})
		}
	}
	return at, nil
}

// book is ask for a request that may book ahead. As in refill, nothing is known of those
// buckets meanwhile.
func (s *Store) book(ctx context.Context, sent time.Duration, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	for i := range charges {
		if books(charges[i].Ask) {
			b := s.table.bucket(charges[i].Policy, charges[i].Key)
			b.set.begin(&b)
			defer b.set.end(&b)
		}
	}
	return s.ask(ctx, sent, charges, verdicts)
}

// refill is Take for a request that may make room in a bucket, or dig it deeper.
// From before the call until after it nothing is known of the bucket, because
// nobody here can tell on which side of it another answer was given.
func (s *Store) refill(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	for i := range charges {
		if refills(charges[i].Ask) || books(charges[i].Ask) {
			b := s.table.bucket(charges[i].Policy, charges[i].Key)
			b.set.begin(&b)
			defer b.set.end(&b)
		}
	}
	return s.store.Take(ctx, now, charges, verdicts)
}

func anyRefills(charges []stint.Charge) bool {
	for i := range charges {
		if refills(charges[i].Ask) {
			return true
		}
	}
	return false
}

// refills says whether a refusal that was true before the ask may be false after
// it: units came back, or forced ones made the wait longer.
func refills(a stint.Ask) bool { return a.Cost < 0 || a.Forced }

// books says whether the ask may be booked ahead. Then it may pass where one that fits
// now or not at all is refused, and the other way round, for as long as its MaxDelay
// says, which differs from call to call; and if it passes, others wait longer.
func books(a stint.Ask) bool { return a.MaxDelay > 0 }

// units is the cost by which an ask is decided: a look is decided as a cost of 1.
func units(a stint.Ask) int64 { return max(a.Cost, 1) }
