package failover_test

import (
	"context"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/storetest"
)

// instant is a store that answers at once and allocates nothing. Its parts are two.
type instant struct{}

func (instant) Take(context.Context, stint.Micros, []stint.Charge, []stint.Verdict) (stint.Micros, error) {
	return 1, nil
}

func (instant) Parts([]stint.Charge) uint64 { return 1 | 1<<40 }

// instantWithin is one that bounds waits by itself.
type instantWithin struct{ instant }

func (i instantWithin) Within(time.Duration) stint.Store { return i.instant }

// TestABoundOfTheStoresOwnAllocatesNothing: a store that bounds the wait needs no
// context with a deadline.
func TestABoundOfTheStoresOwnAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s, err := failover.New(failover.Options{Store: instantWithin{}, Local: storetest.NewReference()})
	if err != nil {
		t.Fatal(err)
	}
	charges, verdicts := make([]stint.Charge, 2), make([]stint.Verdict, 2)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := s.Take(t.Context(), 0, charges, verdicts); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func openInstant(t testing.TB, o failover.Options) (take func(ctx context.Context)) {
	t.Helper()
	o.Store, o.Local = instant{}, storetest.NewReference()
	s, err := failover.New(o)
	if err != nil {
		t.Fatal(err)
	}
	charges, verdicts := make([]stint.Charge, 2), make([]stint.Verdict, 2)
	return func(ctx context.Context) {
		if _, err := s.Take(ctx, 0, charges, verdicts); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnlyTheDeadlineAllocates: what a decision passes on its way to a store that is
// well allocates no more than a context with a deadline.
func TestOnlyTheDeadlineAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	take := openInstant(t, failover.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	want := testing.AllocsPerRun(1000, func() {
		_, cancel := context.WithTimeout(ctx, failover.DefaultDeadline)
		cancel()
	})
	if got := testing.AllocsPerRun(1000, func() { take(ctx) }); got > want {
		t.Errorf("%v allocations for a decision, %v for its deadline", got, want)
	}
}

func BenchmarkTake(b *testing.B) {
	take := openInstant(b, failover.Options{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		take(ctx)
	}
}

func BenchmarkTakeParallel(b *testing.B) {
	take := openInstant(b, failover.Options{})
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			take(context.Background())
		}
	})
}

func BenchmarkDeadline(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		_, cancel := context.WithTimeout(ctx, failover.DefaultDeadline)
		cancel()
	}
}
