package failover

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// randomPolicy returns a policy that compiles.
func randomPolicy(r *rand.Rand) *stint.Policy {
	// No part of these is longer than a window can be.
	windows := []time.Duration{time.Millisecond, time.Second, 7 * time.Second, time.Minute, 90 * time.Minute, 24 * time.Hour}
	algorithms := append([]stint.Algorithm{
		algo.LeakyQueue{MaxWaiting: 1 + r.Int64N(300)},
		algo.LeakyQueue{MaxWait: time.Duration(1+r.Int64N(5000)) * time.Millisecond},
		algo.LeakyQueue{MaxWaiting: 1 + r.Int64N(300), MaxWait: time.Second},
	}, algo.All...)
	for {
		l := stint.Limit{Count: 1 + r.Int64N([]int64{3, 100, 9000}[r.IntN(3)]), Window: windows[r.IntN(len(windows))]}
		if r.IntN(2) == 0 {
			l.Burst = 1 + r.Int64N(500)
		}
		if p, err := stint.NewPolicy("p", l, algorithms[r.IntN(len(algorithms))]); err == nil {
			return p
		}
	}
}

// rate is what a limit admits in a microsecond.
func rate(l stint.Limit) *big.Rat { return big.NewRat(l.Count, l.Window.Microseconds()) }

// TestSharesMakeTheWhole: n shares admit at once at most the capacity and a unit each,
// and in the long run exactly the rate of a bucket, at most that of a window.
func TestSharesMakeTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		p, n := randomPolicy(r), 2+r.Int64N([]int64{3, 50, 2000}[r.IntN(3)])
		part := shareOf(p, n).policy
		if got := part.Capacity(); got < 1 || n*got > p.Capacity()+n {
			t.Fatalf("%s %v over %d: each has room for %d of %d", p.Algorithm.Name(), p.Limit, n, got, p.Capacity())
		}
		together := new(big.Rat).Mul(rate(part.Limit), big.NewRat(n, 1))
		if c := together.Cmp(rate(p.Limit)); c > 0 || c < 0 && hasBurst(p.Algorithm) {
			t.Fatalf("%s %v over %d: each has %v, together %v of %v", p.Algorithm.Name(), p.Limit, n, part.Limit, together, rate(p.Limit))
		}
		// No count is rounded down to less than it has to be.
		if !hasBurst(p.Algorithm) && p.Limit.Count >= n && part.Limit != (stint.Limit{Count: p.Limit.Count / n, Window: p.Limit.Window, Burst: part.Limit.Burst}) {
			t.Fatalf("%s %v over %d: each has %v", p.Algorithm.Name(), p.Limit, n, part.Limit)
		}
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		algorithm stint.Algorithm
		limit     string
		servers   int64
		want      stint.Limit
	}{
		{algo.TokenBucket, "1 per second, burst 20", 2, stint.Limit{Count: 1, Window: 2 * time.Second, Burst: 10}},
		{algo.TokenBucket, "60 per minute, burst 20", 2, stint.Limit{Count: 60, Window: 2 * time.Minute, Burst: 10}},
		{algo.LeakyBucket, "100 per minute", 3, stint.Limit{Count: 100, Window: 3 * time.Minute, Burst: 33}},
		{algo.TokenBucket, "2 per minute", 5, stint.Limit{Count: 2, Window: 5 * time.Minute, Burst: 1}},
		{algo.FixedWindow, "100 per minute", 3, stint.Limit{Count: 33, Window: time.Minute}},
		{algo.SlidingWindowCounter, "2 per minute", 5, stint.Limit{Count: 1, Window: 3 * time.Minute}},
		{algo.SlidingWindowLog, "100 per minute", 2, stint.Limit{Count: 50, Window: time.Minute}},
	} {
		l, err := stint.ParseLimit(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		p, err := stint.NewPolicy("p", l, c.algorithm)
		if err != nil {
			t.Fatal(err)
		}
		got := shareOf(p, c.servers).policy
		same := rate(got.Limit).Cmp(rate(c.want)) == 0 && got.Capacity() == c.want.Capacity()
		if !same || !hasBurst(c.algorithm) && got.Limit != c.want {
			t.Errorf("%s %s over %d: %v, want %v", c.algorithm.Name(), c.limit, c.servers, got.Limit, c.want)
		}
	}
}

// TestQueuesAreShared: as many wait at all servers together as at one, and none for
// longer.
func TestQueuesAreShared(t *testing.T) {
	for _, c := range []struct {
		queue   algo.LeakyQueue
		servers int64
		waiting int64
	}{
		{algo.LeakyQueue{MaxWaiting: 100}, 2, 50},
		{algo.LeakyQueue{MaxWaiting: 100}, 3, 33},
		{algo.LeakyQueue{MaxWaiting: 3}, 5, 0},
		{algo.LeakyQueue{MaxWait: 10 * time.Second}, 2, 50},
		{algo.LeakyQueue{MaxWait: 10 * time.Second, MaxWaiting: 40}, 2, 20},
		{algo.LeakyQueue{MaxWait: time.Second, MaxWaiting: 40}, 2, 5},
	} {
		whole, err := stint.NewPolicy("q", stint.Limit{Count: 10, Window: time.Second}, c.queue)
		if err != nil {
			t.Fatal(err)
		}
		part := shareOf(whole, c.servers).policy
		if got := part.Capacity() - 1; got != c.waiting {
			t.Errorf("%+v over %d: %d wait at each, want %d", c.queue, c.servers, got, c.waiting)
		}
		delay := func(p *stint.Policy) time.Duration { return p.Algorithm.(stint.QueueAlgorithm).MaxDelay(&p.Params) }
		if delay(part) > delay(whole) {
			t.Errorf("%+v over %d: one waits %v, at one server %v", c.queue, c.servers, delay(part), delay(whole))
		}
	}
}

// TestALongWindowIsShared where n times as much would be longer than any can be.
func TestALongWindowIsShared(t *testing.T) {
	for _, a := range algo.All {
		p, err := stint.NewPolicy("p", stint.Limit{Count: 20, Window: 2000 * time.Hour}, a)
		if err != nil {
			t.Fatal(err)
		}
		part := shareOf(p, 10_000).policy
		if part == p || part.Capacity() != 1 || part.Limit.Window < 100_000*time.Hour {
			t.Errorf("%s: %v", a.Name(), part.Limit)
		}
	}
}
