package memstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// Each key has a limit of its own, and there are more limits than a table has room
// for: it moves again and again beneath those who ask. No key passes more often than
// its limit says, and where nothing refills meanwhile none less often.
func TestMoreLimitsThanVariantsUnderLoad(t *testing.T) {
	const limits, workers = maxVariants + 100, 4
	for _, a := range []stint.Algorithm{algo.FixedWindow, algo.SlidingWindowCounter, algo.TokenBucket, algo.SlidingWindowLog} {
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		var passed [limits]atomic.Int64
		var work sync.WaitGroup
		for w := range workers {
			work.Go(func() {
				for round := range 3 {
					for i := range limits {
						i = (i*7 + w*limits/workers + round) % limits
						p, err := stint.NewPolicy("p", stint.Limit{Count: int64(i%9 + 1), Window: time.Duration(24+i) * time.Hour}, a)
						if err != nil {
							t.Error(err)
							return
						}
						_, v, err := s.TakeOne(context.Background(), start, p, fmt.Sprint(i), stint.Ask{Cost: 1})
						if err != nil {
							t.Error(err)
						}
						if v.OK {
							passed[i].Add(1)
						}
					}
				}
			})
		}
		work.Wait()
		checkStructure(t, s)
		for i := range limits {
			if n, most := passed[i].Load(), min(int64(i%9+1), 3*workers); n > most || n < most && a == algo.FixedWindow {
				t.Errorf("%s: key %d passed %d times, want %d", a.Name(), i, n, most)
			}
		}
	}
}

// A table that moves lets go of the one before it.
func TestTablesThatMovedAreForgotten(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 * maxVariants {
		p, err := stint.NewPolicy("p", stint.Limit{Count: int64(i + 1), Window: time.Hour}, algo.FixedWindow)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.TakeOne(context.Background(), start, p, fmt.Sprint(i), stint.Ask{Cost: 1}); err != nil {
			t.Fatal(err)
		}
	}
	now := s.tables["p"]
	for i, p := range *now.variants.Load() {
		if h := p.Home(); h != nil && h.Counts.(*home).table != now {
			t.Fatalf("variant %d holds a table of before", i)
		}
	}
}
