package admin

import (
	"context"
	"time"

	"github.com/stint-dev/stint"
)

// timed measures a store.
type timed struct {
	admin *Admin
	next  stint.Store
}

// timedOne measures a store that is a [stint.OneStore].
type timedOne struct {
	timed
	one stint.OneStore
}

// Timed returns a store that answers as next does and measures how long it takes. It
// is a [stint.OneStore] if next is one.
func (a *Admin) Timed(next stint.Store) stint.Store {
	t := timed{admin: a, next: next}
	if one, ok := next.(stint.OneStore); ok {
		return &timedOne{t, one}
	}
	return &t
}

// Take implements [stint.Store].
func (t *timed) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	start := time.Now()
	at, err := t.next.Take(ctx, now, charges, verdicts)
	t.admin.seconds.Observe(time.Since(start).Seconds())
	return at, err
}

// TakeOne implements [stint.OneStore].
func (t *timedOne) TakeOne(ctx context.Context, now stint.Micros, p *stint.Policy, key string, ask stint.Ask) (stint.Micros, stint.Verdict, error) {
	start := time.Now()
	at, v, err := t.one.TakeOne(ctx, now, p, key, ask)
	t.admin.seconds.Observe(time.Since(start).Seconds())
	return at, v, err
}
