package memstore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// TestAChangeOfAlgorithmTouchesOneSegment: the first request after a reload must not
// wait for all the buckets of its rule. It converts its own, and at most makes room for
// a third word in the slots of one segment.
func TestAChangeOfAlgorithmTouchesOneSegment(t *testing.T) {
	const keys = 100_000
	s := open(t, Options{})
	before := named(t, "p", stint.Limit{Count: 5, Window: time.Hour}, algo.TokenBucket)
	after := named(t, "p", stint.Limit{Count: 5, Window: time.Hour}, algo.SlidingWindowCounter)
	for i := range keys {
		askOne(t, s, before, fmt.Sprint("k", i), start, 1)
	}
	type place struct {
		g     *segment
		slots *int64
	}
	places := make(map[place]bool)
	for g := range s.tables["p"].locked() {
		places[place{g, &g.slots[0]}] = true
	}
	if v := askOne(t, s, after, "k7", start, 1); v.Remaining != 3 {
		t.Errorf("%d left, want 3", v.Remaining)
	}
	moved, converted := 0, 0
	for g := range s.tables["p"].locked() {
		if !places[place{g, &g.slots[0]}] {
			moved++
		}
		for i := range g.all() {
			if _, v, _ := g.first(i); v.counts(after) {
				converted++
			}
		}
	}
	if moved > 1 || converted != 1 {
		t.Errorf("%d segments were moved and %d buckets converted, want one", moved, converted)
	}
	for i := range keys {
		if want := int64(4); i != 7 && askOne(t, s, after, fmt.Sprint("k", i), start, 0).Remaining != want {
			t.Fatalf("key %d has not %d left", i, want)
		}
	}
	checkStructure(t, s)
}

// TestAlgorithmsInTurnUnderLoad: requests with the old rules and the new ones are under
// way at once. Each key passes exactly as often as either limit says.
func TestAlgorithmsInTurnUnderLoad(t *testing.T) {
	const keys, most = 300, 20
	all := algorithms()
	for n, a := range all[:len(all)-1] { // a queue admits more
		b := all[(n+1)%(len(all)-1)]
		s := open(t, Options{})
		var passed [keys]atomic.Int64
		var work sync.WaitGroup
		for w := range 4 {
			p := named(t, "p", stint.Limit{Count: most, Window: 24 * time.Hour}, []stint.Algorithm{a, b}[w%2])
			work.Go(func() {
				for round := range 2 * most {
					for i := range keys {
						i = (i*7 + w*keys/4 + round) % keys
						if askOne(t, s, p, fmt.Sprint(i), start, 1).OK {
							passed[i].Add(1)
						}
					}
				}
			})
		}
		work.Wait()
		checkStructure(t, s)
		for i := range keys {
			if got := passed[i].Load(); got != most {
				t.Errorf("%s and %s: key %d passed %d times, want %d", a.Name(), b.Name(), i, got, most)
			}
		}
		if got := s.Stats().Buckets; got != keys {
			t.Errorf("%s and %s: %d buckets, want %d", a.Name(), b.Name(), got, keys)
		}
	}
}
