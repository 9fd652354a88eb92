package redisstore

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// asked is a request of a batch, and what the reference says of it.
type asked struct {
	charges   []stint.Charge
	want, got []stint.Verdict
	request   *request
}

// crowds draws calls of many requests.
type crowds struct {
	*rand.Rand
	policies [][]*stint.Policy // of each name, several limits
}

func newCrowds(t *testing.T, seed uint64) *crowds {
	t.Helper()
	c := &crowds{Rand: rand.New(rand.NewPCG(seed, 2))}
	algorithms := append([]stint.Algorithm{algo.LeakyQueue{MaxWaiting: 3}}, algo.All...)
	for _, a := range algorithms {
		var all []*stint.Policy
		for _, count := range []int64{6, 9} {
			p, err := stint.NewPolicy(a.Name(), stint.Limit{Count: count, Window: time.Minute}, a)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		c.policies = append(c.policies, all)
	}
	return c
}

// charge draws one: on a bucket that many ask, or that few ask.
func (c *crowds) charge(turn int) stint.Charge {
	all := c.policies[c.IntN(len(c.policies))]
	p := all[0]
	if turn%64 > 48 {
		p = all[1] // for a while there are two limits
	}
	key := "all"
	if c.IntN(3) > 0 {
		key = strconv.Itoa(c.IntN(40))
	}
	ask := stint.Ask{Cost: []int64{1, 1, 1, 1, 2, 3, 0, -1}[c.IntN(8)], Forced: c.IntN(10) == 0}
	if c.IntN(8) == 0 {
		ask.MaxDelay = time.Duration(c.IntN(20)) * time.Second
	}
	return stint.Charge{Policy: p, Key: []byte(key), Shadow: c.IntN(8) == 0, Ask: ask}
}

func (c *crowds) requests(turn int) []*asked {
	all := make([]*asked, 1+c.IntN(16))
	for i := range all {
		n := 1 + c.IntN(3)
		a := &asked{want: make([]stint.Verdict, n), got: make([]stint.Verdict, n)}
		for range n {
			a.charges = append(a.charges, c.charge(turn))
		}
		all[i] = a
	}
	return all
}

// TestRequestsOfOneCall: requests that leave together are told what they would be
// told one after the other.
func TestRequestsOfOneCall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, err := New(Options{Addrs: []string{server.Addr}, ClientClock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seed := storetest.Seed()
	c := newCrowds(t, seed)
	reference := storetest.NewReference()
	b, now := newBatch(), storetest.Start
	for turn := range 2000 {
		now += stint.Micros(c.Int64N(8_000_000) - 1_000_000)
		all := c.requests(turn)
		b.requests = b.requests[:0]
		for _, a := range all {
			if _, err := reference.Take(t.Context(), now, a.charges, a.want); err != nil {
				t.Fatal(err)
			}
			a.request = s.borrow()
			if err := s.fill(a.request, now, a.charges); err != nil {
				t.Fatal(err)
			}
			a.request.state.Store(sent)
			b.requests = append(b.requests, a.request)
		}
		at, answer, err := s.ask(b)
		b.deliver(s, at, answer, err)
		for i, a := range all {
			if a.request.err != nil {
				t.Fatalf("seed %d, turn %d: %v", seed, turn, a.request.err)
			}
			if err := a.request.read(a.charges, a.got); err != nil {
				t.Fatalf("seed %d, turn %d, request %d: %v", seed, turn, i, err)
			}
			for j := range a.got {
				if a.got[j] != a.want[j] {
					t.Fatalf("seed %d, turn %d, request %d, charge %d of %+v:\ngot  %+v\nwant %+v", seed, turn, i, j, a.charges, a.got[j], a.want[j])
				}
			}
		}
	}
}

// TestChargesOnLogsWeighMore: a call has fewer of them.
func TestChargesOnLogsWeighMore(t *testing.T) {
	s, err := New(Options{MaxBatch: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for a, want := range map[stint.Algorithm]int{algo.TokenBucket: 64, algo.SlidingWindowLog: 16} {
		p, err := stint.NewPolicy(a.Name(), stint.Limit{Count: 6, Window: time.Minute}, a)
		if err != nil {
			t.Fatal(err)
		}
		l := &lane{store: s}
		for range 100 {
			r := s.borrow()
			if err := s.fill(r, 0, []stint.Charge{{Policy: p, Ask: stint.Ask{Cost: 1}}}); err != nil {
				t.Fatal(err)
			}
			l.queue = append(l.queue, r)
		}
		b := newBatch()
		if l.load(b); len(b.requests) != want {
			t.Errorf("%s: a call has %d requests, want %d", a.Name(), len(b.requests), want)
		}
	}
}
