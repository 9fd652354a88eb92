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
	waits   waitQueues
}

// scratch is what a call needs while the store has its charges.
type scratch struct {
	charges  [MaxCharges]Charge
	verdicts [MaxCharges]Verdict
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
func (l *Limiter) Allow(ctx context.Context, p *Policy, key string) (d Decision, err error) {
	err = l.one(ctx, p, key, Ask{Cost: 1}, &d)
	return d, err
}

// AllowN asks for n units of key's bucket. n must be at least 0; a decision for
// 0 units is that of [Limiter.Peek].
func (l *Limiter) AllowN(ctx context.Context, p *Policy, key string, n int64) (d Decision, err error) {
	if n < 0 {
		return d, fmt.Errorf("cost %d is negative: use Refund to give units back", n)
	}
	err = l.one(ctx, p, key, Ask{Cost: n}, &d)
	return d, err
}

// Peek says what a request of cost 1 would get, and charges nothing.
func (l *Limiter) Peek(ctx context.Context, p *Policy, key string) (d Decision, err error) {
	err = l.one(ctx, p, key, Ask{}, &d)
	return d, err
}

// Refund gives n units back, at most up to a full bucket. n must be at least 1.
func (l *Limiter) Refund(ctx context.Context, p *Policy, key string, n int64) (d Decision, err error) {
	if n < 1 {
		return d, fmt.Errorf("a refund of %d units: at least 1", n)
	}
	err = l.one(ctx, p, key, Ask{Cost: -n}, &d)
	return d, err
}

// Force charges n units whatever the limit says. What is over the limit is debt
// and has to be paid off before anything passes again. n must be at least 1.
func (l *Limiter) Force(ctx context.Context, p *Policy, key string, n int64) (d Decision, err error) {
	if n < 1 {
		return d, fmt.Errorf("a forced charge of %d units: at least 1", n)
	}
	err = l.one(ctx, p, key, Ask{Cost: n, Forced: true}, &d)
	return d, err
}

// Reset forgets all use of key's bucket.
func (l *Limiter) Reset(ctx context.Context, p *Policy, key string) error {
	var d Decision
	return l.one(ctx, p, key, Ask{Cost: -MaxUnits}, &d)
}

// one asks a single bucket, without allocating. d is the zero Decision and stays
// it on an error.
func (l *Limiter) one(ctx context.Context, p *Policy, key string, ask Ask, d *Decision) error {
	store, ok := l.Store.(OneStore)
	if !ok || p == nil || p.Algorithm == nil || len(key) > MaxKey {
		return l.oneOfMany(ctx, p, key, ask, d)
	}
	var now Micros
	if l.Clock != nil {
		now = l.now()
	}
	at, v, err := store.TakeOne(ctx, now, p, key, ask)
	if err != nil && !d.degrade(err) {
		return err
	}
	d.At, d.Verdict = at, v
	l.conclude(p, key, ask, d)
	return nil
}

// conclude fills the decision about one bucket.
func (l *Limiter) conclude(p *Policy, key string, ask Ask, d *Decision) {
	d.Policy, d.Limit, d.Cost = p.Name, p.Limit, ask.Cost
	d.Capacity, d.Unlimited = p.capacity, p.Algorithm == nil
	if d.Remaining == Unknown {
		d.Remaining, d.Unknown = 0, true
	}
	if d.Allowed = d.OK; !d.OK {
		d.explain()
	}
	if l.Observe != nil {
		l.observe(d, key)
	}
}

// oneOfMany is one for a store that takes lists only.
func (l *Limiter) oneOfMany(ctx context.Context, p *Policy, key string, ask Ask, d *Decision) error {
	switch {
	case l.Store == nil:
		return errNoStore
	case len(key) > MaxKey:
		return fmt.Errorf("key of %d bytes: at most %d", len(key), MaxKey)
	}
	s := l.borrow()
	defer l.scratch.Put(s)
	s.key = append(s.key[:0], key...)
	s.charges[0] = Charge{Policy: p, Key: s.key, Ask: ask}
	at, err := l.settle(ctx, s.charges[:1], s.verdicts[:1])
	if err != nil && !d.degrade(err) {
		return err
	}
	d.At, d.Verdict = at, s.verdicts[0]
	l.conclude(p, key, ask, d)
	return nil
}

// observe shows the decision about key to Observe.
func (l *Limiter) observe(d *Decision, key string) {
	s := l.borrow()
	defer l.scratch.Put(s)
	s.key = append(s.key[:0], key...)
	s.observed = *d
	s.observed.Key = s.key
	l.Observe(&s.observed)
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
	if d.held == nil {
		d.held = new(held)
	}
	if cap(d.held.verdicts) < len(charges) {
		d.held.verdicts = make([]Verdict, max(len(charges), 8))
	}
	verdicts := d.held.verdicts[:len(charges)]
	if canDelay(charges) {
		d.held.send()
	}
	at, err := l.settle(ctx, charges, verdicts)
	if err != nil && !d.degrade(err) {
		d.Clear()
		return err
	}
	d.At = at
	d.fold(charges, verdicts)
	if d.Delay > 0 {
		d.keepTaken(l, charges)
	}
	if l.Observe != nil {
		l.Observe(d)
	}
	return nil
}

// canDelay says whether a decision about charges may have a Delay.
func canDelay(charges []Charge) bool {
	for i := range charges {
		if p := charges[i].Policy; charges[i].MaxDelay > 0 || p != nil && p.queues {
			return true
		}
	}
	return false
}

// settle sends the charges that count to the store.
func (l *Limiter) settle(ctx context.Context, charges []Charge, verdicts []Verdict) (Micros, error) {
	counted := 0
	for i := range charges {
		switch p := charges[i].Policy; {
		case p == nil:
			return 0, fmt.Errorf("charge %d has no policy", i)
		case p.Algorithm != nil:
			counted++
		}
	}
	switch counted {
	case len(charges):
		if counted > 0 {
			return l.Store.Take(ctx, l.now(), charges, verdicts)
		}
	case 0:
		for i := range charges {
			verdicts[i] = Verdict{OK: true}
		}
	default:
		return l.settleSome(ctx, charges, verdicts)
	}
	return l.now(), nil
}

// settleSome is settle for charges of which some are unlimited.
func (l *Limiter) settleSome(ctx context.Context, charges []Charge, verdicts []Verdict) (Micros, error) {
	s := l.borrow()
	defer l.scratch.Put(s)
	n := 0
	for i := range charges {
		if charges[i].Policy.Algorithm != nil {
			s.charges[n] = charges[i]
			n++
		}
	}
	at, err := l.Store.Take(ctx, l.now(), s.charges[:n], s.verdicts[:n])
	n = 0
	for i := range charges {
		verdicts[i] = Verdict{OK: true}
		if charges[i].Policy.Algorithm != nil {
			verdicts[i] = s.verdicts[n]
			n++
		}
	}
	clear(s.charges[:n])
	return at, err
}

func (l *Limiter) borrow() *scratch {
	if s, ok := l.scratch.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

// errNoStore is the error of a limiter without a store.
var errNoStore = errors.New("the limiter has no store: set Limiter.Store, for example to memstore.New")
