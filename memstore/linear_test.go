package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
)

// A call is what one request asks of buckets of the same capacity at one instant,
// and counts is what those buckets hold: the model that a store must agree with.
type (
	call   []costOf
	costOf struct {
		bucket int
		cost   int64
	}
	answers []answer
	answer  struct {
		ok        bool
		remaining int64
	}
	counts [4]int64
)

const capacity = 5

// settle answers a call; what is refused changes nothing, and tells of untouched
// buckets.
func (n counts) settle(c call) (counts, answers) {
	after, said, refused := n, make(answers, len(c)), false
	for i, ask := range c {
		used := &after[ask.bucket]
		ok := max(ask.cost, 1) <= capacity-*used || ask.cost < 0
		if ok {
			*used = max(0, *used+ask.cost)
		}
		said[i] = answer{ok, capacity - *used}
		refused = refused || !ok
	}
	if !refused {
		return after, said
	}
	for i, ask := range c {
		// A refund before it may have given back less than it names.
		if left := capacity - n[ask.bucket]; said[i].ok || c.wants(ask.bucket) > left {
			said[i].remaining = left
		}
	}
	return n, said
}

// wants is what a call must find in a bucket.
func (c call) wants(bucket int) int64 {
	var sum, most int64
	for _, ask := range c {
		if ask.bucket == bucket {
			sum += ask.cost
			if ask.cost >= 0 {
				most = max(most, sum, sum-ask.cost+1)
			}
		}
	}
	return max(most, 1)
}

// oneAfterTheOther is the model of a store that does one thing at a time.
var oneAfterTheOther = porcupine.Model{
	Init: func() any { return counts{} },
	Step: func(n, c, said any) (bool, any) {
		after, want := n.(counts).settle(c.(call))
		return slices.Equal(said.(answers), want), after
	},
}

// TestLinearizable lets a few callers ask four buckets at once, while others come,
// the store is swept and the algorithm changed to one that counts alike, and
// demands that the answers are those of some order of the calls.
func TestLinearizable(t *testing.T) {
	for _, a := range [][2]stint.Algorithm{
		{algo.TokenBucket, algo.LeakyBucket},
		{algo.SlidingWindowLog, algo.FixedWindow},
		{algo.FixedWindow, algo.SlidingWindowCounter},
	} {
		t.Run(a[0].Name(), func(t *testing.T) {
			for round := range 100 {
				h := &history{Store: newStore(t, memstore.Options{}), began: time.Now()}
				for i := range len(counts{}) {
					name, limit := fmt.Sprint("p", i%2), fmt.Sprint(capacity, " per day")
					h.charges = append(h.charges, charge(named(t, name, limit, a[0]), fmt.Sprint("k", i/2), 0))
					h.changed = append(h.changed, named(t, name, limit, a[1]))
				}
				h.run(t, uint64(round))
				if porcupine.CheckOperationsTimeout(oneAfterTheOther, h.calls, 5*time.Second) == porcupine.Illegal {
					t.Fatalf("round %d: no order of the calls explains\n%+v", round, h.calls)
				}
			}
		})
	}
}

// TestModelSeesALostCharge is the proof that the test above can fail.
func TestModelSeesALostCharge(t *testing.T) {
	one := call{{0, 3}}
	said := answers{{true, 2}}
	calls := []porcupine.Operation{
		{ClientId: 0, Input: one, Call: 0, Output: said, Return: 10},
		{ClientId: 1, Input: one, Call: 5, Output: said, Return: 20},
	}
	if porcupine.CheckOperations(oneAfterTheOther, calls) {
		t.Error("a charge of 3 passed twice, each with 2 of 5 left, and nobody noticed")
	}
}

// history is what was asked of a store and when.
type history struct {
	*memstore.Store
	began   time.Time
	charges []stint.Charge // one for each bucket of the model
	changed []*stint.Policy

	mu    sync.Mutex
	calls []porcupine.Operation
}

func (h *history) run(t *testing.T, seed uint64) {
	const callers, calls = 6, 60
	var noise, wg sync.WaitGroup
	stop := make(chan struct{})
	noise.Go(func() { h.disturb(t, stop) })
	for id := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(id)))
			for range calls {
				h.do(t, id, randomCall(r))
			}
		})
	}
	wg.Wait()
	close(stop)
	noise.Wait()
}

func randomCall(r *rand.Rand) call {
	c := make(call, 1+r.IntN(2))
	for i := range c {
		c[i] = costOf{r.IntN(len(counts{})), []int64{1, 1, 1, 2, 3, 0, -1, -2}[r.IntN(8)]}
	}
	return c
}

// do asks, and notes the answers.
func (h *history) do(t *testing.T, id int, c call) {
	charges, v := make([]stint.Charge, len(c)), make([]stint.Verdict, len(c))
	for i, ask := range c {
		charges[i] = h.charges[ask.bucket]
		charges[i].Cost = ask.cost
	}
	var err error
	from := time.Since(h.began)
	if len(c) == 1 {
		_, v[0], err = h.TakeOne(context.Background(), t0, charges[0].Policy, string(charges[0].Key), charges[0].Ask)
	} else {
		_, err = h.Take(context.Background(), t0, charges, v)
	}
	to := time.Since(h.began)
	if err != nil {
		t.Error(err)
	}
	said := make(answers, len(c))
	for i := range v {
		said[i] = answer{v[i].OK, v[i].Remaining}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, porcupine.Operation{
		ClientId: id, Input: c, Call: from.Nanoseconds(), Output: said, Return: to.Nanoseconds(),
	})
}

// disturb lets others come, sweeps, and changes algorithms, until it is stopped.
func (h *history) disturb(t *testing.T, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		c := h.charges[i%len(h.charges)]
		take(t, h, c.Policy, fmt.Sprint("other", i%500), t0, 1)
		switch i % 50 {
		case 0:
			h.Sweep(t0)
		case 25:
			take(t, h, h.changed[i/50%len(h.changed)], "other", t0, 0)
		}
	}
}
