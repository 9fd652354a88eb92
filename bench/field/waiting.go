package field

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/juju/ratelimit"
	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

// Wait blocks until a unit of the bucket is due.
type Wait func(ctx context.Context) error

// Waiter is a limiter that lets its callers wait: one unit at once, then so many a
// second.
type Waiter struct {
	Name string
	Open func(perSecond int) Wait
}

// Waiters lists those that do, Stint first.
func Waiters() []Waiter {
	return []Waiter{
		{Name: Stint, Open: waitStint},
		{Name: "x/time/rate", Open: func(n int) Wait { return rate.NewLimiter(rate.Limit(n), 1).Wait }},
		{Name: "juju/ratelimit", Open: func(n int) Wait {
			b := ratelimit.NewBucket(time.Second/time.Duration(n), 1)
			return func(context.Context) error { b.Wait(1); return nil }
		}},
		{Name: "failsafe-go", Open: func(n int) Wait {
			return ratelimiter.NewSmoothWithMaxRate[any](time.Second / time.Duration(n)).AcquirePermit
		}},
		{Name: "uber-go/ratelimit", Open: func(n int) Wait {
			l := uber.New(n, uber.WithoutSlack)
			return func(context.Context) error { l.Take(); return nil }
		}},
	}
}

func waitStint(perSecond int) Wait {
	s := must(memstore.New(memstore.Options{}))
	return WaitStint(s, perSecond)
}

// WaitStint waits with Stint on a store.
func WaitStint(s stint.Store, perSecond int) Wait {
	limit := stint.Limit{Count: int64(perSecond), Window: time.Second, Burst: 1}
	p := must(stint.NewPolicy(fmt.Sprintf("wait-%d", perSecond), limit, algo.TokenBucket))
	l := &stint.Limiter{Store: s}
	return func(ctx context.Context) error {
		d, err := l.Wait(ctx, stint.Charge{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}})
		if err == nil && !d.Allowed {
			err = errors.New("refused: " + string(d.Reason))
		}
		return err
	}
}

// Waited is what came of callers who waited one after the other.
type Waited struct {
	Passed int
	Last   time.Time // when the last of them passed
}

// Run lets workers wait from start on, for so long.
func (w Wait) Run(workers int, start time.Time, length time.Duration) (Waited, error) {
	type end struct {
		Waited
		err error
	}
	ends := make(chan end, workers)
	time.Sleep(time.Until(start))
	for range workers {
		go func() {
			var e end
			for e.err == nil && e.Last.Sub(start) < length {
				e.err = w(context.Background())
				e.Passed++
				e.Last = time.Now()
			}
			ends <- e
		}()
	}
	var all Waited
	var err error
	for range workers {
		e := <-ends
		all.Passed += e.Passed
		if e.Last.After(all.Last) {
			all.Last = e.Last
		}
		err = errors.Join(err, e.err)
	}
	return all, err
}

// OfLimit is the rate by the limit's. A bucket of one unit never lets it pass 1.
func (w Waited) OfLimit(start time.Time, perSecond int) float64 {
	return float64(w.Passed-1) / (w.Last.Sub(start).Seconds() * float64(perSecond))
}
