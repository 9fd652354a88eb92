package admin

import (
	"context"
	"time"

	"github.com/stint-dev/stint"
)

// timed measures a decider.
type timed struct {
	admin *Admin
	next  stint.Decider
}

// Timed returns a decider that answers as next does and measures how long it
// takes.
func (a *Admin) Timed(next stint.Decider) stint.Decider { return &timed{admin: a, next: next} }

// Decide implements [stint.Decider].
func (t *timed) Decide(ctx context.Context, src stint.Source, d *stint.Decision) error {
	start := time.Now()
	err := t.next.Decide(ctx, src, d)
	t.admin.seconds.Observe(time.Since(start).Seconds())
	return err
}
