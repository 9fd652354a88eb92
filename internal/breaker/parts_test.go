package breaker

import (
	"testing"
	"time"
)

// story is breakers and a clock that the test turns.
type story struct {
	*testing.T
	Parts
	now time.Duration
}

func newStory(t *testing.T) *story {
	return &story{T: t, Parts: Parts{Most: 3, Pause: time.Second, Lease: 2 * time.Second}, now: 1}
}

func (s *story) clock() time.Duration { return s.now }

// passes demands whether a call about some parts goes through, and returns it.
func (s *story) passes(about uint64, want bool) Passage {
	s.Helper()
	c, ok := s.Pass(about, s.clock)
	if ok != want {
		s.Errorf("a call about %b at %v passes: %v, want %v", about, s.now, ok, want)
	}
	return c
}

// fails lets calls about a part fail until it opens.
func (s *story) fails(about uint64) {
	s.Helper()
	for i := range int(s.Most) {
		c := s.passes(about, true)
		if opened := s.Failed(&c, about, s.now); opened != (i+1)/int(s.Most) {
			s.Errorf("failure %d opened %d", i+1, opened)
		}
	}
}

func TestAPartOpensAndItsProbeClosesIt(t *testing.T) {
	s := newStory(t)
	s.fails(1)
	s.passes(1, false)
	s.passes(2, true) // another part
	s.passes(3, false)
	s.now += s.Pause
	probe := s.passes(1, true)
	s.passes(1, false) // one at a time
	if closed := s.Answered(&probe, 1); closed != 1 {
		t.Errorf("%d closed", closed)
	}
	s.passes(3, true)
}

func TestASuccessForgetsFailures(t *testing.T) {
	s := newStory(t)
	for range 5 {
		for range s.Most - 1 {
			c := s.passes(1, true)
			s.Failed(&c, 1, s.now)
		}
		c := s.passes(1, true)
		s.Answered(&c, 1)
	}
	s.passes(1, true)
}

func TestAProbeThatFailsWaitsAgain(t *testing.T) {
	s := newStory(t)
	s.fails(1)
	s.now += s.Pause
	probe := s.passes(1, true)
	s.Failed(&probe, 1, s.now)
	s.passes(1, false)
	s.now += s.Pause - 1
	s.passes(1, false)
	s.now++
	s.passes(1, true)
}

// TestAProbeThatGoesAwayOrNeverEnds leaves the next one to somebody else.
func TestAProbeThatGoesAwayOrNeverEnds(t *testing.T) {
	s := newStory(t)
	s.fails(1)
	s.now += s.Pause
	probe := s.passes(1, true)
	s.Abandon(&probe, s.now)
	lost := s.passes(1, true)
	s.passes(1, false)
	s.now += s.Lease
	probe = s.passes(1, true)
	if closed := s.Answered(&lost, 1); closed != 0 {
		t.Error("a probe whose lease has ended closed the breaker")
	}
	if closed := s.Answered(&probe, 1); closed != 1 {
		t.Error("the probe that followed did not")
	}
}

// TestLateWordsAreNotHeard: calls that began before the last turn say nothing about
// the time after it.
func TestLateWordsAreNotHeard(t *testing.T) {
	s := newStory(t)
	var late [4]Passage
	for i := range late {
		late[i] = s.passes(1, true)
	}
	s.fails(1)
	if closed := s.Answered(&late[3], 1); closed != 0 {
		t.Error("a call from before closed it")
	}
	s.passes(1, false)
	s.now += s.Pause
	probe := s.passes(1, true)
	s.Answered(&probe, 1)
	for i := range late[:3] {
		if opened := s.Failed(&late[i], 1, s.now); opened != 0 {
			t.Error("failures from before opened it again")
		}
	}
	s.passes(1, true)
}

// TestSeveralPartsAreClaimedTogether: a call about two open parts tries both or none.
func TestSeveralPartsAreClaimedTogether(t *testing.T) {
	s := newStory(t)
	s.fails(1)
	s.now += s.Pause / 2
	s.fails(2)
	s.now += s.Pause / 2
	s.passes(3, false) // the second is not due
	probe := s.passes(1, true)
	s.Abandon(&probe, s.now)
	s.now += s.Pause / 2
	both := s.passes(3, true)
	s.passes(1, false)
	s.passes(2, false)
	if closed := s.Answered(&both, 2); closed != 1 {
		t.Errorf("%d closed", closed)
	}
	if opened := s.Failed(&both, 1, s.now); opened != 0 {
		t.Errorf("%d opened that was open", opened)
	}
	s.passes(2, true)
	s.passes(1, false)
}
