package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/storetest"
)

// TestLimitsInTurn plays the games that hold limits in turn to the largest of them.
func TestLimitsInTurn(t *testing.T) {
	n := storetest.Games()
	if raceEnabled {
		n = min(n, 50)
	}
	turns := storetest.Turns{Store: newStore(t, memstore.Options{}), Seed: storetest.Seed()}
	if err := turns.Differ(n); err != nil {
		t.Fatal(err)
	}
}

// TestRefuseNewTouchesNoOtherBucket asks for 31 known keys and a new one together, in a
// full store where some buckets are worth nothing: what is dropped to make room must
// not send a charge to the bucket of another key.
func TestRefuseNewTouchesNoOtherBucket(t *testing.T) {
	const keys = 31
	s := newStore(t, memstore.Options{MaxBuckets: 400, WhenFull: memstore.RefuseNew})
	model := storetest.NewReference()
	known, short := named(t, "p", "1000000 per 300 days", algo.TokenBucket), named(t, "p", "1 per 5s", algo.TokenBucket)
	spent := named(t, "p", "2 per 300 days", algo.TokenBucket)
	both := func(now stint.Micros, charges ...stint.Charge) {
		t.Helper()
		got, want := make([]stint.Verdict, len(charges)), make([]stint.Verdict, len(charges))
		if _, err := s.Take(context.Background(), now, charges, got); err != nil {
			t.Fatal(err)
		}
		for _, v := range got {
			if !v.OK {
				return
			}
		}
		if _, err := model.Take(context.Background(), now, charges, want); err != nil {
			t.Fatal(err)
		}
	}
	now := t0
	for i := range keys {
		both(now, charge(known, fmt.Sprint("known", i), 1))
	}
	for i := range 200 {
		both(now, charge(spent, fmt.Sprint("spent", i), 2))
	}
	r := rand.New(rand.NewPCG(1, 1))
	for round := range 1500 {
		for i := 0; s.Stats().Buckets < 400; i++ {
			both(now, charge(short, fmt.Sprint("short", round, "/", i), 1))
		}
		now += 6_000_000
		var request []stint.Charge
		for i := range keys {
			request = append(request, charge(known, fmt.Sprint("known", i), 1+r.Int64N(3)))
		}
		both(now, append(request, charge(known, fmt.Sprint("new", round), 1))...)
	}
	lost, refilled := 0, 0
	for i := range keys {
		key := fmt.Sprint("known", i)
		if take(t, s, known, key, now, 0) != take(t, model, known, key, now, 0) {
			lost++
		}
	}
	for i := range 200 {
		if take(t, s, spent, fmt.Sprint("spent", i), now, 0).OK {
			refilled++
		}
	}
	if lost > 0 || refilled > 0 {
		t.Errorf("%d of %d known buckets differ, %d spent ones were refilled", lost, keys, refilled)
	}
}

// TestOneBucketTwiceInARefusedRequest tells when there is room for both.
func TestOneBucketTwiceInARefusedRequest(t *testing.T) {
	p := newPolicy(t, "12 per 12s", algo.TokenBucket)
	s := newStore(t, memstore.Options{})
	settle(t, s, charge(p, "k", 10))
	v := settle(t, s, charge(p, "k", 6), charge(p, "k", 6))
	if v[1].OK || v[1].RetryAfter != 10*time.Second {
		t.Errorf("6 and 6 with 2 of 12 left: %+v, want a wait of 10 s", v)
	}
	if v := settle(t, s, charge(p, "k", 10), charge(p, "k", 10)); v[1].OK || v[1].RetryAfter != stint.Never {
		t.Errorf("10 and 10 of 12: %+v, want never", v)
	}
}

// TestAFullStoreRefusesNothingForced also tells no wait where none helps.
func TestAFullStoreRefusesNothingForced(t *testing.T) {
	for _, a := range algorithms() {
		p := newPolicy(t, "5 per hour", a)
		s := almostFull(t, p)
		take(t, s, p, "last", t0, 1)
		none := named(t, "none", "0 per hour", a)
		forced := charge(p, "new", 3)
		forced.Forced = true
		if v := settle(t, s, forced); !v[0].OK {
			t.Errorf("%s: a forced charge in a full store: %+v", a.Name(), v)
		}
		if v := take(t, s, p, "new", t0, 0); !v.OK || v.Remaining != p.Capacity()-3 {
			t.Errorf("%s: after a forced charge of 3 in a full store: %+v", a.Name(), v)
		}
		for _, cost := range []int64{0, 1} {
			if v := take(t, s, none, "other", t0, cost); v.OK || v.RetryAfter != stint.Never {
				t.Errorf("%s: limit 0, cost %d in a full store: %+v, want never", a.Name(), cost, v)
			}
		}
		if v := take(t, s, p, "another", t0, p.Capacity()+1); v.OK || v.RetryAfter != stint.Never {
			t.Errorf("%s: more than the capacity in a full store: %+v, want never", a.Name(), v)
		}
	}
}

// TestAFirstUseAtTheInstantOfTheLastCharge compares what a refusal under a new limit
// keeps with the reference.
func TestAFirstUseAtTheInstantOfTheLastCharge(t *testing.T) {
	for _, a := range algorithms() {
		for _, later := range []stint.Micros{0, 1} {
			s, model := newStore(t, memstore.Options{}), storetest.NewReference()
			short, long := newPolicy(t, "5 per second", a), newPolicy(t, "5 per hour", a)
			for _, step := range []struct {
				p    *stint.Policy
				now  stint.Micros
				cost int64
			}{{short, t0, short.Capacity()}, {long, t0 + later, 1}, {long, t0 + later, 2}, {short, t0 + 900_000, 0}, {long, t0 + 999_999, 1}} {
				got, want := take(t, s, step.p, "k", step.now, step.cost), take(t, model, step.p, "k", step.now, step.cost)
				if got != want {
					t.Errorf("%s, %d later, %+v:\ngot  %+v\nwant %+v", a.Name(), later, step, got, want)
				}
			}
		}
	}
}
