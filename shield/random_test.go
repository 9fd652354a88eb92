package shield_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/shield"
	"github.com/stint-dev/stint/storetest"
)

// random is a source of chance for many goroutines.
type random struct {
	mu sync.Mutex
	*rand.Rand
}

func newRandom(t testing.TB) *random {
	t.Logf("seed %d", storetest.Seed())
	return &random{Rand: rand.New(rand.NewPCG(storetest.Seed(), 0))}
}

func (r *random) below(n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Int64N(n)
}

// sleep is a way to the shared store, from 1 µs to 3 ms.
func (r *random) sleep() {
	scale := []int64{3, 100, 3000}[r.below(3)]
	time.Sleep(time.Duration(1+r.below(scale)) * time.Microsecond)
}

// traffic makes requests up.
type traffic struct {
	*random
	policies []*stint.Policy
}

func newTraffic(t testing.TB, r *random) *traffic {
	w := &traffic{random: r}
	limits := []string{"1 per 1s", "3 per 1s", "7 per 3s", "100 per 1s", "0 per 1s"}
	for _, a := range algorithms() {
		for _, limit := range limits {
			w.policies = append(w.policies, policy(t, a.Name()+" "+limit, limit, a))
		}
	}
	return w
}

func (w *traffic) request() []stint.Charge {
	n := int64(1)
	if w.below(3) == 0 {
		n = 1 + w.below(5)
	}
	request := make([]stint.Charge, n)
	for i := range request {
		p := w.policies[w.below(int64(len(w.policies)))]
		request[i] = of(p, strconv.FormatInt(w.below(2), 10), w.cost(p))
		request[i].Forced = w.below(60) == 0
		if w.below(12) == 0 {
			request[i].MaxDelay = time.Duration(1+w.below(3_000_000)) * time.Microsecond
		}
		request[i].Shadow = w.below(6) == 0
	}
	return request
}

func (w *traffic) cost(p *stint.Policy) int64 {
	switch w.below(40) {
	case 0:
		return 0
	case 1:
		return -1 - w.below(3)
	case 2:
		return -stint.MaxUnits
	case 3, 4:
		return p.Capacity()
	case 5:
		return p.Capacity() + 1
	default:
		return 1 + w.below(2)
	}
}

// TestShieldedTwin compares a store behind a shield with a bare one that gets the
// same requests at the same instants.
func TestShieldedTwin(t *testing.T) {
	const requests = 40_000
	for name, open := range map[string]func(t *testing.T) *shield.Store{
		"before a store of lists": func(t *testing.T) *shield.Store {
			return newShield(t, shield.Options{Store: storetest.NewReference()})
		},
		"before a store of single charges": func(t *testing.T) *shield.Store {
			return newShield(t, shield.Options{Store: newMemory(t), MaxWait: time.Hour})
		},
		"with little memory": func(t *testing.T) *shield.Store {
			return newShield(t, shield.Options{Store: newMemory(t), Entries: 32, MaxWait: 50 * time.Millisecond})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shielded, bare := open(t), storetest.NewReference()
				w := newTraffic(t, newRandom(t))
				for i := range requests {
					if w.below(3) == 0 {
						time.Sleep(time.Duration(w.below(20_000)) * time.Microsecond)
					}
					if err := compare(shielded, bare, w.request(), i%2 == 0); err != nil {
						t.Fatalf("request %d: %v", i, err)
					}
				}
				if n := shielded.Stats(); n.Answered < requests/50 { // some 5 % with little memory, by the seed
					t.Errorf("%+v: too few answered by the shield to prove anything", n)
				}
			})
		})
	}
}

// compare demands the same answer from a shielded store and a bare one. A single
// charge may go without a list.
func compare(shielded stint.OneStore, bare stint.Store, request []stint.Charge, alone bool) (err error) {
	var at stint.Micros
	got, want := make([]stint.Verdict, len(request)), make([]stint.Verdict, len(request))
	if c := request[0]; alone && len(request) == 1 && !c.Shadow {
		at, got[0], err = shielded.TakeOne(context.Background(), 0, c.Policy, string(c.Key), c.Ask)
	} else {
		at, err = shielded.Take(context.Background(), 0, request, got)
	}
	if err != nil {
		return err
	}
	wantAt, err := bare.Take(context.Background(), 0, request, want)
	if err != nil {
		return err
	}
	if at != wantAt || refused(request, got) != refused(request, want) {
		return fmt.Errorf("%v\nat %d %+v\nbare:\nat %d %+v", request, at, got, wantAt, want)
	}
	for i := range request {
		if unasked := refused(request, got) && got[i] == (stint.Verdict{OK: true, Remaining: stint.Unknown}); !unasked && got[i] != want[i] {
			return fmt.Errorf("charge %d of %v\n%+v, bare %+v", i, request, got[i], want[i])
		}
	}
	return nil
}

// TestShieldedTwinFarAway: the way to the shared store takes time and requests
// overlap. What the shield refuses, the store refuses at that very instant, for no
// longer than was told.
func TestShieldedTwinFarAway(t *testing.T) {
	const goroutines, requests, trip = 6, 5_000, 6 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, shield.Options{})
		w := newTraffic(t, newRandom(t))
		s.shared.before, s.shared.after = w.sleep, w.sleep
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range requests {
					request := w.request()
					if got, local := s.local(request); local {
						s.justify(request, got, s.behind(request...), trip)
					}
					if w.below(500) == 0 {
						s.store.Clear()
						s.store.Forget(request[0].Policy, request[0].Key)
						s.store.Stats()
					}
					if w.below(4) == 0 {
						time.Sleep(time.Duration(w.below(30_000)) * time.Microsecond)
					}
				}
			})
		}
		wg.Wait()
		if n := s.store.Stats(); n.Answered < goroutines*requests/10 {
			t.Errorf("%+v: too few answered by the shield to prove anything", n)
		}
	})
}

// local takes a request and says whether the shield answered it.
func (s *story) local(request []stint.Charge) ([]stint.Verdict, bool) {
	var asked bool
	got := make([]stint.Verdict, len(request))
	if _, err := s.store.Take(context.WithValue(context.Background(), askedKey{}, &asked), 0, request, got); err != nil {
		s.Error(err)
	}
	return got, !asked
}

// justify compares what the shield said with what the store says at that instant.
func (s *story) justify(request []stint.Charge, got, want []stint.Verdict, trip time.Duration) {
	s.Helper()
	if !refused(request, got) || !refused(request, want) {
		s.Errorf("%v\n%+v\nat that instant the store says\n%+v", request, got, want)
		return
	}
	for i := range request {
		g, w := got[i], want[i]
		if g.Remaining == stint.Unknown {
			continue
		}
		if g.OK != w.OK || g.Remaining != w.Remaining || g.RetryAfter < w.RetryAfter ||
			g.RetryAfter-w.RetryAfter > trip || g.NextAfter < w.NextAfter || g.NextAfter-w.NextAfter > trip {
			s.Errorf("charge %d of %v\n%+v\nat that instant the store says\n%+v", i, request, g, w)
		}
	}
}
