package shield_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/shield"
	"github.com/stint-dev/stint/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) stint.Store { return newShield(t, shield.Options{Store: newMemory(t)}) })
}

func TestHotKeyAsksOnce(t *testing.T) {
	for _, a := range algorithms() {
		tell(t, shield.Options{MaxWait: time.Hour}, func(s *story) {
			p := policy(s, a.Name(), "10 per 60s", a)
			s.exhaust(p, "k")
			s.asks(1, func() {
				for i := range 1000 {
					if v, want := s.refuses(one(p, "k")), s.behind(one(p, "k"))[0]; v != want {
						s.Fatalf("%s: refusal %d: %+v, want %+v", a.Name(), i, v, want)
					}
					time.Sleep(1234567 * time.Nanosecond)
				}
			})
			if n := s.store.Stats(); n != (shield.Stats{Answered: 999, Remembered: 1}) {
				s.Errorf("%s: %+v", a.Name(), n)
			}
		})
	}
}

// TestC061TheLimitIsTheSameWithAndWithoutMemory counts a window of ten out on both
// paths.
func TestC061TheLimitIsTheSameWithAndWithoutMemory(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "10 per 60s", algo.FixedWindow)
		bare := &story{TB: s, shared: &shared{Store: storetest.NewReference()}}
		for i := range int64(13) {
			with, without := s.take(one(p, "k"))[0], bare.behind(one(p, "k"))[0]
			if with.OK != (i < 10) || with.Remaining != max(0, 9-i) || with != without {
				t.Errorf("request %d: %+v, without memory %+v", i, with, without)
			}
		}
		if n := s.shared.asked.Load(); n != 11 {
			t.Errorf("asked %d times, want 11", n)
		}
	})
}

// TestEndIsExact: an answer was given at some instant of its trip, at the earliest
// when it was sent.
func TestEndIsExact(t *testing.T) {
	for _, a := range algorithms() {
		tell(t, shield.Options{MaxWait: time.Hour}, func(s *story) {
			p := policy(s, a.Name(), "10 per 60s", a)
			s.exhaust(p, "k")
			s.trip(0, 7*time.Millisecond)
			sent := time.Now()
			v := s.refuses(one(p, "k"))
			s.trip(0, 0)
			// A sliding window begins another window before its charge passes.
			time.Sleep(time.Until(sent.Add(min(v.RetryAfter, v.ResetAfter))) - time.Microsecond)
			s.asks(0, func() { s.refuses(one(p, "k")) })
			time.Sleep(time.Microsecond)
			s.asks(1, func() {
				if now := s.take(one(p, "k"))[0]; now.OK != (v.RetryAfter <= v.ResetAfter) {
					s.Errorf("%s: first %+v, at the end %+v", a.Name(), v, now)
				}
			})
		})
	}
}

// TestToldWaitSuffices: and it is longer than the shared store's by no more than
// the trip.
func TestToldWaitSuffices(t *testing.T) {
	const there, back = 3 * time.Millisecond, 5 * time.Millisecond
	for _, a := range algorithms() {
		tell(t, shield.Options{MaxWait: time.Hour}, func(s *story) {
			p := policy(s, a.Name(), "3 per 1s", a)
			s.trip(there, back)
			for i := range 50 {
				for s.take(one(p, "k"))[0].OK {
				}
				time.Sleep(time.Duration(i) * 1_001 * time.Microsecond / 10)
				var told, truth time.Duration
				s.asks(0, func() { told, truth = s.refuses(one(p, "k")).RetryAfter, s.behind(one(p, "k"))[0].RetryAfter })
				if told < truth || told > truth+there+back {
					s.Fatalf("%s: told to wait %v, the shared store says %v", a.Name(), told, truth)
				}
				time.Sleep(told - there)
				s.passes(one(p, "k"))
			}
		})
	}
}

func TestRefusalsOfLargeCostsHoldUntilSomethingRemains(t *testing.T) {
	for _, a := range algorithms() {
		tell(t, shield.Options{MaxWait: time.Hour}, func(s *story) {
			p := policy(s, a.Name(), "10 per 10s", a)
			s.exhaust(p, "k")
			v := s.refuses(of(p, "k", 3))
			time.Sleep(min(v.NextAfter, v.ResetAfter) - time.Microsecond)
			s.asks(0, func() {
				if v, want := s.refuses(of(p, "k", 3)), s.behind(of(p, "k", 3))[0]; v != want {
					s.Errorf("%s: %+v, want %+v", a.Name(), v, want)
				}
			})
			time.Sleep(time.Microsecond)
			s.asks(1, func() { s.take(of(p, "k", 3)) })
		})
	}
}

// TestSomethingRemaining: a bucket that still has something may have less a moment
// later.
func TestSomethingRemaining(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "10 per 60s", algo.TokenBucket)
		s.passes(of(p, "k", 8))
		s.asks(2, func() {
			s.refuses(of(p, "k", 3))
			s.behind(of(p, "k", 2))
			if v := s.refuses(of(p, "k", 3)); v.Remaining != 0 || v.RetryAfter != 18*time.Second {
				t.Errorf("%+v", v)
			}
		})
	})
}

func TestOtherChargesAsk(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p, q := policy(s, "p", "10 per 60s", algo.TokenBucket), policy(s, "q", "10 per 60s", algo.TokenBucket)
		s.exhaust(p, "k")
		s.refuses(one(p, "k"))
		s.asks(0, func() { s.refuses(of(p, "k", 0)) })
		s.asks(1, func() { s.refuses(of(p, "k", 2)) })
		s.asks(0, func() { s.refuses(of(p, "k", 2)) })
		s.asks(1, func() { s.passes(one(p, "l")) })
		s.asks(1, func() { s.passes(one(p, "")) })
		s.asks(1, func() { s.passes(one(q, "k")) })
		s.exhaust(q, "look")
		s.asks(1, func() { s.refuses(of(q, "look", 0)) })
		s.asks(0, func() { s.refuses(one(q, "look")) })
	})
}

func TestMaxWait(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 1h", algo.FixedWindow)
		s.exhaust(p, "k")
		s.refuses(one(p, "k"))
		s.behind(of(p, "k", -1))
		time.Sleep(shield.DefaultMaxWait - time.Microsecond)
		s.refuses(one(p, "k"))
		time.Sleep(time.Microsecond)
		s.passes(one(p, "k"))
	})
}

func TestNever(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		blocked, ten := policy(s, "blocked", "0 per 1s", algo.TokenBucket), policy(s, "ten", "10 per 60s", algo.TokenBucket)
		s.exhaust(ten, "k")
		for _, c := range []stint.Charge{one(blocked, "k"), of(ten, "k", 11)} {
			s.refuses(c)
			time.Sleep(time.Second - time.Microsecond)
			s.asks(0, func() {
				if v, want := s.refuses(c), s.behind(c)[0]; v != want || v.RetryAfter != stint.Never {
					t.Errorf("%+v, want %+v", v, want)
				}
			})
			time.Sleep(time.Microsecond)
			s.asks(1, func() { s.refuses(c) })
		}
	})
}

// TestShortWaits: what has passed before the answer is there is not kept.
func TestShortWaits(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1000 per 1s, burst 1", algo.TokenBucket)
		s.exhaust(p, "k")
		s.trip(0, 2*time.Millisecond)
		s.refuses(one(p, "k"))
		if n := s.store.Stats().Remembered; n != 0 {
			t.Errorf("remembered %d", n)
		}
	})
}

func TestSeveralCharges(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		hot, wide := policy(s, "hot", "1 per 60s", algo.TokenBucket), policy(s, "wide", "100 per 60s", algo.TokenBucket)
		request := []stint.Charge{one(wide, "k"), one(hot, "k"), shadow(one(wide, "l"))}
		s.passes(request...)
		s.refuses(request...)
		time.Sleep(time.Millisecond)
		s.asks(0, func() {
			v, want := s.take(request...), s.behind(one(hot, "k"))[0]
			unasked := stint.Verdict{OK: true, Remaining: stint.Unknown}
			if v[0] != unasked || v[1] != want || v[2] != unasked {
				t.Errorf("%+v, want only the second to be known: %+v", v, want)
			}
			s.refuses(one(hot, "k"))
		})
		if v := s.behind(of(wide, "k", 0))[0]; v.Remaining != 99 {
			t.Errorf("%d remain, want 99: a refused request charges nothing", v.Remaining)
		}
		s.asks(1, func() { s.passes(one(wide, "k")) })
	})
}

// TestDecisionNamesWhoRefuses: what was not asked has no say.
func TestDecisionNamesWhoRefuses(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		hot, slow := policy(s, "hot", "1 per 60s", algo.TokenBucket), policy(s, "slow", "1 per 1h", algo.TokenBucket)
		wide := policy(s, "wide", "100 per 60s", algo.TokenBucket)
		l := &stint.Limiter{Store: s.store}
		request := []stint.Charge{one(wide, "k"), one(hot, "k"), one(slow, "k")}
		s.passes(request...)
		s.asks(1, func() {
			for range 3 {
				d, err := l.Take(s.Context(), request...)
				if err != nil || d.Allowed || d.Policy != "slow" || d.Reason != stint.ReasonLimit || d.Unknown || d.RetryAfter != time.Hour {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
		d, err := l.Take(s.Context(), request[:2]...)
		if err != nil || d.Allowed || d.Policy != "hot" || d.Remaining != 0 || d.Degraded || !d.Results[0].Unknown || d.Results[1].Unknown {
			t.Errorf("%+v, %v", d, err)
		}
		if d.At != stint.MicrosOf(time.Now()) {
			t.Errorf("at %d, want %d", d.At, stint.MicrosOf(time.Now()))
		}
	})
}

func TestShadowsRefuseNothing(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p, q := policy(s, "p", "1 per 60s", algo.TokenBucket), policy(s, "q", "9 per 60s", algo.TokenBucket)
		s.exhaust(p, "k")
		s.asks(3, func() {
			for range 3 {
				s.passes(shadow(one(p, "k")), one(q, "k"))
			}
		})
		if n := s.store.Stats().Remembered; n != 0 {
			t.Errorf("remembered %d: a shadow over its limit would cost each request that passes", n)
		}
		s.refuses(one(p, "k"))
		s.asks(1, func() { s.passes(shadow(one(p, "k")), one(q, "k")) })
	})
}

// TestTwoChargesOfOneBucket: the second of two may fit alone.
func TestTwoChargesOfOneBucket(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		s.refuses(of(p, "k", 0), one(p, "k"), of(p, "k", 1))
		s.refuses(shadow(one(p, "k")), of(p, "k", 1))
		s.passes(one(p, "k"))
	})
}

// TestChangedLimit: another limit is another question, whatever was refused under
// the old one.
func TestChangedLimit(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		few, many := policy(s, "p", "5 per 60s", algo.TokenBucket), policy(s, "p", "50 per 60s", algo.TokenBucket)
		s.exhaust(few, "k")
		s.refuses(one(few, "k"))
		s.passes(one(many, "k"))
		s.asks(0, func() { s.refuses(one(few, "k")) })
		s.passes(of(many, "k", -50))
		s.asks(1, func() { s.passes(one(few, "k")) })
	})
}

var errDown = errors.New("connection refused")

func TestFailuresAreNotRemembered(t *testing.T) {
	for _, err := range []error{errDown, stint.ErrDegraded, fmt.Errorf("slow: %w", stint.ErrDegraded)} {
		tell(t, shield.Options{}, func(s *story) {
			p := policy(s, "p", "1 per 60s", algo.TokenBucket)
			l := &stint.Limiter{Store: s.store}
			s.exhaust(p, "k")
			s.shared.err = err
			s.asks(6, func() {
				for range 3 {
					var v [1]stint.Verdict
					if _, got := s.store.Take(s.Context(), 0, []stint.Charge{one(p, "k")}, v[:]); !errors.Is(got, err) {
						t.Errorf("error %v, want %v", got, err)
					}
					d, got := l.Allow(s.Context(), p, "k")
					if degraded := errors.Is(err, stint.ErrDegraded); d.Degraded != degraded || (got == nil) != degraded {
						t.Errorf("%+v, %v", d, got)
					}
				}
			})
		})
	}
}

// TestGivenInstantsPassThrough: the shield can not compare them with its clock.
func TestGivenInstantsPassThrough(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		s.exhaust(p, "k")
		s.refuses(one(p, "k"))
		l := &stint.Limiter{Store: s.store, Clock: time.Now}
		s.asks(6, func() {
			for range 3 {
				if d, err := l.Allow(s.Context(), p, "k"); err != nil || d.Allowed {
					t.Errorf("%+v, %v", d, err)
				}
				if d, err := l.Take(s.Context(), one(p, "k")); err != nil || d.Allowed {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
		if err := l.Reset(s.Context(), p, "k"); err != nil {
			t.Error(err)
		}
		s.passes(one(p, "k"))
		if n := s.store.Stats(); n.Remembered != 1 || n.Answered != 0 {
			t.Errorf("%+v", n)
		}
	})
}

// single counts the charges that come without a list.
type single struct {
	stint.OneStore
	n int
}

func (s *single) TakeOne(ctx context.Context, now stint.Micros, p *stint.Policy, key string, ask stint.Ask) (stint.Micros, stint.Verdict, error) {
	s.n++
	return s.OneStore.TakeOne(ctx, now, p, key, ask)
}

func TestSingleChargesStaySingle(t *testing.T) {
	inner := &single{OneStore: newMemory(t)}
	l := &stint.Limiter{Store: newShield(t, shield.Options{Store: inner})}
	p := policy(t, "p", "2 per 1h", algo.TokenBucket)
	for range 4 {
		if _, err := l.Allow(t.Context(), p, "k"); err != nil {
			t.Error(err)
		}
	}
	if inner.n != 3 {
		t.Errorf("%d charges came without a list, want 3", inner.n)
	}
}

func TestForget(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "2 per 60s", algo.TokenBucket)
		for _, key := range []string{"k", "l"} {
			s.exhaust(p, key)
			s.refuses(one(p, key))
			s.refuses(of(p, key, 2))
			s.behind(of(p, key, -2))
		}
		s.store.Forget(policy(s, "p", "3 per 60s", algo.TokenBucket), []byte("k"))
		s.asks(1, func() { s.passes(of(p, "k", 2)) })
		s.asks(0, func() { s.refuses(one(p, "l")) })
		s.store.Clear()
		s.asks(1, func() { s.passes(of(p, "l", 2)) })
	})
}

// TestWait: who waits as told gets in, in order.
func TestWait(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "2 per 1s", algo.TokenBucket)
		s.trip(time.Millisecond, time.Millisecond)
		l := &stint.Limiter{Store: s.store}
		start := time.Now()
		for range 7 {
			if d, err := l.Wait(s.Context(), one(p, "k")); err != nil || !d.Allowed {
				t.Errorf("%+v, %v", d, err)
			}
		}
		if took := time.Since(start); took > 2600*time.Millisecond {
			t.Errorf("7 of 2 per second took %v", took)
		}
	})
}

// TestInstants: an answer given here is not of the future and not of before the
// one that it repeats.
func TestInstants(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		s.trip(time.Millisecond, time.Millisecond)
		s.exhaust(p, "k")
		last := stint.Micros(0)
		for range 2000 {
			var v [1]stint.Verdict
			at, err := s.store.Take(s.Context(), 0, []stint.Charge{one(p, "k")}, v[:])
			if now := stint.MicrosOf(time.Now()); err != nil || at < last || at > now || at < now-2000 {
				t.Fatalf("at %d, then %d; it is %d; error %v", last, at, now, err)
			}
			last = at
			time.Sleep(1_777 * time.Microsecond)
		}
	})
}

// TestBounded: more refusals than there is room for cost trips, nothing else. Those
// that end last stay.
func TestBounded(t *testing.T) {
	tell(t, shield.Options{Entries: 4, MaxWait: time.Hour}, func(s *story) {
		minute, day := policy(s, "minute", "1 per 60s", algo.TokenBucket), policy(s, "day", "1 per 86400s", algo.TokenBucket)
		s.exhaust(day, "k")
		s.refuses(one(day, "k"))
		for i := range 100 {
			s.exhaust(minute, strconv.Itoa(i))
			s.refuses(one(minute, strconv.Itoa(i)))
		}
		s.asks(0, func() { s.refuses(one(day, "k")) })
		s.asks(97, func() {
			for i := range 100 {
				s.refuses(one(minute, strconv.Itoa(99-i)))
			}
		})
		if n := s.store.Stats(); n.Remembered != 198 || n.Dropped != 194 {
			t.Errorf("%+v", n)
		}
		time.Sleep(time.Minute)
		for i := range 4 {
			s.exhaust(minute, "x"+strconv.Itoa(i))
			s.refuses(one(minute, "x"+strconv.Itoa(i)))
		}
		if n := s.store.Stats(); n.Remembered != 202 || n.Dropped != 195 {
			t.Errorf("%+v: what has ended is not dropped", n)
		}
	})
}

func TestOptions(t *testing.T) {
	inner := storetest.NewReference()
	for _, o := range []shield.Options{
		{Store: inner},
		{Store: inner, Entries: 4, MaxWait: time.Microsecond},
		{Store: inner, Entries: 1 << 10, MaxWait: shield.LongestMaxWait},
	} {
		if _, err := shield.New(o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for want, o := range map[string]shield.Options{
		"needs the store":                 {},
		"1000 entries: write a power":     {Store: inner, Entries: 1000},
		"2 entries: write a power":        {Store: inner, Entries: 2},
		"-4 entries: write a power":       {Store: inner, Entries: -4},
		"33554432 entries: write a power": {Store: inner, Entries: 1 << 25},
		"max wait -1s: write one":         {Store: inner, MaxWait: -time.Second},
		"max wait 1ns: write one":         {Store: inner, MaxWait: 1},
		"max wait 2h0m0s: write one":      {Entries: 3, MaxWait: 2 * time.Hour},
	} {
		if _, err := shield.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

// TestWrongCalls are told by the shared store what is wrong.
func TestWrongCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, shield.Options{})
		p := policy(t, "p", "1 per 60s", algo.TokenBucket)
		many := make([]stint.Charge, stint.MaxCharges+1)
		for i := range many {
			many[i] = one(p, "k")
		}
		for name, c := range map[string]struct {
			charges  []stint.Charge
			verdicts int
		}{
			"33 charges":     {many, len(many)},
			"too few places": {many[:2], 1},
			"a long key":     {[]stint.Charge{one(p, strings.Repeat("k", stint.MaxKey+1))}, 1},
		} {
			if _, err := s.store.Take(context.Background(), 0, c.charges, make([]stint.Verdict, c.verdicts)); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}
