package failover_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/storetest"
)

// faulty is a store that can be told to fail or to hang.
type faulty struct {
	stint.Store
	err   error
	hangs bool
	asked int
}

func (f *faulty) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	f.asked++
	if f.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if f.err != nil {
		return 0, f.err
	}
	return f.Store.Take(ctx, now, charges, verdicts)
}

// story is a limiter in front of a faulty store.
type story struct {
	*testing.T
	faulty  *faulty
	store   *failover.Store
	limiter *stint.Limiter
	changes []error
}

func newStory(t *testing.T, o failover.Options) *story {
	t.Helper()
	s := &story{T: t, faulty: &faulty{Store: storetest.NewReference()}}
	o.Store, o.Local = s.faulty, storetest.NewReference()
	o.Changed = func(err error) { s.changes = append(s.changes, err) }
	store, err := failover.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.store, s.limiter = store, &stint.Limiter{Store: store}
	return s
}

func (s *story) policy(limit string, mode stint.FailureMode) *stint.Policy {
	s.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		s.Fatal(err)
	}
	p, err := stint.NewPolicy(limit+string(mode), l, algo.FixedWindow)
	if err != nil {
		s.Fatal(err)
	}
	p.OnStoreFailure = mode
	return p
}

// passes asks n times and returns how many passed.
func (s *story) passes(p *stint.Policy, n int) int {
	s.Helper()
	passed := 0
	for range n {
		d, err := s.limiter.Allow(context.Background(), p, "k")
		if err != nil {
			s.Fatal(err)
		}
		if d.Allowed {
			passed++
		}
	}
	return passed
}

var errDown = errors.New("connection refused")

func TestC065EachPolicyDecidesAsItWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{})
		s.faulty.err = errDown
		local, allow, deny := s.policy("10 per 60s", stint.FailLocal), s.policy("10 per 60s", stint.FailAllow), s.policy("10 per 60s", stint.FailDeny)
		if n := s.passes(local, 11); n != 10 {
			t.Errorf("local let %d of 11 pass, want 10", n)
		}
		if n := s.passes(allow, 11); n != 11 {
			t.Errorf("allow let %d of 11 pass", n)
		}
		if n := s.passes(deny, 3); n != 0 {
			t.Errorf("deny let %d pass", n)
		}
		d, err := s.limiter.Allow(context.Background(), deny, "k")
		if err != nil || d.Reason != stint.ReasonUnavailable || !d.Degraded || !d.Unknown || d.RetryAfter != failover.DefaultProbe {
			t.Errorf("deny: %+v, %v", d, err)
		}
		d, err = s.limiter.Allow(context.Background(), allow, "k")
		if err != nil || !d.Degraded || !d.Unknown || d.Remaining != 0 {
			t.Errorf("allow: %+v, %v", d, err)
		}
		d, err = s.limiter.Allow(context.Background(), local, "k")
		if err != nil || !d.Degraded || d.Unknown || d.Reason != stint.ReasonLimit || d.RetryAfter <= 0 {
			t.Errorf("local: %+v, %v", d, err)
		}
	})
}

// TestSeveralPolicies: a request that one policy denies charges no other.
func TestSeveralPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{})
		s.faulty.err = errDown
		local, allow, deny := s.policy("2 per 60s", ""), s.policy("5 per 60s", stint.FailAllow), s.policy("5 per 60s", stint.FailDeny)
		one := stint.Ask{Cost: 1}
		for range 5 {
			d, err := s.limiter.Take(context.Background(), stint.Charge{Policy: local, Ask: one}, stint.Charge{Policy: deny, Ask: one})
			if err != nil || d.Allowed || d.Reason != stint.ReasonUnavailable || d.Policy != deny.Name {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		for i := range 3 {
			d, err := s.limiter.Take(context.Background(), stint.Charge{Policy: allow, Ask: one}, stint.Charge{Policy: local, Ask: one},
				stint.Charge{Policy: deny, Ask: one, Shadow: true})
			if err != nil || d.Allowed != (i < 2) || d.Policy != local.Name {
				t.Errorf("request %d: %+v, %v", i, d, err)
			}
		}
	})
}

func TestC063AStoreThatHangsDelaysNoLongerThanTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{Deadline: 50 * time.Millisecond, Failures: 5, Probe: time.Second})
		s.faulty.hangs = true
		p := s.policy("1000 per 60s", stint.FailAllow)
		for i := range 200 {
			before := time.Now()
			s.passes(p, 1)
			waited, most := time.Since(before), time.Duration(0)
			if i < 5 {
				most = 50 * time.Millisecond
			}
			if waited != most {
				t.Fatalf("request %d waited %v, want %v", i, waited, most)
			}
		}
		if s.faulty.asked != 5 {
			t.Errorf("the store was asked %d times, want 5", s.faulty.asked)
		}
		time.Sleep(time.Second)
		s.passes(p, 10)
		if s.faulty.asked != 6 {
			t.Errorf("the store was tried %d times after its pause, want once", s.faulty.asked-5)
		}
		s.faulty.hangs = false
		time.Sleep(time.Second)
		s.passes(p, 10)
		if s.faulty.asked != 16 || s.store.Stats().Open != 0 {
			t.Errorf("asked %d times, %+v: want all ten to the store", s.faulty.asked-6, s.store.Stats())
		}
		if st := s.store.Stats(); st.Failed != 6 || st.Timeouts != 6 || st.Degraded != 210 {
			t.Errorf("%+v", st)
		}
		if len(s.changes) != 2 || !errors.Is(s.changes[0], context.DeadlineExceeded) || s.changes[1] != nil {
			t.Errorf("told of %v, want the failure and the recovery, once each", s.changes)
		}
	})
}

func TestC067TheStoresCountsAreTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{Failures: 1})
		p := s.policy("5 per 3600s", stint.FailAllow)
		if n := s.passes(p, 3); n != 3 {
			t.Errorf("%d of 3 passed", n)
		}
		s.faulty.err = errDown
		if n := s.passes(p, 20); n != 20 {
			t.Errorf("%d of 20 passed meanwhile", n)
		}
		s.faulty.err = nil
		time.Sleep(failover.DefaultProbe)
		if n := s.passes(p, 3); n != 2 {
			t.Errorf("%d of 3 passed afterwards, want 2", n)
		}
	})
}

func TestC068CallersThatGoAwayAreNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{Failures: 5})
		p := s.policy("10 per 60s", stint.FailAllow)
		s.faulty.hangs = true
		for range 100 {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := s.limiter.Allow(ctx, p, "gone"); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		s.faulty.hangs = false
		if n := s.passes(p, 15); n != 10 {
			t.Errorf("%d of 15 passed, want 10", n)
		}
		if st := s.store.Stats(); st.Open != 0 || st.Failed != 0 || st.Cancelled != 100 || len(s.changes) != 0 {
			t.Errorf("%+v, told of %v", st, s.changes)
		}
	})
}

// TestACallerThatGoesAwayDuringTheProbe leaves the next probe to somebody else.
func TestACallerThatGoesAwayDuringTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{Failures: 1})
		p := s.policy("10 per 60s", stint.FailAllow)
		s.faulty.err = errDown
		s.passes(p, 1)
		time.Sleep(failover.DefaultProbe)
		s.faulty.err, s.faulty.hangs = nil, true
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.limiter.Allow(ctx, p, "k"); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s.faulty.hangs = false
		s.passes(p, 1)
		if s.store.Stats().Open != 0 {
			t.Error("still open after a probe that was answered")
		}
	})
}

func TestTheFleetSharesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limit string
			fleet int
			want  int
		}{
			{"100 per 60s", 1, 100},
			{"100 per 60s", 3, 33},
			{"100 per 60s", 100, 1},
			{"2 per 60s", 5, 1},
			{"0 per 60s", 5, 0},
			{"10 per 60s", 0, 10},
			{"10 per 60s", math.MinInt, 10},
			{"10 per 60s", math.MaxInt, 1},
			{"2 per 60s", math.MaxInt - 1, 1},
			{"20 per 2000h", 10_000, 1}, // a part of it in a longer window would take 114 years
		} {
			s := newStory(t, failover.Options{Fleet: func() int { return c.fleet }})
			s.faulty.err = errDown
			if n := s.passes(s.policy(c.limit, ""), 200); n != c.want {
				t.Errorf("%s, one of %d: %d passed, want %d", c.limit, c.fleet, n, c.want)
			}
		}
	})
}

// TestAFewUnitsForAManyServers: 2 a minute for five servers is one in three
// minutes for each.
func TestAFewUnitsForAManyServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{Fleet: func() int { return 5 }})
		s.faulty.err = errDown
		p := s.policy("2 per 60s", "")
		passed := 0
		for range 30 * 60 {
			passed += s.passes(p, 1)
			time.Sleep(time.Second)
		}
		if passed < 10 || passed > 11 {
			t.Errorf("%d passed in half an hour, want one in three minutes", passed)
		}
	})
}

// TestTheSharesAreNoMoreThanTheWhole, but for a unit each: the bound that is promised,
// for each algorithm of windows and buckets.
func TestTheSharesAreNoMoreThanTheWhole(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.FixedWindow, algo.SlidingWindowCounter, algo.SlidingWindowLog} {
		for _, limit := range []string{"1 per 60s", "7 per 60s", "100 per 60s", "100 per 60s, burst 20", "100 per 60s, burst 7", "3 per 1s"} {
			l, err := stint.ParseLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			p, err := stint.NewPolicy(limit, l, a)
			if err != nil {
				continue // only buckets have a burst
			}
			for _, fleet := range []int{2, 3, 50, 1000} {
				synctest.Test(t, func(t *testing.T) {
					s := newStory(t, failover.Options{Fleet: func() int { return fleet }})
					s.faulty.err = errDown
					passed := int64(s.passes(p, 200))
					if most := max(1, p.Capacity()/int64(fleet)); passed > most || passed < 1 {
						t.Errorf("%s %s, one of %d: %d passed, want from 1 to %d", a.Name(), limit, fleet, passed, most)
					}
				})
			}
		}
	}
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	r := storetest.NewReference()
	for name, o := range map[string]failover.Options{
		"no store":          {Local: r},
		"no local store":    {Store: r},
		"negative deadline": {Store: r, Local: r, Deadline: -1},
		"negative failures": {Store: r, Local: r, Failures: -1},
		"negative probe":    {Store: r, Local: r, Probe: -1},
		"endless failures":  {Store: r, Local: r, Failures: 1 << 30},
	} {
		if _, err := failover.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestConformance: while the store answers, failover changes nothing.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) stint.Store {
		s, err := failover.New(failover.Options{Store: storetest.NewReference(), Local: storetest.NewReference(), Deadline: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
