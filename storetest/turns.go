package storetest

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// Turns is an empty store whose buckets several limits count in turn, as servers do
// that hold different versions of the rules, and a key whose plan changes.
type Turns struct {
	Store stint.Store
	Seed  uint64
}

// Differ plays n games of some hundred charges each and returns the first in which
// something is wrong:
//
//   - in some span t more is admitted than B + r×t, where B is the largest capacity
//     of the limits and r the largest rate (2×B for windows, whose edges admit
//     twice: see docs/algorithms.md);
//   - a request of cost 1 is told to wait longer than its limit alone would let it
//     wait, or is refused again after the wait it was told.
func (t Turns) Differ(n int) error {
	r := rand.New(rand.NewPCG(t.Seed, 1))
	for i := range n {
		g := newGame(r, t.Store, fmt.Sprint("turns ", t.Seed, " ", i))
		if err := g.play(); err != nil {
			return fmt.Errorf("seed %d, game %d, limits %v: %w", t.Seed, i, g.limits(), err)
		}
	}
	return nil
}

// game is one bucket and the limits that count it.
type game struct {
	*rand.Rand
	store    stint.Store
	now      stint.Micros
	policies []*stint.Policy
	key      string
	ledger   ledger
	polls    bool          // asks again and again, whatever it was told
	maxDelay time.Duration // how long it waits out what it has booked ahead
}

// ledger is what the largest limits would let a client owe, in fractions.
type ledger struct {
	rate, most, owed     *big.Rat
	fixedRate, fixedMost *big.Rat // of fixed windows, added up
	at                   stint.Micros
}

func newGame(r *rand.Rand, store stint.Store, key string) *game {
	g := &game{Rand: r, store: store, now: Start + stint.Micros(r.Int64N(100_000_000)), key: key}
	kinds := []stint.Algorithm{algo.TokenBucket, algo.LeakyBucket, algo.FixedWindow, algo.SlidingWindowCounter, algo.SlidingWindowLog}
	a := kinds[r.IntN(len(kinds))]
	mixed := r.IntN(4) == 0 // a reload has changed the algorithm too
	g.ledger = ledger{rate: new(big.Rat), most: new(big.Rat), owed: new(big.Rat), fixedRate: new(big.Rat), fixedMost: new(big.Rat), at: g.now}
	for len(g.policies) < 2+r.IntN(3) {
		if mixed {
			a = kinds[r.IntN(len(kinds))]
		}
		p := g.newPolicy("turns of "+a.Name(), a)
		if mixed {
			p, _ = stint.NewPolicy("turns", p.Limit, a)
		}
		g.policies = append(g.policies, p)
		g.ledger.admit(p)
	}
	g.polls = r.IntN(4) == 0
	if r.IntN(4) == 0 {
		g.maxDelay = time.Duration(r.Int64N(2_000_000)) * time.Microsecond
		lent := new(big.Rat).Mul(g.ledger.rate, new(big.Rat).SetInt64(g.maxDelay.Microseconds()))
		g.ledger.most.Add(g.ledger.most, lent)
	}
	g.ledger.rate.Add(g.ledger.rate, g.ledger.fixedRate)
	g.ledger.most.Add(g.ledger.most, g.ledger.fixedMost)
	if mixed {
		g.ledger.most.Add(g.ledger.most, big.NewRat(1, 1))
	}
	return g
}

// newPolicy draws a limit: 1 to 1000 in a millisecond to an hour.
func (g *game) newPolicy(name string, a stint.Algorithm) *stint.Policy {
	counts := []int64{1, 2, 3, 9, 10, 60, 90, 100, 1000}
	windows := []time.Duration{time.Millisecond, 700 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, time.Hour}
	for {
		l := stint.Limit{Count: counts[g.IntN(len(counts))], Window: windows[g.IntN(len(windows))]}
		if g.IntN(2) == 0 && (a == algo.TokenBucket || a == algo.LeakyBucket) {
			l.Burst = counts[g.IntN(len(counts))]
		}
		if p, err := stint.NewPolicy(name, l, a); err == nil {
			return p
		}
	}
}

func (g *game) limits() (l []string) {
	for _, p := range g.policies {
		l = append(l, p.Algorithm.Name()+" "+p.Limit.String())
	}
	return l
}

// admit widens the ledger by a limit. A fixed window forgets at its edges what others
// have counted, so it admits what it admits alone beside the others. Beside other
// algorithms a sliding counter, which counts in units, is right to a unit.
func (l *ledger) admit(p *stint.Policy) {
	rate := big.NewRat(p.Limit.Count, p.Limit.Window.Microseconds())
	most := new(big.Rat).SetInt64(p.Capacity())
	switch p.Algorithm {
	case algo.TokenBucket, algo.LeakyBucket:
		l.rate, l.most = larger(l.rate, rate), larger(l.most, most)
	case algo.FixedWindow:
		l.fixedRate.Add(l.fixedRate, rate)
		l.fixedMost.Add(l.fixedMost, most.Mul(most, big.NewRat(2, 1)))
	default:
		l.rate, l.most = larger(l.rate, rate), larger(l.most, most.Mul(most, big.NewRat(2, 1)))
	}
}

func larger(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		a = b
	}
	return new(big.Rat).Set(a)
}

// charge counts an admitted cost and says whether that is too much.
func (l *ledger) charge(now stint.Micros, cost int64) error {
	gone := new(big.Rat).Mul(l.rate, new(big.Rat).SetInt64(int64(now-l.at)))
	if l.owed.Sub(l.owed, gone); l.owed.Sign() < 0 {
		l.owed.SetInt64(0)
	}
	l.at = now
	l.owed.Add(l.owed, new(big.Rat).SetInt64(cost))
	if l.owed.Cmp(l.most) > 0 {
		return fmt.Errorf("admitted %s more than the largest rate, where the largest limits admit %s", l.owed.FloatString(3), l.most.FloatString(3))
	}
	return nil
}

// poll lets all limits ask in turn, several times for each unit that comes back.
func (g *game) poll() error {
	step := stint.Micros(stint.MaxUnits)
	for _, p := range g.policies {
		step = min(step, 1+stint.Micros(p.Limit.Window.Microseconds()/p.Limit.Count/(1+g.Int64N(20))))
	}
	for i := range 600 {
		if _, err := g.ask(g.policies[i%len(g.policies)], 1); err != nil {
			return err
		}
		g.now += step
	}
	return nil
}

func (g *game) play() error {
	if g.polls {
		return g.poll()
	}
	p := g.policies[0]
	for range 300 {
		if g.IntN(3) > 0 {
			p = g.policies[g.IntN(len(g.policies))]
		}
		cost := int64(1)
		if g.IntN(4) == 0 {
			cost = 1 + g.Int64N(min(p.Capacity(), 20))
		}
		v, err := g.ask(p, cost)
		if err != nil {
			return err
		}
		if !v.OK && cost == 1 {
			if longest := longestWait(p); v.RetryAfter > longest {
				return fmt.Errorf("%v: told to wait %v, where the limit itself never asks for more than %v", p.Limit, v.RetryAfter, longest)
			}
		}
		if !v.OK && g.IntN(3) == 0 {
			g.now += stint.Micros(v.RetryAfter / time.Microsecond)
			if again, err := g.ask(p, cost); err != nil || !again.OK {
				return fmt.Errorf("%v: told to wait %v for %d, then refused again: %+v, %w", p.Limit, v.RetryAfter, cost, again, err)
			}
		}
		if g.IntN(2) == 0 {
			g.now += stint.Micros(g.Int64N(2*p.Limit.Window.Microseconds()/min(p.Limit.Count, 50) + 1))
		} else if g.IntN(20) == 0 {
			g.now += stint.Micros(g.Int64N(2 * p.Limit.Window.Microseconds()))
		}
	}
	return nil
}

// ask charges the bucket, and the ledger if it passes.
func (g *game) ask(p *stint.Policy, cost int64) (stint.Verdict, error) {
	charges, verdicts := []stint.Charge{of(p, g.key, cost)}, make([]stint.Verdict, 1)
	charges[0].MaxDelay = g.maxDelay
	if _, err := g.store.Take(context.Background(), g.now, charges, verdicts); err != nil {
		return stint.Verdict{}, err
	}
	if !verdicts[0].OK {
		return verdicts[0], nil
	}
	return verdicts[0], g.ledger.charge(g.now, cost)
}

// longestWait is the longest that p alone could tell a request of cost 1: for a
// sliding counter until the window after the last charge's is over.
func longestWait(p *stint.Policy) time.Duration {
	switch p.Algorithm {
	case algo.TokenBucket, algo.LeakyBucket:
		return (p.Limit.Window+time.Duration(p.Limit.Count)-1)/time.Duration(p.Limit.Count) + time.Microsecond
	case algo.SlidingWindowCounter:
		return 2 * p.Limit.Window
	}
	return p.Limit.Window
}
