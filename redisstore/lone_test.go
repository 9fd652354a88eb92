package redisstore

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// narrow are the algorithms that have lone scripts.
var narrow = []stint.Algorithm{algo.TokenBucket, algo.LeakyBucket, algo.FixedWindow, algo.SlidingWindowCounter}

func lonePolicy(t *testing.T, a stint.Algorithm, limit stint.Limit) *stint.Policy {
	t.Helper()
	p, err := stint.NewPolicy(a.Name()+limit.Window.String(), limit, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhoHasALoneScript: algorithms with narrow cells, under limits that are narrow.
func TestWhoHasALoneScript(t *testing.T) {
	t.Parallel()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	usual := stint.Limit{Count: 100, Window: time.Minute}
	for _, a := range algo.All {
		has := false
		for _, n := range narrow {
			has = has || a.Name() == n.Name()
		}
		h, err := s.home(lonePolicy(t, a, usual))
		if err != nil {
			t.Fatal(err)
		}
		if (h.lone != nil) != has {
			t.Errorf("%s: a lone script: %t, want %t", a.Name(), h.lone != nil, has)
		}
	}
	h, err := s.home(lonePolicy(t, algo.SlidingWindowCounter, stint.Limit{Count: 1 << 24, Window: time.Minute}))
	if err != nil || h.lone != nil {
		t.Errorf("a count of more than three bytes has a lone script, %v", err)
	}
}

// lonePolicies are two limits of each algorithm.
func lonePolicies(t *testing.T, window time.Duration) (all [][]*stint.Policy) {
	t.Helper()
	for _, n := range narrow {
		all = append(all, []*stint.Policy{
			lonePolicy(t, n, stint.Limit{Count: 6, Window: window}), lonePolicy(t, n, stint.Limit{Count: 9, Window: window}),
		})
	}
	return all
}

// drawLone draws a request that the lone scripts may settle: of one algorithm, or
// rarely of more, now and then with another limit.
func drawLone(x *rand.Rand, policies [][]*stint.Policy) []stint.Charge {
	all := policies[x.IntN(len(policies))]
	charges := make([]stint.Charge, 1+x.IntN(3)*x.IntN(2))
	for i := range charges {
		if x.IntN(40) == 0 {
			all = policies[x.IntN(len(policies))]
		}
		p := all[0]
		if x.IntN(30) == 0 {
			p = all[1]
		}
		charges[i] = stint.Charge{
			Policy: p, Key: []byte(strconv.Itoa(x.IntN(6))), Shadow: x.IntN(8) == 0,
			Ask: stint.Ask{Cost: []int64{1, 1, 1, 1, 2, 3, 6, 0, -1, -9, 1 << 50}[x.IntN(11)], Forced: x.IntN(12) == 0},
		}
	}
	return charges
}

// TestLoneScriptsAreTheGeneralOne: whatever a call has, they answer and leave behind
// what the general script does.
func TestLoneScriptsAreTheGeneralOne(t *testing.T) {
	t.Parallel()
	lone, general := redistest.Start(t), redistest.Start(t)
	a, b := clocked(t, lone), clocked(t, general)
	clear(b.lones)
	seed := storetest.Seed()
	x := rand.New(rand.NewPCG(seed, 3))
	// In days expiries are moved: keys live for an hour longer than their buckets.
	minutes, days := lonePolicies(t, time.Minute), lonePolicies(t, 24*time.Hour)
	now := storetest.Start
	for turn := range 4000 {
		policies, pace := minutes, int64(1)
		if turn%100 >= 50 {
			policies, pace = days, 1440
		}
		now += stint.Micros((x.Int64N(16_000_000) - 2_000_000) * pace)
		if x.IntN(100) == 0 {
			now += stint.Micros(x.Int64N(5)-2) * 200_000_000
		}
		charges := drawLone(x, policies)
		var got, want [3]stint.Verdict
		for _, c := range charges {
			h, err := a.home(c.Policy)
			if err != nil {
				t.Fatal(err)
			}
			h.detour.Store(0)
		}
		if _, err := a.Take(t.Context(), now, charges, got[:len(charges)]); err != nil {
			t.Fatalf("seed %d, turn %d: %v", seed, turn, err)
		}
		if _, err := b.Take(t.Context(), now, charges, want[:len(charges)]); err != nil {
			t.Fatalf("seed %d, turn %d: %v", seed, turn, err)
		}
		if got != want {
			t.Fatalf("seed %d, turn %d: %+v\ngot  %+v\nwant %+v", seed, turn, charges, got, want)
		}
		for _, c := range charges {
			key := string(appendKey(nil, DefaultPrefix, c.Policy.Name, c.Key))
			if g, w := lone.Do("GET", key), general.Do("GET", key); g != w {
				t.Fatalf("seed %d, turn %d: %s under %+v\ngot  %q\nwant %q", seed, turn, key, charges, g, w)
			}
			if g, w := life(t, lone, key), life(t, general, key); g < w-1000 || g > w+1000 {
				t.Fatalf("seed %d, turn %d: %s under %+v lives for %d ms, want %d", seed, turn, key, charges, g, w)
			}
			if x.IntN(20) == 0 {
				lone.Do("PERSIST", key)
				general.Do("PERSIST", key)
			}
		}
	}
	if l, g := lone.Calls("evalsha"), general.Calls("evalsha"); l < g || l > g*3/2 {
		t.Errorf("%d calls, and %d of the general script alone: want some more", l, g)
	}
}

func clocked(t *testing.T, server *redistest.Server) *Store {
	t.Helper()
	s, err := New(Options{Addrs: []string{server.Addr}, ClientClock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// life is how many milliseconds a key has left, -1 without an expiry.
func life(t *testing.T, server *redistest.Server, key string) int {
	t.Helper()
	n, err := strconv.Atoi(server.Do("PTTL", key))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLoneCallsAreCounted: a request is one call, and two only where a bucket was
// counted under another limit: then the next ones ask the general script first.
func TestLoneCallsAreCounted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, err := New(Options{Addrs: []string{server.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := lonePolicy(t, algo.TokenBucket, stint.Limit{Count: 5, Window: time.Hour})
	ask := func(p *stint.Policy, from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			charge := []stint.Charge{{Policy: p, Key: []byte(strconv.Itoa(i % 100)), Ask: stint.Ask{Cost: 1}}}
			if _, err := s.Take(t.Context(), 0, charge, make([]stint.Verdict, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(p, 0, 1000)
	if n := server.Calls("evalsha"); n != 1000 {
		t.Errorf("%d calls for 1000 requests", n)
	}
	ask(lonePolicy(t, algo.TokenBucket, stint.Limit{Count: 50, Window: time.Hour}), 0, 100)
	if n := server.Calls("evalsha") - 1000; n < 101 || n > 104 {
		t.Errorf("%d calls for 100 requests under another limit, want two more", n)
	}
}

// TestLoneCallsKnowWhatIsForeign: what stands where a bucket should be is left alone.
func TestLoneCallsKnowWhatIsForeign(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := clocked(t, server)
	p := lonePolicy(t, algo.FixedWindow, stint.Limit{Count: 5, Window: time.Hour})
	key := func(k string) string { return string(appendKey(nil, DefaultPrefix, p.Name, []byte(k))) }
	server.Do("SET", key("text"), strings.Repeat("x", 28))
	server.Do("RPUSH", key("list"), "x")
	for _, keys := range [][]string{{"text"}, {"list"}, {"new", "text"}, {"new", "list"}, {"list", "new"}} {
		var charges []stint.Charge
		for _, k := range keys {
			charges = append(charges, stint.Charge{Policy: p, Key: []byte(k), Ask: stint.Ask{Cost: 1}})
		}
		h, err := s.home(p)
		if err != nil {
			t.Fatal(err)
		}
		h.detour.Store(0)
		_, err = s.Take(t.Context(), storetest.Start, charges, make([]stint.Verdict, len(charges)))
		if err == nil || !isOfCharges(err) {
			t.Errorf("%v: error %v, want one that says that it is foreign", keys, err)
		}
	}
	if n := server.Do("EXISTS", key("new")); n != "0" {
		t.Error("a charge was counted beside one that was not")
	}
}
