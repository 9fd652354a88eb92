package redisstore_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/redisstore"
)

// slack is how much longer than its deadline one request may take on a machine that
// runs many tests at once and stands still for a while; usual is how much longer nine
// in ten may.
const (
	slack = 3 * time.Second
	usual = 60 * time.Millisecond
)

// probe is how long a node leaves a store alone that failed.
const probe = 200 * time.Millisecond

// node is one server of a fleet: a limiter on the shared store, and on its own
// memory while that fails.
type node struct {
	t        testing.TB
	limiter  *stint.Limiter
	failover *failover.Store
	deadline time.Duration

	mu      sync.Mutex
	changes []error
}

// newNode makes a server of a fleet of some. The deadline is that of the product
// unless options say another one.
func newNode(t testing.TB, shared stint.Store, fleet int, o failover.Options) *node {
	t.Helper()
	local, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, deadline: o.Deadline}
	if n.deadline == 0 {
		n.deadline = failover.DefaultDeadline
	}
	o.Store, o.Local, o.Fleet, o.Changed = shared, local, func() int { return fleet }, n.changed
	if o.Probe == 0 {
		o.Probe = probe
	}
	if n.failover, err = failover.New(o); err != nil {
		t.Fatal(err)
	}
	n.limiter = &stint.Limiter{Store: n.failover}
	return n
}

func (n *node) changed(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changes = append(n.changes, err)
}

// told returns how often the node said that the store fails, and that it answers.
func (n *node) told() (failed, answered int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, err := range n.changes {
		if err != nil {
			failed++
		} else {
			answered++
		}
	}
	return failed, answered
}

// tally is what became of requests.
type tally struct {
	mu       sync.Mutex
	asked    int
	passed   int // of all
	local    int // passed without the shared store
	degraded int
	waits    []time.Duration
}

// ask sends one request and counts it. An error fails the test.
func (n *node) ask(to *tally, p *stint.Policy, key string) stint.Decision {
	start := time.Now()
	d, err := n.limiter.Allow(context.Background(), p, key)
	wait := time.Since(start)
	if err != nil {
		n.t.Errorf("a request got the error %v", err)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	to.asked++
	to.waits = append(to.waits, wait)
	if d.Degraded {
		to.degraded++
	}
	if d.Allowed {
		to.passed++
		if d.Degraded {
			to.local++
		}
	}
	return d
}

// longest is the longest wait, and the ones that all but one in a hundred, and one in
// ten, were shorter than.
func (a *tally) longest() (longest, p99, p90 time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waits) == 0 {
		return 0, 0, 0
	}
	slices.Sort(a.waits)
	n := len(a.waits)
	return a.waits[n-1], a.waits[n*99/100], a.waits[n*9/10]
}

// check demands that nobody waited longer than the deadline, and prints.
func (a *tally) check(t testing.TB, what string, deadline time.Duration) {
	t.Helper()
	longest, p99, p90 := a.longest()
	t.Logf("%s: %d asked, %d passed, %d of them without the store, %d decided without it, p99 %v, longest %v", what, a.asked, a.passed,
		a.local, a.degraded, p99.Round(10*time.Microsecond), longest.Round(10*time.Microsecond))
	if longest > deadline+slack || p90 > deadline+usual {
		t.Errorf("%s: one in ten requests took %v and one %v, the deadline is %v", what, p90, longest, deadline)
	}
}

// load is requests that come all the time.
type load struct {
	*tally
	stop chan struct{}
	done sync.WaitGroup
}

// startLoad sends requests about a key from some clients at each node, each with a
// pause after an answer, until end is called.
func startLoad(p *stint.Policy, key string, clients int, pause time.Duration, nodes ...*node) *load {
	l := &load{tally: new(tally), stop: make(chan struct{})}
	for _, n := range nodes {
		for range clients {
			l.done.Go(func() {
				for {
					n.ask(l.tally, p, key)
					select {
					case <-l.stop:
						return
					case <-time.After(pause):
					}
				}
			})
		}
	}
	return l
}

// until lets some time pass, and then more until n requests were sent.
func (l *load) until(n int, atLeast time.Duration) {
	time.Sleep(atLeast)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		asked := l.asked
		l.mu.Unlock()
		if asked >= n {
			return
		}
	}
}

func (l *load) end() *tally {
	close(l.stop)
	l.done.Wait()
	return l.tally
}

// recovers asks until the shared store decides again, and returns how long that
// took. It costs the key nothing that matters.
func (n *node) recovers(within time.Duration) time.Duration {
	n.t.Helper()
	p := policy(n.t, "recovers", "1000000 per 24h", algo.FixedWindow)
	start := time.Now()
	for i := 0; ; i++ {
		if d, err := n.limiter.Allow(context.Background(), p, strconv.Itoa(i%2)); err == nil && !d.Degraded {
			return time.Since(start)
		}
		if time.Since(start) > within {
			n.t.Fatalf("still decides without the store after %v: %+v", within, n.failover.Stats())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// exact demands that afterwards a new bucket is shared exactly by all nodes, none
// of which decides without the store. On a slow machine single calls may run into the
// deadline, so it may try some times.
func exact(t testing.TB, nodes ...*node) {
	t.Helper()
	const want = 20
	var a *tally
	for round := range 20 {
		p := policy(t, "afterwards", strconv.Itoa(want)+" per 24h", algo.TokenBucket)
		a = new(tally)
		for i := range 2*want + 2 {
			nodes[i%len(nodes)].ask(a, p, strconv.Itoa(round))
		}
		if a.degraded == 0 {
			break
		}
		for _, n := range nodes {
			n.recovers(10 * time.Second)
		}
	}
	if a.passed != want || a.degraded != 0 {
		t.Errorf("afterwards %d of %d passed and %d were decided without the store, want %d and none", a.passed, a.asked, a.degraded, want)
	}
}

// most says that at most so many may pass, and prints the count.
func (a *tally) most(t testing.TB, bound int, why string) {
	t.Helper()
	t.Logf("passed: %d, bound: %d (%s)", a.passed, bound, why)
	if a.passed > bound {
		t.Errorf("%d passed, want at most %d: %s", a.passed, bound, why)
	}
}

// openAt returns a store at an address.
func openAt(t testing.TB, addr string, o redisstore.Options) *redisstore.Store {
	t.Helper()
	o.Addrs = []string{addr}
	store, err := redisstore.New(patient(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}
