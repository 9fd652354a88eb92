package shield_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/shield"
	"github.com/stint-dev/stint/storetest"
)

// TestRefillsAreSeenAtOnce: whatever changes a bucket, by whatever way it comes.
func TestRefillsAreSeenAtOnce(t *testing.T) {
	type scene struct {
		*story
		p       *stint.Policy
		limiter *stint.Limiter
	}
	for name, refill := range map[string]func(s scene){
		"refund":       func(s scene) { s.passes(of(s.p, "k", -3)) },
		"reset":        func(s scene) { _ = s.limiter.Reset(s.Context(), s.p, "k") },
		"limiter":      func(s scene) { _, _ = s.limiter.Refund(s.Context(), s.p, "k", 3) },
		"among others": func(s scene) { s.passes(one(s.p, "other"), of(s.p, "k", -3)) },
		"a shadow":     func(s scene) { s.passes(shadow(of(s.p, "k", -3))) },
		"another limit of the name": func(s scene) {
			s.passes(of(policy(s, "p", "4 per 60s", algo.TokenBucket), "k", -4))
		},
		"an error after it": func(s scene) {
			s.shared.err = errDown
			_, _ = s.limiter.Refund(s.Context(), s.p, "k", 3)
			s.shared.err = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, shield.Options{}, func(s *story) {
				p := policy(s, "p", "3 per 60s", algo.TokenBucket)
				s.exhaust(p, "k")
				for cost := range int64(4) {
					s.refuses(of(p, "k", cost))
				}
				refill(scene{s, p, &stint.Limiter{Store: s.store}})
				for range 3 {
					s.passes(one(p, "k"))
				}
				s.refuses(one(p, "k"))
			})
		})
	}
}

// TestForcedChargesMakeTheWaitLonger, and what is told then.
func TestForcedChargesMakeTheWaitLonger(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		s.exhaust(p, "k")
		s.refuses(one(p, "k"))
		s.passes(forced(one(p, "k")))
		if v := s.refuses(one(p, "k")); v.RetryAfter != 2*time.Minute {
			t.Errorf("told to wait %v, want 2m", v.RetryAfter)
		}
		s.asks(1, func() { s.refuses(one(p, "k"), forced(one(p, "l"))) })
		s.asks(1, func() { s.passes(forced(of(p, "k", 0))) })
	})
}

// TestAnswerUnderWayBeforeARefund: it was true when it was given, and is not any
// more when it comes.
func TestAnswerUnderWayBeforeARefund(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		for _, charges := range [][]stint.Charge{{one(p, "k")}, {one(p, "other"), one(p, "k")}} {
			s.passes(of(p, "k", -1))
			s.exhaust(p, "k")
			s.trip(0, 100*time.Millisecond)
			go s.take(charges...)
			synctest.Wait()
			s.trip(0, 0)
			s.passes(of(p, "k", -1))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			s.passes(one(p, "k"))
			s.passes(of(p, "other", -1))
		}
	})
}

// TestAnswerDuringARefund: while a refund is under way nobody knows whether an
// answer was given before or after it.
func TestAnswerDuringARefund(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		s.exhaust(p, "k")
		s.refuses(one(p, "k"))
		s.trip(time.Second, time.Second)
		go s.take(of(p, "k", -1))
		synctest.Wait()
		s.trip(0, 0)
		s.asks(2, func() {
			s.refuses(one(p, "k"))
			s.refuses(one(p, "k"))
		})
		time.Sleep(1500 * time.Millisecond) // the store has it, the caller does not know
		s.passes(one(p, "k"))
		time.Sleep(time.Second)
		s.asks(1, func() { s.refuses(one(p, "k")) })
		s.asks(0, func() { s.refuses(one(p, "k")) })
	})
}

// TestForgottenWhileUnderWay: who forgets knows more than an answer under way.
func TestForgottenWhileUnderWay(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		for _, forget := range []func(){s.store.Clear, func() { s.store.Forget(p, []byte("k")) }} {
			s.exhaust(p, "k")
			s.trip(0, 100*time.Millisecond)
			go s.take(one(p, "k"))
			synctest.Wait()
			s.trip(0, 0)
			s.behind(of(p, "k", -1))
			forget()
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			s.passes(one(p, "k"))
			s.passes(of(p, "k", -1))
		}
	})
}

// TestOlderAnswerComesLast: the one that was sent later stays.
func TestOlderAnswerComesLast(t *testing.T) {
	tell(t, shield.Options{MaxWait: time.Hour}, func(s *story) {
		p := policy(s, "p", "1 per 60s", algo.TokenBucket)
		s.exhaust(p, "k")
		s.trip(0, 2*time.Second)
		go s.take(one(p, "k"))
		synctest.Wait()
		time.Sleep(time.Second)
		s.trip(0, 0)
		s.behind(forced(one(p, "k")))
		s.refuses(one(p, "k"))
		time.Sleep(time.Second)
		synctest.Wait()
		if v := s.refuses(one(p, "k")); v.RetryAfter != 118*time.Second {
			t.Errorf("told to wait %v, want 1m58s", v.RetryAfter)
		}
	})
}

// TestRefundsAgainstRefusals: in each round a crowd is after a single unit that
// comes back somewhere in the middle, and one of them gets it.
func TestRefundsAgainstRefusals(t *testing.T) {
	const rounds, crowd, times = 200, 6, 10
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, shield.Options{Entries: 4})
		way := newRandom(t)
		s.shared.before, s.shared.after = way.sleep, way.sleep
		p := policy(t, "p", "1 per 1000h", algo.FixedWindow)
		s.exhaust(p, "k")
		for round := range rounds {
			var mu sync.Mutex
			var wg sync.WaitGroup
			passed := 0
			for range crowd {
				wg.Go(func() {
					for range times {
						if v := s.take(one(p, "k")); v[0].OK {
							mu.Lock()
							passed++
							mu.Unlock()
						}
						way.sleep()
					}
				})
			}
			wg.Go(func() {
				way.sleep()
				s.passes(of(p, "k", -1))
			})
			wg.Wait()
			if v := s.take(one(p, "k")); v[0].OK {
				passed++
			}
			if passed != 1 {
				t.Fatalf("round %d: %d got the unit that came back, want 1", round, passed)
			}
		}
		if n := s.store.Stats(); n.Answered < rounds {
			t.Errorf("%+v: hardly any was answered by the shield", n)
		}
	})
}

// TestAStoreThatForgets: the shared store starts anew and empty. What was refused is
// refused for the rest of the time that it is remembered, and no longer.
func TestAStoreThatForgets(t *testing.T) {
	tell(t, shield.Options{MaxWait: time.Second}, func(s *story) {
		p := policy(s, "p", "2 per 1h", algo.TokenBucket)
		s.exhaust(p, "k")
		s.refuses(one(p, "k"))
		s.shared.Store = storetest.NewReference()
		time.Sleep(time.Second - 2*time.Microsecond)
		s.asks(0, func() { s.refuses(one(p, "k")) })
		time.Sleep(2 * time.Microsecond)
		s.passes(one(p, "k"))
		s.passes(one(p, "k"))
		s.refuses(one(p, "k"))
	})
}

// TestAStoreThatFails: what it says while it fails is not remembered, be it an error or
// what somebody decided in its place.
func TestAStoreThatFails(t *testing.T) {
	tell(t, shield.Options{}, func(s *story) {
		p := policy(s, "p", "1 per 1h", algo.FixedWindow)
		s.passes(one(p, "k"))
		for _, err := range []error{stint.ErrDegraded, fmt.Errorf("outside: %w", stint.ErrDegraded), context.DeadlineExceeded} {
			s.shared.err = err
			for range 3 {
				s.asks(1, func() {
					var v [1]stint.Verdict
					if _, got := s.store.Take(context.Background(), 0, []stint.Charge{one(p, "k")}, v[:]); !errors.Is(got, err) || v[0].OK {
						s.Errorf("%+v, error %v, want %v", v, got, err)
					}
				})
				s.asks(1, func() {
					if _, v, got := s.store.TakeOne(context.Background(), 0, p, "k", stint.Ask{Cost: 1}); !errors.Is(got, err) || v.OK {
						s.Errorf("%+v, error %v, want %v", v, got, err)
					}
				})
			}
		}
		s.shared.err = nil
		s.asks(1, func() {
			s.refuses(one(p, "k"))
			s.refuses(one(p, "k"))
		})
	})
}
