package shield_test

import (
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/shield"
)

// booked is one that would wait for most.
func booked(p *stint.Policy, key string, most time.Duration) stint.Charge {
	c := one(p, key)
	c.MaxDelay = most
	return c
}

// TestBookingsPassWhereOthersAreRefused, and what is known of those does not refuse
// them.
func TestBookingsPassWhereOthersAreRefused(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 1s", algo.TokenBucket)
		s.passes(one(p, "k"))
		s.asks(1, func() { s.refuses(one(p, "k")) })
		s.asks(0, func() { s.refuses(one(p, "k")) })
		if v := s.take(booked(p, "k", 3*time.Second))[0]; !v.OK || v.Delay != time.Second {
			t.Errorf("%+v, want it booked for 1s", v)
		}
		if v := s.take(one(p, "k"))[0]; v.OK || v.RetryAfter != 2*time.Second {
			t.Errorf("%+v, want it refused for 2s: a booking makes the wait longer", v)
		}
		if _, v, err := s.store.TakeOne(s.Context(), 0, p, "k", booked(p, "", 3*time.Second).Ask); err != nil || !v.OK || v.Delay != 2*time.Second {
			t.Errorf("%+v, %v, want it booked for 2s", v, err)
		}
		if v := s.take(one(p, "k"))[0]; v.OK || v.RetryAfter != 3*time.Second {
			t.Errorf("%+v, want it refused for 3s", v)
		}
	})
}

// TestRefusedBookingsAreNotRepeated to those who do not book, who wait longer, nor to
// those who would wait longer, who pass.
func TestRefusedBookingsAreNotRepeated(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 1s", algo.TokenBucket)
		s.passes(one(p, "k"))
		if v := s.take(booked(p, "k", 400*time.Millisecond))[0]; v.OK || v.RetryAfter != 600*time.Millisecond {
			t.Errorf("%+v, want it refused for 600ms", v)
		}
		if v := s.take(one(p, "k"))[0]; v.OK || v.RetryAfter != time.Second {
			t.Errorf("%+v, want it refused for 1s", v)
		}
		if v := s.take(booked(p, "k", 700*time.Millisecond))[0]; v.OK || v.RetryAfter != 300*time.Millisecond {
			t.Errorf("%+v, want it refused for 300ms", v)
		}
		if v := s.take(booked(p, "k", time.Second))[0]; !v.OK || v.Delay != time.Second {
			t.Errorf("%+v, want it booked for 1s", v)
		}
	})
}

// TestAKnownRefusalSparesTheQueue: a request that also waits in a queue is refused here
// when another of its charges is known to be.
func TestAKnownRefusalSparesTheQueue(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p, q := policy(s, "p", "1 per 1s", algo.TokenBucket), policy(s, "q", "1 per 1s", algo.LeakyQueue{MaxWaiting: 9})
		s.passes(one(p, "k"), booked(q, "k", time.Second))
		s.asks(1, func() { s.refuses(one(p, "k"), booked(q, "k", time.Second)) })
		s.asks(0, func() { s.refuses(one(p, "k"), booked(q, "k", time.Second)) })
	})
}
