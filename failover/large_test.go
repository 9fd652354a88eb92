package failover_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/storetest"
)

// down is a store that is away.
type down struct{}

func (down) Take(context.Context, stint.Micros, []stint.Charge, []stint.Verdict) (stint.Micros, error) {
	return 0, errDown
}

// server is one of a fleet whose shared store is away.
type server struct {
	testing.TB
	store *failover.Store
}

func newServer(t testing.TB, fleet int, local stint.Store) *server {
	t.Helper()
	store, err := failover.New(failover.Options{
		Store: down{}, Local: local, Failures: 1, Probe: 1000 * time.Hour, Fleet: func() int { return fleet },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &server{t, store}
}

// take asks at an instant.
func (s *server) take(now stint.Micros, charges ...stint.Charge) []stint.Verdict {
	s.Helper()
	verdicts := make([]stint.Verdict, len(charges))
	if _, err := s.store.Take(context.Background(), now, charges, verdicts); !errors.Is(err, stint.ErrDegraded) {
		s.Fatal(err)
	}
	return verdicts
}

func policyOf(t testing.TB, name string, a stint.Algorithm, l stint.Limit) *stint.Policy {
	t.Helper()
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func charge(p *stint.Policy, key string, cost int64) stint.Charge {
	return stint.Charge{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}
}

// start is the beginning of a window of each length in these tests.
const start = stint.Micros(1_800_000_000_000_000)

// model is one bucket of one server, that keeps all charges it has admitted.
type model struct {
	policy      *stint.Policy
	count, most int64 // of the share
	window      stint.Micros
	charges     []admitted
	free        stint.Micros // windows before are given up
}

type admitted struct {
	at   stint.Micros
	cost int64
}

// newModel is for a fleet that divides the limit evenly.
func newModel(p *stint.Policy, fleet int64) *model {
	m := &model{policy: p, count: p.Limit.Count / fleet, window: stint.Micros(p.Limit.Window.Microseconds())}
	m.most = p.Limit.Capacity() / fleet
	return m
}

// used is what counts at an instant, in units × window.
func (m *model) used(at stint.Micros) int64 {
	sum, window := int64(0), int64(m.window)
	begin := at - at%m.window
	last := stint.Micros(0)
	for _, c := range m.charges {
		switch m.policy.Algorithm {
		case algo.TokenBucket:
			sum, last = max(0, sum-int64(c.at-last)*m.count)+c.cost*window, c.at
		case algo.FixedWindow:
			if c.at >= begin {
				sum += c.cost * window
			}
		case algo.SlidingWindowCounter:
			switch {
			case c.at >= begin:
				sum += c.cost * window
			case c.at >= begin-m.window:
				sum += c.cost * int64(m.window-at%m.window)
			}
		case algo.SlidingWindowLog:
			if c.at > at-m.window {
				sum += c.cost * window
			}
		}
	}
	if m.policy.Algorithm == algo.TokenBucket {
		sum = max(0, sum-int64(at-last)*m.count)
	}
	return sum
}

// fits says whether a cost passes at an instant.
func (m *model) fits(at stint.Micros, cost int64) bool {
	if at < m.free || cost > m.policy.Capacity() {
		return false
	}
	return m.used(at)+min(cost, m.most)*int64(m.window) <= m.most*int64(m.window)
}

// add admits a cost.
func (m *model) add(at stint.Micros, cost int64) {
	if cost > m.most && m.policy.Algorithm != algo.TokenBucket {
		m.free = at + stint.Micros((cost+m.most-1)/m.most)*m.window
		cost = m.most
	}
	m.charges = append(m.charges, admitted{at, cost})
	if len(m.charges) > 300 && m.policy.Algorithm != algo.TokenBucket {
		m.charges = m.charges[100:]
	}
}

// TestCostsAboveTheShare asks one of two servers for random costs of several rules at
// once, shadows among them, and compares each answer with the models. Who is told a
// wait passes after it, and not a microsecond sooner.
func TestCostsAboveTheShare(t *testing.T) {
	for name, local := range map[string]func() stint.Store{
		"reference": func() stint.Store { return storetest.NewReference() },
		"memory": func() stint.Store {
			s, err := memstore.New(memstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(40) {
				compareWithModels(t, rand.New(rand.NewPCG(seed, 1)), local())
			}
		})
	}
}

func compareWithModels(t *testing.T, r *rand.Rand, local stint.Store) {
	const fleet = 2
	s := newServer(t, fleet, local)
	var models []*model
	for i, a := range []stint.Algorithm{algo.TokenBucket, algo.FixedWindow, algo.SlidingWindowCounter, algo.SlidingWindowLog} {
		l := stint.Limit{Count: fleet * (1 + r.Int64N(8)), Window: time.Duration(10+r.IntN(90)) * time.Millisecond}
		if a == algo.TokenBucket {
			l.Burst = fleet * (1 + r.Int64N(8))
		}
		models = append(models, newModel(policyOf(t, fmt.Sprint("p", i), a, l), fleet))
	}
	for now, ask := start, 0; ask < 400; ask++ {
		now += stint.Micros(r.Int64N(40_000))
		var charges []stint.Charge
		var of []*model
		for _, i := range r.Perm(len(models))[:1+r.IntN(len(models))] {
			m := models[i]
			c := charge(m.policy, "k", 1+r.Int64N(m.policy.Capacity()+r.Int64N(3)))
			c.Shadow = r.IntN(3) == 0
			charges, of = append(charges, c), append(of, m)
		}
		verdicts := s.take(now, charges...)
		passes := true
		for i, m := range of {
			c, v := charges[i], verdicts[i]
			fits := m.fits(now, c.Cost)
			passes = passes && (fits || c.Shadow)
			if v.OK != fits {
				t.Fatalf("ask %d at %d: %s %v, cost %d of a share of %d: %+v", ask, now-start, m.policy.Algorithm.Name(), m.policy.Limit, c.Cost, m.most, v)
			}
			if wait := stint.Micros(v.RetryAfter.Microseconds()); !fits && v.RetryAfter == stint.Never && c.Cost <= m.policy.Capacity() ||
				!fits && v.RetryAfter != stint.Never && (!m.fits(now+wait, c.Cost) || m.fits(now+wait-1, c.Cost)) {
				t.Fatalf("ask %d at %d: %s %v, cost %d of a share of %d: a wait of %v", ask, now-start, m.policy.Algorithm.Name(), m.policy.Limit, c.Cost, m.most, v.RetryAfter)
			}
		}
		for i, m := range of {
			if passes && verdicts[i].OK {
				m.add(now, charges[i].Cost)
			}
		}
	}
}

// TestLargeCostsAreNoMoreThanTheWhole in the long run: each server is ahead by one
// cost at most.
func TestLargeCostsAreNoMoreThanTheWhole(t *testing.T) {
	const fleet, count, spans = 4, 100, 400
	for _, a := range append([]stint.Algorithm{algo.LeakyQueue{MaxWaiting: 100}}, algo.All...) {
		r := rand.New(rand.NewPCG(3, 4))
		p := policyOf(t, "p", a, stint.Limit{Count: count, Window: time.Second})
		total := int64(0)
		for range fleet {
			s := newServer(t, fleet, storetest.NewReference())
			for now := start; now < start+spans*1_000_000; now += stint.Micros(r.Int64N(300_000)) {
				cost := 1 + r.Int64N(p.Capacity())
				if s.take(now, charge(p, "k", cost))[0].OK {
					total += cost
				}
			}
		}
		if most := count*(spans+1) + fleet*p.Capacity(); total > most || total < count*spans/4 {
			t.Errorf("%s: %d admitted in %d windows of %d, want at most %d", a.Name(), total, spans, count, most)
		}
	}
}

// TestCostsOfOneBucket in one request pass together as one cost would.
func TestCostsOfOneBucket(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.FixedWindow} {
		p := policyOf(t, "p", a, stint.Limit{Count: 12, Window: 12 * time.Second})
		s := newServer(t, 2, storetest.NewReference())
		for i, v := range s.take(start, charge(p, "k", 5), charge(p, "k", 5)) {
			if !v.OK || v.Remaining != 0 {
				t.Errorf("%s: charge %d of 10 on an unused share of 6: %+v", a.Name(), i, v)
			}
		}
		again := s.take(start, charge(p, "k", 5), charge(p, "k", 5))
		for _, v := range again {
			if v.OK || v.RetryAfter == stint.Never || v.RetryAfter != again[0].RetryAfter {
				t.Errorf("%s: asked again: %+v", a.Name(), again)
			}
		}
		later := start + stint.Micros(again[0].RetryAfter.Microseconds())
		if v := s.take(later, charge(p, "k", 5), charge(p, "k", 5)); !v[0].OK || !v[1].OK {
			t.Errorf("%s: after the wait: %+v", a.Name(), v)
		}
	}
}

// TestAllOrNoneAboveTheShare: what a large cost does not get charges nobody.
func TestAllOrNoneAboveTheShare(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.FixedWindow} {
		large := policyOf(t, "large", a, stint.Limit{Count: 10, Window: time.Second})
		other := policyOf(t, "other", algo.TokenBucket, stint.Limit{Count: 10, Window: time.Second})
		s := newServer(t, 2, storetest.NewReference())
		s.take(start, charge(other, "k", 5))
		for range 3 {
			if v := s.take(start, charge(large, "k", 8), charge(other, "k", 1)); !v[0].OK || v[1].OK {
				t.Fatalf("%s: %+v", a.Name(), v)
			}
		}
		if v := s.take(start, charge(large, "k", 8))[0]; !v.OK {
			t.Errorf("%s: charged by a request that was refused: %+v", a.Name(), v)
		}
		if v := s.take(start, charge(large, "k", 8), charge(other, "l", 5)); v[0].OK || !v[1].OK || v[1].Remaining != 5 {
			t.Errorf("%s: %+v", a.Name(), v)
		}
		if v := s.take(start, charge(other, "l", 5))[0]; !v.OK {
			t.Errorf("%s: the other is charged by a request that was refused: %+v", a.Name(), v)
		}
	}
}

// TestALargeCostIsGivenBack: a bucket is as it was, and of the windows all but the
// last one are free again.
func TestALargeCostIsGivenBack(t *testing.T) {
	for a, wait := range map[stint.Algorithm]stint.Micros{algo.TokenBucket: 0, algo.FixedWindow: 1_000_000} {
		p := policyOf(t, "p", a, stint.Limit{Count: 10, Window: time.Second})
		s := newServer(t, 2, storetest.NewReference())
		s.take(start, charge(p, "k", 8))
		s.take(start, charge(p, "k", -8))
		if wait > 0 && s.take(start+wait-1, charge(p, "k", 8))[0].OK || !s.take(start+wait, charge(p, "k", 8))[0].OK {
			t.Errorf("%s: does not pass again after %v", a.Name(), wait)
		}
	}
}

// TestManyChargesAboveTheShare: as many as a request can carry, while all of them owe.
func TestManyChargesAboveTheShare(t *testing.T) {
	s := newServer(t, 2, storetest.NewReference())
	var charges, small []stint.Charge
	for i := range stint.MaxCharges {
		p := policyOf(t, fmt.Sprint("p", i), algo.FixedWindow, stint.Limit{Count: 10, Window: time.Second})
		charges, small = append(charges, charge(p, "k", 10)), append(small, charge(p, "k", 1))
	}
	all := func(now stint.Micros, charges []stint.Charge, want stint.Verdict) {
		t.Helper()
		for i, v := range s.take(now, charges...) {
			if v.OK != want.OK || v.RetryAfter != want.RetryAfter {
				t.Fatalf("charge %d: %+v, want %+v", i, v, want)
			}
		}
	}
	all(start, charges, stint.Verdict{OK: true})
	all(start+1_000_000, small, stint.Verdict{RetryAfter: time.Second})
	all(start+2_000_000, small, stint.Verdict{OK: true})
}

// TestAShareHasARateAndACapacity: it is not the one or the other.
func TestAShareHasARateAndACapacity(t *testing.T) {
	for _, limit := range []string{"1 per second, burst 20", "60 per minute, burst 20"} {
		l, err := stint.ParseLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		s, p, passed := newServer(t, 2, storetest.NewReference()), policyOf(t, "p", algo.TokenBucket, l), 0
		for range 30 {
			if s.take(start, charge(p, "k", 1))[0].OK {
				passed++
			}
		}
		if passed != 10 {
			t.Errorf("%s: %d pass at once at one of two servers, want 10", limit, passed)
		}
		passed = 0
		for i := range 100 {
			if s.take(start+stint.Micros(1+i)*1_000_000, charge(p, "k", 1))[0].OK {
				passed++
			}
		}
		if passed != 50 {
			t.Errorf("%s: %d pass in 100 s, want 50", limit, passed)
		}
	}
}

// hesitant is a store that lets others run after each call.
type hesitant struct{ stint.Store }

func (h hesitant) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	defer func() {
		for range 20 {
			runtime.Gosched()
		}
	}()
	return h.Store.Take(ctx, now, charges, verdicts)
}

// TestLargeAndSmallAtOnce: of many at one instant either one large cost passes or as
// many small ones as the share has. What the large one owes is known to those that
// come in the next window while it is being settled.
func TestLargeAndSmallAtOnce(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.FixedWindow} {
		p := policyOf(t, "p", a, stint.Limit{Count: 8, Window: time.Second})
		for _, later := range []stint.Micros{0, 1_000_000} {
			for range 100 {
				s := newServer(t, 2, hesitant{storetest.NewReference()})
				var large, small atomic.Int64
				var all sync.WaitGroup
				for i := range 12 {
					all.Go(func() {
						if i%2 == 0 && s.take(start+later, charge(p, "k", 1))[0].OK {
							small.Add(1)
						}
						if i%2 == 1 && s.take(start, charge(p, "k", 8))[0].OK {
							large.Add(1)
						}
					})
				}
				all.Wait()
				if large, small := large.Load(), small.Load(); large > 1 || large == 1 && small > 0 || large == 0 && small != 4 {
					t.Fatalf("%s: %d large and %d small", a.Name(), large, small)
				}
			}
		}
	}
}

// TestAPolicyOwesHoweverManyOthersDo: what one key has taken in advance is not forgotten
// for what thousands of other policies take.
func TestAPolicyOwesHoweverManyOthersDo(t *testing.T) {
	local, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, 10, local)
	limit := stint.Limit{Count: 100, Window: time.Hour}
	p := policyOf(t, "first", algo.FixedWindow, limit)
	now := storetest.Start
	if !s.take(now, charge(p, "k", 100))[0].OK {
		t.Fatal("a cost of the whole limit does not pass where nothing is used")
	}
	for i := range 5000 {
		s.take(now, charge(policyOf(t, fmt.Sprint("other ", i), algo.FixedWindow, limit), "k", 100))
	}
	now += stint.Micros(time.Hour / time.Microsecond)
	if s.take(now, charge(p, "k", 1))[0].OK {
		t.Error("a window that was taken in advance is free")
	}
}
