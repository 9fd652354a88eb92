package failover_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/storetest"
)

// parted is a store of 64 parts: a charge is about the part that its key names. Parts
// can hang or fail.
type parted struct {
	stint.Store
	mu    sync.Mutex
	hangs uint64
	fails uint64
	asked [64]int
}

func (p *parted) Parts(charges []stint.Charge) (about uint64) {
	for i := range charges {
		about |= 1 << charges[i].Key[0]
	}
	return about
}

func (p *parted) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	about := p.Parts(charges)
	p.mu.Lock()
	for i := range p.asked {
		p.asked[i] += int(about >> i & 1)
	}
	hangs, fails := p.hangs&about, p.fails&about
	p.mu.Unlock()
	if hangs != 0 {
		<-ctx.Done()
		return 0, &stint.PartError{Parts: hangs | fails, Err: ctx.Err()}
	}
	if fails != 0 {
		return 0, &stint.PartError{Parts: fails, Err: errDown}
	}
	return p.Store.Take(ctx, now, charges, verdicts)
}

func (p *parted) set(hangs, fails uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs, p.fails = hangs, fails
}

// partStory is a store with failover in front of one of parts.
type partStory struct {
	*testing.T
	parted  *parted
	store   *failover.Store
	policy  *stint.Policy
	changes []error
}

func newPartStory(t *testing.T) *partStory {
	t.Helper()
	s := &partStory{T: t, parted: &parted{Store: storetest.NewReference()}}
	s.policy = newStory(t, failover.Options{}).policy("100000 per 60s", stint.FailAllow)
	store, err := failover.New(failover.Options{
		Store: s.parted, Local: storetest.NewReference(), Deadline: 5 * time.Millisecond, Failures: 3, Probe: time.Second,
		Changed: func(err error) { s.changes = append(s.changes, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.store = store
	return s
}

// take asks about some parts, and returns how long it took and whether the store
// decided.
func (s *partStory) take(ctx context.Context, parts ...byte) (time.Duration, bool) {
	s.Helper()
	var charges []stint.Charge
	for _, part := range parts {
		charges = append(charges, stint.Charge{Policy: s.policy, Key: []byte{part}, Ask: stint.Ask{Cost: 1}})
	}
	begun := time.Now()
	_, err := s.store.Take(ctx, 0, charges, make([]stint.Verdict, len(charges)))
	if err != nil && !errors.Is(err, stint.ErrDegraded) && ctx.Err() == nil {
		s.Error(err)
	}
	return time.Since(begun), err == nil
}

// wants demands how a request about parts goes.
func (s *partStory) wants(waits time.Duration, answered bool, parts ...byte) {
	s.Helper()
	if took, ok := s.take(context.Background(), parts...); took != waits || ok != answered {
		s.Errorf("a request about %v took %v, answered %v; want %v, %v", parts, took, ok, waits, answered)
	}
}

// TestOnePartHangs: requests about others never wait for it, and those about it only
// until it is left alone, and then one for each probe.
func TestOnePartHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dead, well, last, wait = 7, 8, 63, 5 * time.Millisecond
		s := newPartStory(t)
		s.parted.set(1<<dead, 0)
		for range 3 {
			s.wants(0, true, well) // does not hide the failures
			s.wants(wait, false, dead)
		}
		for range 50 {
			s.wants(0, false, dead)
			s.wants(0, true, well)
			s.wants(0, false, well, dead)
			s.wants(0, true, well, last)
		}
		if s.parted.asked[dead] != 3 {
			t.Errorf("the dead part was asked %d times, want 3", s.parted.asked[dead])
		}
		for i := range 5 {
			time.Sleep(time.Second)
			s.wants(wait, false, dead)
			s.wants(0, false, dead, well)
			if s.parted.asked[dead] != 4+i {
				t.Errorf("the dead part was tried %d times in %d s", s.parted.asked[dead]-3, i+1)
			}
		}
		if st := s.store.Stats(); st.Open != 1 || st.Timeouts != 8 {
			t.Errorf("%+v", st)
		}
		s.parted.set(0, 0)
		time.Sleep(time.Second)
		s.wants(0, true, well, dead)
		s.wants(0, true, dead)
		if st := s.store.Stats(); st.Open != 0 || len(s.changes) != 2 {
			t.Errorf("%+v, told of %v", st, s.changes)
		}
	})
}

// TestAFailureIsThatOfThePartsThatFailed, also in a request about several.
func TestAFailureIsThatOfThePartsThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPartStory(t)
		s.parted.set(0, 1<<1)
		for range 3 {
			s.wants(0, false, 0, 1, 2)
		}
		s.wants(0, true, 0, 2)
		s.wants(0, false, 1)
		if s.parted.asked[1] != 3 || s.store.Stats().Open != 1 {
			t.Errorf("part 1 was asked %d times, %+v", s.parted.asked[1], s.store.Stats())
		}
	})
}

// TestChangedIsAboutTheWhole: the first part that fails, and the last one that
// answers again.
func TestChangedIsAboutTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPartStory(t)
		s.parted.set(0, 1<<1|1<<2)
		for range 5 {
			s.take(context.Background(), 1)
			s.take(context.Background(), 2)
		}
		if len(s.changes) != 1 || !errors.Is(s.changes[0], errDown) || s.store.Stats().Open != 2 {
			t.Fatalf("told of %v, %+v", s.changes, s.store.Stats())
		}
		s.parted.set(0, 1<<2)
		time.Sleep(time.Second)
		s.wants(0, true, 1)
		s.wants(0, false, 2)
		if len(s.changes) != 1 || s.store.Stats().Open != 1 {
			t.Errorf("told of %v, %+v", s.changes, s.store.Stats())
		}
		s.parted.set(0, 0)
		time.Sleep(time.Second)
		s.wants(0, true, 2)
		if len(s.changes) != 2 || s.changes[1] != nil || s.store.Stats().Open != 0 {
			t.Errorf("told of %v, %+v", s.changes, s.store.Stats())
		}
	})
}

// TestAnAbandonedProbeOfSeveralParts releases all of them, and one that may not be
// tried holds none.
func TestAnAbandonedProbeOfSeveralParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPartStory(t)
		s.parted.set(0, 1<<1|1<<2)
		for range 3 {
			s.take(context.Background(), 1, 2)
		}
		s.parted.set(1<<1|1<<2, 0)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		s.take(ctx, 1, 2)
		s.wants(5*time.Millisecond, false, 2) // has the probe of 2
		s.parted.set(0, 0)
		s.wants(0, false, 1, 2) // may not try 2, and does not hold 1
		s.wants(0, true, 1)
		if st := s.store.Stats(); st.Open != 1 || st.Cancelled != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// TestOnlyOneOfManyTries: of a crowd that comes after the pause one waits, for each
// part.
func TestOnlyOneOfManyTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPartStory(t)
		s.parted.set(0, math.MaxUint64)
		for part := range byte(64) {
			for range 3 {
				s.take(context.Background(), part)
			}
		}
		if st := s.store.Stats(); st.Open != 64 {
			t.Fatalf("%+v", st)
		}
		s.parted.set(math.MaxUint64, 0)
		for round := range 3 {
			time.Sleep(time.Second)
			var wg sync.WaitGroup
			for i := range 640 {
				wg.Go(func() { s.take(context.Background(), byte(i%64), byte(i*7%64)) })
			}
			wg.Wait()
			for part, n := range s.parted.asked {
				if n > 3+round+1 {
					t.Fatalf("part %d was tried %d times in %d pauses", part, n-3, round+1)
				}
			}
		}
	})
}

// TestTheLongestPause is for ever.
func TestTheLongestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, failover.Options{Failures: 1, Probe: math.MaxInt64, Deadline: time.Hour})
		s.faulty.err = errDown
		p := s.policy("10 per 60s", stint.FailAllow)
		s.passes(p, 10)
		time.Sleep(24 * time.Hour)
		if s.passes(p, 10); s.faulty.asked != 1 {
			t.Errorf("asked %d times", s.faulty.asked)
		}
	})
}

// TestManyAtOnce: whatever many callers do at the same time, breakers are closed
// when all is well again.
func TestManyAtOnce(t *testing.T) {
	s := newPartStory(t)
	store, err := failover.New(failover.Options{
		Store: s.parted, Local: storetest.NewReference(), Deadline: time.Millisecond, Failures: 2, Probe: time.Microsecond,
		Changed: func(err error) { s.changes = append(s.changes, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.store = store
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				if i == 0 {
					s.parted.set(0, uint64(j)*0x9e3779b97f4a7c15)
				}
				s.take(context.Background(), byte((i*j)%64), byte(j%64))
			}
		})
	}
	wg.Wait()
	s.parted.set(0, 0)
	for part := range byte(64) {
		for range 3 {
			time.Sleep(2 * time.Microsecond)
			s.take(context.Background(), part)
		}
	}
	if st := s.store.Stats(); st.Open != 0 {
		t.Errorf("%+v", st)
	}
	for i, err := range s.changes {
		if (err == nil) != (i%2 == 1) {
			t.Fatalf("told twice of the same: %v", s.changes)
		}
	}
}
