package stint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limiter asks a store and folds its verdicts into decisions. Only Store must be
// set. A Limiter is safe for concurrent use and must not be copied after its
// first use.
type Limiter struct {
	// Store keeps the counts.
	Store Store
	// Clock gives the time of a decision. Left nil, the store's own clock is
	// used; in memory that one is monotonic. Tests and replays set it.
	Clock func() time.Time
	// Observe, if set, sees every decision before it is returned. It must not
	// keep d or change it.
	Observe func(d *Decision)

	scratch sync.Pool
	lines   lines
	turns   turns
}

// scratch is what a call with a single key needs while the store has it.
type scratch struct {
	charges  [1]Charge
	verdicts [1]Verdict
	key      []byte
	observed Decision
}

// now is the instant to pass to the store.
func (l *Limiter) now() Micros {
	if l.Clock == nil {
		return 0
	}
	return max(MicrosOf(l.Clock()), 1)
}

// Allow asks for one unit of key's bucket. The decision's Results and Key are
// empty: it is about one policy and the caller knows the key.
func (l *Limiter) Allow(ctx context.Context, p *Policy, key string) (Decision, error) {
	return l.one(ctx, p, key, Ask{Cost: 1})
}

// AllowN asks for n units of key's bucket. n must be at least 0; a decision for
// 0 units is that of [Limiter.Peek].
func (l *Limiter) AllowN(ctx context.Context, p *Policy, key string, n int64) (Decision, error) {
	if n < 0 {
		return Decision{}, fmt.Errorf("cost %d is negative: use Refund to give units back", n)
	}
	return l.one(ctx, p, key, Ask{Cost: n})
}

// Peek says what a request of cost 1 would get, and charges nothing.
func (l *Limiter) Peek(ctx context.Context, p *Policy, key string) (Decision, error) {
	return l.one(ctx, p, key, Ask{})
}

// Refund gives n units back, at most up to a full bucket. n must be at least 1.
func (l *Limiter) Refund(ctx context.Context, p *Policy, key string, n int64) (Decision, error) {
	if n < 1 {
		return Decision{}, fmt.Errorf("a refund of %d units: at least 1", n)
	}
	return l.one(ctx, p, key, Ask{Cost: -n})
}

// Force charges n units whatever the limit says. What is over the limit is debt
// and has to be paid off before anything passes again. n must be at least 1.
func (l *Limiter) Force(ctx context.Context, p *Policy, key string, n int64) (Decision, error) {
	if n < 1 {
		return Decision{}, fmt.Errorf("a forced charge of %d units: at least 1", n)
	}
	return l.one(ctx, p, key, Ask{Cost: n, Forced: true})
}

// Reset forgets all use of key's bucket.
func (l *Limiter) Reset(ctx context.Context, p *Policy, key string) error {
	_, err := l.one(ctx, p, key, Ask{Cost: -MaxUnits})
	return err
}

// one asks a single bucket without allocating.
func (l *Limiter) one(ctx context.Context, p *Policy, key string, ask Ask) (Decision, error) {
	if l.Store == nil {
		return Decision{}, errNoStore
	}
	if len(key) > MaxKey {
		return Decision{}, fmt.Errorf("key of %d bytes: at most %d", len(key), MaxKey)
	}
	s, _ := l.scratch.Get().(*scratch)
	if s == nil {
		s = new(scratch)
	}
	s.key = append(s.key[:0], key...)
	s.charges[0] = Charge{Policy: p, Key: s.key, Ask: ask}
	d := Decision{Allowed: true, Result: Result{
		Policy: p.Name, Limit: p.Limit, Capacity: p.Capacity(), Cost: ask.Cost, Unlimited: p.Algorithm == nil,
	}}
	if p.Algorithm == nil {
		d.OK = true
	} else {
		at, err := l.Store.Take(ctx, l.now(), s.charges[:], s.verdicts[:])
		if err != nil {
			l.scratch.Put(s)
			return Decision{}, err
		}
		d.At, d.Verdict = at, s.verdicts[0]
		d.settle()
	}
	if l.Observe != nil {
		s.observed = d
		s.observed.Key = s.key
		l.Observe(&s.observed)
	}
	l.scratch.Put(s)
	return d, nil
}

// Take settles several charges together: all or none. Each policy's say is in
// Results. The decision is the caller's.
func (l *Limiter) Take(ctx context.Context, charges ...Charge) (Decision, error) {
	var d Decision
	err := l.Decide(ctx, charges, &d)
	return d, err
}

// Decide is [Limiter.Take] into a decision whose storage is used again: it
// allocates nothing once d has grown. The keys in d are those of charges.
func (l *Limiter) Decide(ctx context.Context, charges []Charge, d *Decision) error {
	d.Clear()
	if l.Store == nil {
		return errNoStore
	}
	if len(charges) > MaxCharges {
		return fmt.Errorf("%d charges for one request: at most %d", len(charges), MaxCharges)
	}
	if cap(d.verdicts) < len(charges) {
		d.verdicts = make([]Verdict, len(charges), max(len(charges), 8))
	}
	d.verdicts = d.verdicts[:len(charges)]
	if err := l.settle(ctx, charges, d); err != nil {
		d.Clear()
		return err
	}
	d.fold(charges, d.verdicts)
	if d.Delay > 0 {
		l.lines.join(l, charges, d)
	}
	if l.Observe != nil {
		l.Observe(d)
	}
	return nil
}

// settle sends the charges that count to the store.
func (l *Limiter) settle(ctx context.Context, charges []Charge, d *Decision) (err error) {
	counted := 0
	for i := range charges {
		if charges[i].Policy.Algorithm != nil {
			counted++
		}
	}
	switch counted {
	case 0:
		d.At = l.now()
		for i := range charges {
			d.verdicts[i] = Verdict{OK: true}
		}
	case len(charges):
		d.At, err = l.Store.Take(ctx, l.now(), charges, d.verdicts)
	default:
		d.At, err = l.settleSome(ctx, charges, d.verdicts)
	}
	return err
}

// settleSome is settle for charges of which some are unlimited.
func (l *Limiter) settleSome(ctx context.Context, charges []Charge, verdicts []Verdict) (Micros, error) {
	var some [MaxCharges]Charge
	var said [MaxCharges]Verdict
	n := 0
	for i := range charges {
		if charges[i].Policy.Algorithm != nil {
			some[n] = charges[i]
			n++
		}
	}
	at, err := l.Store.Take(ctx, l.now(), some[:n], said[:n])
	n = 0
	for i := range charges {
		verdicts[i] = Verdict{OK: true}
		if charges[i].Policy.Algorithm != nil {
			verdicts[i] = said[n]
			n++
		}
	}
	return at, err
}

// errNoStore is the error of a limiter without a store.
var errNoStore = errors.New("the limiter has no store: set Limiter.Store, for example to memstore.New")
