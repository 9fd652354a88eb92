package failover_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/storetest"
)

// slow is a store whose calls end as a test tells them to.
type slow struct {
	stint.Store
	calls int
	next  func() error // of the call that begins
}

func (s *slow) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	s.calls++
	if err := s.next(); err != nil {
		return 0, err
	}
	return s.Store.Take(ctx, now, charges, verdicts)
}

// after is the outcome of a call that takes d.
func after(d time.Duration, err error) func() error {
	return func() error {
		time.Sleep(d)
		return err
	}
}

// lateStory is a store with failover whose calls may take ten seconds, and which
// opens at the given number of failures.
type lateStory struct {
	*testing.T
	slow    *slow
	store   *failover.Store
	policy  *stint.Policy
	changes []error
}

func newLateStory(t *testing.T, failures int) *lateStory {
	t.Helper()
	s := &lateStory{T: t, slow: &slow{Store: storetest.NewReference()}, policy: newStory(t, failover.Options{}).policy("1000 per 60s", stint.FailAllow)}
	store, err := failover.New(failover.Options{
		Store: s.slow, Local: storetest.NewReference(), Deadline: 10 * time.Second, Failures: failures, Probe: time.Second,
		Changed: func(err error) { s.changes = append(s.changes, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.store = store
	return s
}

// take makes a call that ends like this, and says whether the store decided.
func (s *lateStory) take(outcome func() error) bool {
	s.Helper()
	s.slow.next = outcome
	var v [1]stint.Verdict
	_, err := s.store.Take(context.Background(), 0, []stint.Charge{{Policy: s.policy, Ask: stint.Ask{Cost: 1}}}, v[:])
	if err != nil && !errors.Is(err, stint.ErrDegraded) {
		s.Error(err)
	}
	return err == nil
}

// begin makes a call in the background and returns when it has begun.
func (s *lateStory) begin(outcome func() error) {
	s.Helper()
	go s.take(outcome)
	synctest.Wait()
}

// TestALateFailureProlongsNothing: of a call that began before the store was left
// alone; and it lets nobody else try beside the one that does.
func TestALateFailureProlongsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 1)
		s.begin(after(1500*time.Millisecond, errDown))
		time.Sleep(time.Second)
		s.take(after(0, errDown)) // at 1 s; the next may try at 2 s
		time.Sleep(time.Second)
		if s.take(after(0, nil)); s.slow.calls != 3 {
			t.Error("nobody may try after the pause: the failure of an earlier call has prolonged it")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 1)
		s.begin(after(3*time.Second, errDown))
		s.take(after(0, errDown)) // the next may try at 1 s
		time.Sleep(time.Second)
		s.begin(after(8*time.Second, errDown)) // the one that tries
		time.Sleep(4 * time.Second)
		if s.take(after(0, nil)); s.slow.calls != 3 {
			t.Errorf("%d calls, want 3: two may try at once", s.slow.calls)
		}
		time.Sleep(4 * time.Second)
	})
}

// TestALateAnswerIsNoRecovery: the store was well when the call began.
func TestALateAnswerIsNoRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 1)
		s.begin(after(500*time.Millisecond, nil))
		s.take(after(0, errDown))
		time.Sleep(600 * time.Millisecond)
		if s.take(after(0, nil)) || len(s.changes) != 1 {
			t.Errorf("the store is asked again, told of %v", s.changes)
		}
		time.Sleep(time.Second)
		if !s.take(after(0, nil)) || len(s.changes) != 2 {
			t.Errorf("the store is not asked again, told of %v", s.changes)
		}
	})
}

// TestFailuresFromBeforeARecovery are no failures of what has recovered, and
// answers from before do not speak for it either.
func TestFailuresFromBeforeARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 2)
		for range 5 {
			s.begin(after(3*time.Second, errDown))
		}
		s.begin(after(4*time.Second, nil))
		s.take(after(0, errDown))
		s.take(after(0, errDown))
		time.Sleep(time.Second)
		if !s.take(after(0, nil)) {
			t.Fatal("no recovery")
		}
		time.Sleep(2500 * time.Millisecond) // now the five have failed
		if !s.take(after(0, errDown)) && len(s.changes) != 2 {
			t.Errorf("told of %v: what began before the recovery does not count", s.changes)
		}
		time.Sleep(time.Second) // and the answer of before is there
		if s.take(after(0, errDown)); len(s.changes) != 3 {
			t.Errorf("told of %v, want the second failure in a row", s.changes)
		}
	})
}

// TestAProbeThatNeverEnds does not keep the store away for ever.
func TestAProbeThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 1)
		s.take(after(0, errDown))
		time.Sleep(time.Second)
		func() {
			defer func() { _ = recover() }()
			s.take(func() error { panic("the store is broken") })
		}()
		if s.take(after(0, nil)) {
			t.Error("asked again at once")
		}
		time.Sleep(11 * time.Second)
		if !s.take(after(0, nil)) {
			t.Error("never asked again")
		}
	})
}

// TestErrorsAboutTheCharges are not failures of the store: nobody opens the breaker
// by asking for something that it can not tell.
func TestErrorsAboutTheCharges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 2)
		for range 10 {
			if s.take(after(0, &stint.PartError{Err: errDown})) {
				t.Error("not degraded")
			}
		}
		if !s.take(after(0, nil)) || len(s.changes) != 0 {
			t.Errorf("told of %v", s.changes)
		}
		if st := s.store.Stats(); st.Failed != 10 || st.Degraded != 10 {
			t.Errorf("%+v", st)
		}
	})
}

// TestErrorsAboutTheChargesAreNoRecovery either: who asks about a key that is too
// long asks nobody. Nor is a request about nothing.
func TestErrorsAboutTheChargesAreNoRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 1)
		s.take(after(0, errDown))
		time.Sleep(time.Second)
		s.take(after(0, &stint.PartError{Err: errDown})) // may try, and tells nothing
		if st := s.store.Stats(); st.Open != 1 || len(s.changes) != 1 {
			t.Errorf("%+v, told of %v", st, s.changes)
		}
		s.slow.next = after(0, nil)
		if _, err := s.store.Take(context.Background(), 0, nil, nil); err != nil || s.store.Stats().Open != 1 {
			t.Errorf("about nothing: %+v, %v", s.store.Stats(), err)
		}
		if !s.take(after(0, nil)) || len(s.changes) != 2 {
			t.Errorf("nobody else may try: told of %v", s.changes)
		}
	})
}

// TestRequestsThatCanNotBe are errors, and no panics, whether the store is asked or
// not.
func TestRequestsThatCanNotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateStory(t, 1)
		local := newStory(t, failover.Options{}).policy("1000 per 60s", stint.FailLocal)
		take := func(charges, verdicts int) error {
			all := make([]stint.Charge, charges)
			for i := range all {
				all[i] = stint.Charge{Policy: local, Key: []byte{byte(i)}, Ask: stint.Ask{Cost: 1}}
			}
			_, err := s.store.Take(context.Background(), 0, all, make([]stint.Verdict, verdicts))
			return err
		}
		for _, down := range []bool{false, true} {
			s.slow.next = after(0, nil)
			if down {
				s.take(after(0, errDown))
			}
			for _, n := range [][2]int{{2, 1}, {1, 2}, {0, 1}, {stint.MaxCharges + 1, stint.MaxCharges + 1}} {
				if err := take(n[0], n[1]); err == nil || errors.Is(err, stint.ErrDegraded) {
					t.Errorf("%d charges and %d verdicts, down %v: error %v", n[0], n[1], down, err)
				}
			}
			if err := take(stint.MaxCharges, stint.MaxCharges); err != nil && !errors.Is(err, stint.ErrDegraded) {
				t.Errorf("%d charges, down %v: %v", stint.MaxCharges, down, err)
			}
		}
	})
}

// TestADeadlineThatIsOver before the store can be asked is a store that is too slow.
func TestADeadlineThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{Deadline: time.Nanosecond, Failures: 2})
		s.faulty.hangs = true
		if n := s.passes(s.policy("3 per 60s", ""), 10); n != 3 {
			t.Errorf("%d passed, want 3", n)
		}
		if st := s.store.Stats(); st.Timeouts != 2 || st.Open != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// TestAStoreThatDecidedOtherwise by itself has answered.
func TestAStoreThatDecidedOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStory(t, failover.Options{})
		inner.faulty.err = errDown
		local := storetest.NewReference()
		outer, err := failover.New(failover.Options{Store: inner.store, Local: local, Failures: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := inner.policy("2 per 60s", stint.FailLocal)
		for i := range 4 {
			d, err := (&stint.Limiter{Store: outer}).Allow(context.Background(), p, "k")
			if err != nil || !d.Degraded || d.Allowed != (i < 2) {
				t.Errorf("request %d: %+v, %v", i, d, err)
			}
		}
		if st := outer.Stats(); st.Failed != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// TestGivingUpInAQueueReturnsEverything through the store that decided: also here while
// the shared one fails. What a policy that allows has let pass was never charged.
func TestGivingUpInAQueueReturnsEverything(t *testing.T) {
	for _, outage := range []error{nil, errors.New("down")} {
		synctest.Test(t, func(t *testing.T) {
			s := newStory(t, failover.Options{Failures: 1, Probe: time.Hour})
			s.faulty.err = outage
			perKey, open := s.policy("10 per 3600s", stint.FailLocal), s.policy("20 per 3600s", stint.FailAllow)
			queue, err := stint.NewPolicy("queue", stint.Limit{Count: 1, Window: time.Second}, algo.LeakyQueue{MaxWaiting: 9})
			if err != nil {
				t.Fatal(err)
			}
			var charges []stint.Charge
			for _, p := range []*stint.Policy{perKey, open, queue} {
				charges = append(charges, stint.Charge{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}})
			}
			for i := range 5 {
				d, err := s.limiter.Take(context.Background(), charges...)
				if err != nil || !d.Allowed {
					t.Fatalf("%+v, %v", d, err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				if err := d.Wait(ctx); (err == nil) != (i == 0) {
					t.Errorf("request %d: %v", i, err)
				}
				cancel()
			}
			s.faulty.err = outage
			for p, want := range map[*stint.Policy]int64{perKey: 9, queue: 9} {
				if d, err := s.limiter.Peek(context.Background(), p, "k"); err != nil || d.Remaining != want {
					t.Errorf("%s: %d remain, %v; want %d", p.Name, d.Remaining, err, want)
				}
			}
			if got, want := s.faulty.asked, map[bool]int{true: 5 + 4 + 2, false: 1}[outage == nil]; got != want {
				t.Errorf("the store was asked %d times, want %d", got, want)
			}
		})
	}
}

// TestBookingsPassThrough to the store and to the local one, with their MaxDelay.
func TestBookingsPassThrough(t *testing.T) {
	for _, outage := range []error{nil, errors.New("down")} {
		synctest.Test(t, func(t *testing.T) {
			s := newStory(t, failover.Options{Failures: 1, Probe: time.Hour})
			s.faulty.err = outage
			p, err := stint.NewPolicy("p", stint.Limit{Count: 1, Window: time.Second}, algo.TokenBucket)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				d, err := s.limiter.Take(context.Background(), stint.Charge{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1, MaxDelay: time.Second}})
				if err != nil || d.Allowed != (i < 2) || d.Degraded != (outage != nil) || i < 2 && d.Delay != time.Duration(i)*time.Second {
					t.Errorf("%d: %+v, %v", i, d, err)
				}
			}
		})
	}
}
