package stint

import (
	"context"
	"time"
)

// MaxCharges is the most charges one request can carry.
const MaxCharges = 32

// MaxKey is the longest key of a charge, in bytes.
const MaxKey = 4096

// Charge asks one bucket of one policy for some units. The caller owns Key and
// must not change it while a store has the charge.
type Charge struct {
	Policy *Policy
	// Key names the bucket among the policy's. Any bytes are a key, also none.
	Key []byte
	Ask
	// Shadow charges are decided and counted like the others, and never refuse.
	Shadow bool
}

// Store keeps buckets and settles charges.
//
// Take settles all charges at one instant, or none: verdicts[i] answers
// charges[i], evaluated one after the other, and if the verdict of any charge
// without Shadow is not OK, no bucket is charged. Then the verdicts tell of the
// buckets as they are: a charge that was refused is told when its bucket has room for
// all that the request's enforced charges want of it, or [Never]. A shadow charge that
// does not fit is not charged and does not refuse. The two slices have the same length;
// charges hold at most [MaxCharges]. Charges of unlimited policies never arrive.
//
// Policies of one name may count one bucket in turn, under different limits and by
// different algorithms. Each sees the bucket as of its last charge, spent by at most
// its own capacity; what it lets off is kept as [Debt] for the others.
//
// now is the instant of the decision, below 2^53; 0 means the store's own clock, and a
// shared store may always use its own. Take returns the instant it used.
//
// An error means that the store can not tell; then nothing may be concluded from
// the verdicts. The exception is [ErrDegraded]. A refusal is not an error.
type Store interface {
	Take(ctx context.Context, now Micros, charges []Charge, verdicts []Verdict) (Micros, error)
}

// OneStore is a Store that settles a single charge without a list. A store that
// answers in nanoseconds implements it; a [Limiter] uses it where it can.
type OneStore interface {
	Store
	// TakeOne is Take for one charge that is not a shadow.
	TakeOne(ctx context.Context, now Micros, p *Policy, key string, ask Ask) (Micros, Verdict, error)
}

// BoundedStore is a Store that can bound by itself how long its callers wait, for less
// than a context with a deadline costs.
type BoundedStore interface {
	Store
	// Within returns the same store for callers who wait at most so long; 0 means for
	// ever. The error of one who waited in vain is [context.DeadlineExceeded].
	Within(wait time.Duration) Store
}

// PartedStore is a Store whose parts fail apart from each other, as the servers of
// a cluster do. What stands before it and watches over it can leave one part alone
// and ask the others.
type PartedStore interface {
	Store
	// Parts says which parts the charges are about: bit i stands for part i of at
	// most 64. It asks nobody, and does not wait.
	Parts(charges []Charge) uint64
}

// PartError is an error of a Store that knows what of it has failed.
type PartError struct {
	// Parts are those that failed, as [PartedStore] counts them; a store without
	// parts is part 0. None means that the store is well, and that the error is about
	// the charges.
	Parts uint64
	// Err is what happened.
	Err error
}

// Error implements error.
func (e *PartError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PartError) Unwrap() error { return e.Err }
