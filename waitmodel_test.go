package stint_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

// caller is one that waits, and what becomes of it.
type caller struct {
	n        int
	cost     int64
	deadline time.Duration // 0 for none
	cancel   context.CancelFunc

	due       *big.Rat // seconds since the start, by the model
	cancelled time.Duration
	refused   bool

	ended chan end // holds what came of it, until it is collected
	done  bool
	end
}

// end is what came of a caller.
type end struct {
	after   time.Duration
	allowed bool
	err     error
}

// rest lets everything come to rest, and collects what came of the callers.
func rest(all []*caller) {
	synctest.Wait()
	for _, c := range all {
		select {
		case c.end = <-c.ended:
			c.done = true
		default:
		}
	}
}

// bucketModel is a bucket that is booked ahead, in rationals: what it owes falls at the
// rate, each caller adds its cost and goes when no more than the burst is owed. A caller
// that gives up takes its cost away from what is owed, and from all behind it.
type bucketModel struct {
	rate, burst *big.Rat
	most        *big.Rat // owed at most, nil if the deadline alone bounds it
	owed, at    *big.Rat
	waiting     []*caller
}

func rat(n, d int64) *big.Rat { return big.NewRat(n, d) }

func seconds(d time.Duration) *big.Rat { return rat(int64(d), int64(time.Second)) }

func (m *bucketModel) advance(now *big.Rat) {
	paid := new(big.Rat).Mul(m.rate, new(big.Rat).Sub(now, m.at))
	m.owed = m.owed.Sub(m.owed, paid)
	if m.owed.Sign() < 0 {
		m.owed.SetInt64(0)
	}
	m.at = now
}

// arrive books c, or refuses it.
func (m *bucketModel) arrive(now time.Duration, c *caller) {
	t := seconds(now)
	m.advance(t)
	cost := rat(c.cost, 1)
	after := new(big.Rat).Add(m.owed, cost)
	wait := new(big.Rat).Quo(new(big.Rat).Sub(after, m.burst), m.rate)
	if wait.Sign() < 0 {
		wait.SetInt64(0)
	}
	due := wait.Add(wait, t)
	switch {
	case cost.Cmp(m.burst) > 0, c.deadline != 0 && due.Cmp(seconds(c.deadline)) > 0, m.most != nil && after.Cmp(m.most) > 0:
		c.refused = true
		return
	}
	m.owed, c.due = after, due
	m.waiting = append(m.waiting, c)
}

func (m *bucketModel) leave(now time.Duration, c *caller) {
	m.advance(seconds(now))
	m.owed.Sub(m.owed, rat(c.cost, 1))
	worth := new(big.Rat).Quo(rat(c.cost, 1), m.rate)
	for _, b := range m.waiting[slices.Index(m.waiting, c)+1:] {
		b.due.Sub(b.due, worth)
		if b.due.Cmp(seconds(now)) < 0 && !b.done {
			b.due = seconds(now)
		}
	}
	c.cancelled = now
}

// near says whether an instant is so close to c's due time that rounding to
// microseconds decides which of them comes first.
func (c *caller) near(at time.Duration) bool {
	if c.due == nil {
		return false
	}
	diff, _ := new(big.Rat).Sub(c.due, seconds(at)).Float64()
	return diff < 5e-6 && diff > -5e-6
}

// TestWaitAsTheModel: callers come, with and without deadlines, and give up, at random.
// Each goes, or is refused, when a bucket in rationals says so.
func TestWaitAsTheModel(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { bucketGame(t, rand.New(rand.NewPCG(seed, 8))) })
		})
	}
}

func bucketGame(t *testing.T, r *rand.Rand) {
	count, burst := 1+r.Int64N(9), 1+r.Int64N(4)
	m := &bucketModel{rate: rat(count, 1), burst: rat(burst, 1), owed: new(big.Rat), at: new(big.Rat)}
	var a stint.Algorithm = algo.TokenBucket
	if r.IntN(2) == 0 {
		waiting := 1 + r.Int64N(20)
		a, m.most = algo.LeakyQueue{MaxWaiting: waiting}, rat(burst+waiting, 1)
	}
	l := newLine(t, fmt.Sprintf("%d per 1s, burst %d", count, burst), a)
	var all, gone []*caller
	finish := make(chan *caller, 1)
	for range 200 {
		time.Sleep(time.Duration(r.Int64N(int64(600 * ms / time.Duration(count)))).Truncate(us))
		rest(all)
		now := time.Since(l.start)
		if r.IntN(4) == 0 && len(m.waiting) > 0 {
			c := m.waiting[r.IntN(len(m.waiting))]
			if !c.done && c.cancelled == 0 && !slices.ContainsFunc(m.waiting, func(c *caller) bool { return !c.done && c.near(now) }) {
				m.leave(now, c)
				c.cancel()
				rest(all)
			}
			continue
		}
		c := &caller{n: len(all), cost: 1 + r.Int64N(burst), ended: make(chan end, 1)}
		if r.IntN(10) == 0 {
			c.cost = burst + 1
		}
		if _, queue := a.(stint.QueueAlgorithm); queue {
			c.cost = min(c.cost, burst)
		}
		ctx := context.Background()
		if r.IntN(2) == 0 {
			patience := time.Duration(r.Int64N(int64(3*s))).Truncate(us) + us
			c.deadline = now + patience
			ctx, c.cancel = context.WithTimeout(ctx, patience)
		} else {
			ctx, c.cancel = context.WithCancel(ctx)
		}
		t.Cleanup(c.cancel)
		if m.arrive(now, c); c.near(c.deadline) {
			c.deadline = 0 // cannot be told apart; as good as it is, it is not checked
		}
		all = append(all, c)
		go func() {
			ask := charge(l.policy, "k")
			ask.Cost = c.cost
			d, err := l.limiter.Wait(ctx, ask)
			c.ended <- end{time.Since(l.start), d.Allowed, err}
			select {
			case finish <- c:
			default:
			}
		}()
		rest(all)
		if c.refused && (!c.done || c.after != now || c.allowed) {
			t.Fatalf("caller %d should be refused at once: %+v", c.n, c)
		}
	}
	time.Sleep(10 * time.Minute)
	rest(all)
	for _, c := range all {
		switch {
		case !c.done:
			t.Errorf("caller %d waits for ever", c.n)
		case c.refused:
		case c.cancelled != 0:
			if c.allowed || !errors.Is(c.err, context.Canceled) || c.after != c.cancelled {
				t.Errorf("caller %d gave up at %v: %v, %v at %v", c.n, c.cancelled, c.allowed, c.err, c.after)
			}
		case !c.allowed || c.err != nil || !c.at(c.after):
			want, _ := c.due.Float64()
			t.Errorf("caller %d: %v, %v at %v, want it to go at %.7f s", c.n, c.allowed, c.err, c.after, want)
		default:
			gone = append(gone, c)
		}
	}
	neverAbove(t, gone, count, burst)
	if d, err := l.limiter.Peek(context.Background(), l.policy, "k"); err != nil || d.Remaining != d.Capacity {
		t.Errorf("%+v, %v: want nothing used", d, err)
	}
	l.empty()
}

// at says whether c goes at after: not before it is due, and at most two microseconds
// later, one for the instant and one for the delay.
func (c *caller) at(after time.Duration) bool {
	late, _ := new(big.Rat).Sub(seconds(after), c.due).Float64()
	return late >= 0 && late <= 2.1e-6
}

// neverAbove demands that in any span no more go than the burst and what the rate gives.
func neverAbove(t *testing.T, gone []*caller, count, burst int64) {
	t.Helper()
	slices.SortStableFunc(gone, func(a, b *caller) int { return cmp.Compare(a.after, b.after) })
	for i := range gone {
		sum := int64(0)
		for _, c := range gone[i:] {
			sum += c.cost
			span := c.after - gone[i].after + 3*us
			if float64(sum-burst) > span.Seconds()*float64(count) {
				t.Fatalf("%d units in %v at %d a second, burst %d", sum, span, count, burst)
			}
		}
	}
}

// TestWaitOnWindowsAsTheModel: on windows and logs callers pass in the order in which
// they came, each as soon as the limit lets it, and those that cannot meet their
// deadline do not wait for it.
func TestWaitOnWindowsAsTheModel(t *testing.T) {
	for _, a := range []stint.Algorithm{algo.FixedWindow, algo.SlidingWindowLog, algo.SlidingWindowCounter} {
		for seed := range uint64(30) {
			t.Run(fmt.Sprint(a.Name(), seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { windowGame(t, a, rand.New(rand.NewPCG(seed, 9))) })
			})
		}
	}
}

// windowModel asks a store of its own for the callers, one after the other.
type windowModel struct {
	*testing.T
	store   stint.Store
	policy  *stint.Policy
	start   time.Time
	now     time.Duration
	waiting []*caller
	passed  []pass
}

// pass is a charge that passed.
type pass struct {
	at   time.Duration
	cost int64
}

// advance lets pass what passes until now.
func (m *windowModel) advance(now time.Duration) {
	for len(m.waiting) > 0 {
		c := m.waiting[0]
		if wait := m.ask(c.cost); wait > 0 {
			if m.now+wait > now {
				break
			}
			m.now += wait
			continue
		}
		c.due = seconds(m.now)
		m.waiting = m.waiting[1:]
	}
	m.now = max(m.now, now)
}

// ask returns how long a caller has to wait, and charges it if that is 0.
func (m *windowModel) ask(cost int64) time.Duration {
	ask := charge(m.policy, "k")
	ask.Cost = cost
	var v [1]stint.Verdict
	if _, err := m.store.Take(context.Background(), stint.MicrosOf(m.start.Add(m.now)), []stint.Charge{ask}, v[:]); err != nil {
		m.Fatal(err)
	}
	if v[0].OK {
		m.passed = append(m.passed, pass{m.now, cost})
	}
	return v[0].RetryAfter
}

// leave takes c out of those that wait.
func (m *windowModel) leave(c *caller) {
	i := slices.Index(m.waiting, c)
	m.waiting = slices.Delete(m.waiting, i, i+1)
}

// stays is when c would pass if all before it stayed.
func (m *windowModel) stays(c *caller) time.Duration {
	f := &windowModel{T: m.T, store: storetest.NewReference(), policy: m.policy, start: m.start}
	for _, p := range m.passed {
		f.now = p.at
		f.ask(p.cost)
	}
	f.now = m.now
	for _, w := range m.waiting[:slices.Index(m.waiting, c)+1] {
		f.waiting = append(f.waiting, &caller{cost: w.cost})
	}
	f.advance(m.now + time.Hour)
	return f.passed[len(f.passed)-1].at
}

// refusals takes out those that were refused, which must be right to be.
func (m *windowModel) refusals() {
	for _, c := range slices.Clone(m.waiting) {
		if c.done && !c.allowed && c.cancelled == 0 {
			if at := m.stays(c); c.deadline == 0 || at <= c.deadline || !errors.Is(c.err, context.DeadlineExceeded) {
				m.Errorf("caller %d, until %v, is refused at %v, %v: it would pass at %v", c.n, c.deadline, c.after, c.err, at)
			}
			c.refused = true
			m.leave(c)
		}
	}
}

// windowGame plays with callers of one cost: then one that is refused early, or late,
// stands in nobody's way.
func windowGame(t *testing.T, a stint.Algorithm, r *rand.Rand) {
	count, cost := 1+r.Int64N(6), int64(1)
	if count > 1 {
		cost += r.Int64N(2)
	}
	l := newLine(t, fmt.Sprintf("%d per 1s", count), a)
	m := &windowModel{T: t, store: storetest.NewReference(), policy: l.policy, start: l.start}
	var all []*caller
	for range 150 {
		time.Sleep(time.Duration(r.Int64N(int64(700*ms)/count*cost) + 1).Truncate(us))
		rest(all)
		now := time.Since(l.start)
		m.refusals()
		m.advance(now)
		if r.IntN(4) == 0 && len(m.waiting) > 0 {
			c := m.waiting[r.IntN(len(m.waiting))]
			m.leave(c)
			c.cancelled = now
			c.cancel()
			rest(all)
			continue
		}
		c := &caller{n: len(all), cost: cost, ended: make(chan end, 1)}
		ctx, cancel := context.WithCancel(context.Background())
		if r.IntN(2) == 0 {
			patience := time.Duration(r.Int64N(int64(4*s))).Truncate(us) + us
			c.deadline = now + patience
			ctx, cancel = context.WithTimeout(context.Background(), patience)
		}
		c.cancel = cancel
		t.Cleanup(cancel)
		all, m.waiting = append(all, c), append(m.waiting, c)
		m.advance(now)
		go func() {
			ask := charge(l.policy, "k")
			ask.Cost = c.cost
			d, err := l.limiter.Wait(ctx, ask)
			c.ended <- end{time.Since(l.start), d.Allowed, err}
		}()
		rest(all)
	}
	for range 1000 {
		time.Sleep(s / 10)
		rest(all)
		m.refusals()
		m.advance(time.Since(l.start))
	}
	refused, late := 0, 0
	for _, c := range all {
		switch {
		case !c.done:
			t.Errorf("caller %d waits for ever", c.n)
		case c.cancelled != 0:
			if c.allowed || !errors.Is(c.err, context.Canceled) || c.after != c.cancelled {
				t.Errorf("caller %d gave up at %v: %v, %v at %v", c.n, c.cancelled, c.allowed, c.err, c.after)
			}
		case c.refused:
			if refused++; c.after >= c.deadline {
				late++
			}
		case !c.allowed || c.err != nil || seconds(c.after).Cmp(c.due) != 0:
			want, _ := c.due.Float64()
			t.Errorf("caller %d, until %v: %v, %v at %v, want it to pass at %.7f s", c.n, c.deadline, c.allowed, c.err, c.after, want)
		}
	}
	if late > 0 {
		t.Errorf("%d of %d that could not pass sat their deadline out", late, refused)
	}
	l.empty()
}
