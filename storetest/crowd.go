package storetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// crowds is what must hold when many ask at once.
var crowds = []behaviour{
	{"C136 a crowd at one instant", func(t *testing.T, b *bench) { Rush(t, b.store, 20) }},
	{"C136 each algorithm, 200 at once", everyAlgorithmCrowded},
	{"crossing requests do not block each other", crossing},
	{"a limit changes under a crowd", changeUnderCrowd},
}

// Rush sends 80 requests from 8 goroutines at one instant to a bucket of 20, as
// often as rounds says, and demands that exactly 20 pass each time.
func Rush(t *testing.T, store stint.Store, rounds int) {
	t.Helper()
	p := policy(t, "rush", "20 per 60s", algo.TokenBucket)
	for round := range rounds {
		c := one(p, "round "+strconv.Itoa(round))
		if left := rush(t, store, 8, 10, c); len(left) != 20 {
			t.Fatalf("round %d: %d of 80 passed, want exactly 20", round, len(left))
		}
	}
}

// rush asks from several goroutines, each times, and returns what remained after
// those that passed, sorted.
func rush(t *testing.T, store stint.Store, goroutines, times int, request ...stint.Charge) []int64 {
	t.Helper()
	var mu sync.Mutex
	var left []int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range goroutines {
		wg.Go(func() {
			<-start
			for range times {
				v := make([]stint.Verdict, len(request))
				if _, err := store.Take(context.Background(), Start, request, v); err != nil {
					t.Error(err)
					return
				}
				ok := true
				for i := range v {
					ok = ok && v[i].OK
				}
				if ok {
					mu.Lock()
					left = append(left, v[0].Remaining)
					mu.Unlock()
				}
			}
		})
	}
	close(start)
	wg.Wait()
	slices.Sort(left)
	return left
}

func everyAlgorithmCrowded(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "5 per 60s", a)
		for round := range 5 {
			left := rush(t, b.store, 200, 1, one(p, strconv.Itoa(round)))
			if !slices.Equal(left, []int64{0, 1, 2, 3, 4}) {
				t.Errorf("%s: %v remained after those that passed, want 0 to 4", a.Name(), left)
			}
		}
	}
}

// crossing: requests that name the same buckets in opposite orders.
func crossing(t *testing.T, b *bench) {
	x := policy(t, "x", "100 per 60s", algo.TokenBucket)
	y := policy(t, "y", "60 per 60s", algo.SlidingWindowLog)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { rush(t, b.store, 4, 25, one(x, "k"), one(y, "k")) })
		wg.Go(func() { rush(t, b.store, 4, 25, one(y, "k"), one(x, "k")) })
	}
	wg.Wait()
	b.left(y, "k", 0)
	b.left(x, "k", 40)
}

func changeUnderCrowd(t *testing.T, b *bench) {
	for _, a := range algo.All {
		few, many := policy(t, a.Name(), "30 per 60s", a), policy(t, a.Name(), "60 per 60s", a)
		var wg sync.WaitGroup
		var mu sync.Mutex
		passed := 0
		for _, p := range []*stint.Policy{few, many, few, many} {
			wg.Go(func() {
				n := len(rush(t, b.store, 2, 30, one(p, "k")))
				mu.Lock()
				passed += n
				mu.Unlock()
			})
		}
		wg.Wait()
		if passed != 60 {
			t.Errorf("%s: %d passed, want 60", a.Name(), passed)
		}
	}
}
