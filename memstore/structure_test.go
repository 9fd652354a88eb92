package memstore

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

const start = stint.Micros(1_772_409_600_000_000)

func algorithms() []stint.Algorithm {
	return append(slices.Clone(algo.All), algo.LeakyQueue{MaxWaiting: 3})
}

func named(t testing.TB, name string, l stint.Limit, a stint.Algorithm) *stint.Policy {
	t.Helper()
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// disorder is random use of a store: all algorithms, limits and algorithms that
// change, time that steps, lists of charges, sweeps.
type disorder struct {
	*rand.Rand
	store    *Store
	now      stint.Micros
	policies []*stint.Policy
	keys     int
}

func newDisorder(t testing.TB, s *Store, seed uint64, keys int) *disorder {
	d := &disorder{Rand: rand.New(rand.NewPCG(seed, 0)), store: s, now: start, keys: keys}
	for i, a := range algorithms() {
		for _, l := range []stint.Limit{{Count: 3, Window: time.Second}, {Count: 40, Window: time.Minute}} {
			d.policies = append(d.policies, named(t, fmt.Sprint("p", i), l, a))
		}
	}
	a := algorithms()
	for range 3 {
		d.policies = append(d.policies, named(t, "p0", stint.Limit{Count: 9, Window: time.Second}, a[d.IntN(len(a))]))
	}
	return d
}

// step does one thing.
func (d *disorder) step(t testing.TB) {
	switch n := d.IntN(1000); {
	case n < 300:
		d.now += stint.Micros(d.Int64N(50_000))
	case n < 320:
		d.now -= stint.Micros(d.Int64N(2_000_000))
	case n < 322:
		d.now += stint.Micros(d.Int64N(90_000_000))
	case n < 325:
		d.store.Sweep(d.now)
	}
	if d.IntN(3) == 0 {
		if _, _, err := d.store.TakeOne(context.Background(), d.now, d.policy(), d.key(), d.ask()); err != nil {
			t.Error(err)
		}
		return
	}
	charges := make([]stint.Charge, 1+d.IntN(4))
	for i := range charges {
		charges[i] = stint.Charge{Policy: d.policy(), Key: []byte(d.key()), Ask: d.ask(), Shadow: d.IntN(5) == 0}
	}
	if _, err := d.store.Take(context.Background(), d.now, charges, make([]stint.Verdict, len(charges))); err != nil {
		t.Error(err)
	}
}

func (d *disorder) policy() *stint.Policy {
	n := len(d.policies)
	if d.IntN(200) > 0 {
		n -= 3 // those of another algorithm are rare
	}
	return d.policies[d.IntN(n)]
}

func (d *disorder) key() string { return fmt.Sprint(d.IntN(d.keys)) }

func (d *disorder) ask() stint.Ask {
	costs := []int64{1, 1, 1, 2, 3, 7, 0, -1, -3, -1 << 63, 1<<63 - 1}
	return stint.Ask{Cost: costs[d.IntN(len(costs))], Forced: d.IntN(20) == 0}
}

func TestStructureHolds(t *testing.T) {
	for _, o := range []Options{
		{},
		{MaxBuckets: 1},
		{MaxBuckets: 2},
		{MaxBuckets: 8},
		{MaxBuckets: 500},
		{MaxBuckets: 8, WhenFull: RefuseNew},
		{MaxBuckets: 500, WhenFull: RefuseNew},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			seed := rand.Uint64()
			d := newDisorder(t, s, seed, 1000)
			for i := range 4000 {
				d.step(t)
				if i%200 == 0 || i < 50 {
					checkStructure(t, s)
				}
				if t.Failed() {
					t.Fatalf("seed %d, step %d", seed, i)
				}
			}
			if o.MaxBuckets > 0 && s.Stats().Buckets > o.MaxBuckets+stint.MaxCharges {
				t.Errorf("%d buckets, at most %d and those of one request", s.Stats().Buckets, o.MaxBuckets)
			}
		})
	}
}

func TestStructureHoldsUnderLoad(t *testing.T) {
	for _, o := range []Options{{}, {MaxBuckets: 300}, {MaxBuckets: 300, WhenFull: RefuseNew}} {
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range 6 {
			d := newDisorder(t, s, uint64(w), 3000)
			wg.Go(func() {
				for range 2000 {
					d.step(t)
				}
			})
		}
		wg.Wait()
		checkStructure(t, s)
	}
}

// TestSegmentsOfLongListsSplit puts lists of many words into one segment until it
// must split for their length, and then makes them short.
func TestSegmentsOfLongListsSplit(t *testing.T) {
	s, p := newListStore(t)
	v := s.variant(p)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		list := make([]int64, 2+2*r.IntN(8_000))
		for j := range list {
			list[j] = int64(start) + int64(j)
		}
		keep(v, uint64(i+1)<<52|uint64(r.Uint32()), list)
		checkStructure(t, s)
	}
	if d := v.table.dir.Load(); d.depth <= spreadDepth {
		t.Errorf("the directory still has depth %d", d.depth)
	}
	for g := range v.table.locked() {
		for i := range g.all() {
			g.set(i, &bucket{variant: v, count: count{list: []int64{int64(start), 1}}})
		}
		g.account()
	}
	checkStructure(t, s)
	s.Sweep(start)
	checkStructure(t, s)
	if n := s.Stats().Buckets; n != 60 {
		t.Errorf("%d buckets, want 60", n)
	}
}

// keep puts a list into the table of its variant.
func keep(v *variant, hash uint64, list []int64) {
	g := v.table.segment(hash)
	s := v.table.store
	s.put(g, g.find(hash), put{hash: hash, bucket: &bucket{variant: v, count: count{list: list}}, now: start})
	if g.crowded() {
		v.table.split(g)
	}
}

// TestSegmentsOfManyListsSplit makes more buckets than one segment takes, and takes
// most of them away again, in any order.
func TestSegmentsOfManyListsSplit(t *testing.T) {
	s, p := newListStore(t)
	v := s.variant(p)
	r := rand.New(rand.NewPCG(3, 4))
	for range 3 * splitAt {
		keep(v, r.Uint64()>>spreadDepth|1, []int64{int64(start), 1, int64(start) + 1, 1}[:2+2*r.IntN(2)])
	}
	checkStructure(t, s)
	for g := range v.table.locked() {
		for range g.used / 5 * 4 {
			i := r.IntN(g.count) * g.width
			for g.slots[i] == 0 {
				i = g.next(i)
			}
			g.remove(i)
			s.live.Add(-1)
		}
	}
	checkStructure(t, s)
	s.Sweep(start)
	checkStructure(t, s)
	s.Sweep(start + 5_000_000)
	checkStructure(t, s)
	if n := s.Stats().Buckets; n != 0 {
		t.Errorf("%d buckets, want none", n)
	}
}

func newListStore(t *testing.T) (*Store, *stint.Policy) {
	t.Helper()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, named(t, "p", stint.Limit{Count: algo.MaxLog, Window: time.Second}, algo.SlidingWindowLog)
}

// TestNothingIsLockedWhileASegmentSplits: who splits a segment waits for the lock
// of the table, whose holder may wait for any segment.
func TestNothingIsLockedWhileASegmentSplits(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := named(t, "p", stint.Limit{Count: 5, Window: time.Hour}, algo.TokenBucket)
	v := s.variant(p)
	for i := range 10 * splitEarly { // several segments
		ask(t, s, start, []stint.Charge{{Policy: p, Key: fmt.Append(nil, "k", i), Ask: stint.Ask{Cost: 1}}}, make([]stint.Verdict, 1))
	}
	first, second := []byte("first"), []byte("another")
	g, other := v.table.segment(s.hash(first)), v.table.segment(s.hash(second))
	for i := 0; g == other; i++ {
		second = fmt.Append(nil, i)
		other = v.table.segment(s.hash(second))
	}
	if g.id > other.id { // the one to split is locked, and let go of, first
		first, second, g, other = second, first, other, g
	}
	for i := range splitAt {
		g.add(s.hash(first)+uint64(i)+1, &bucket{variant: v, count: count{cell: stint.Cell{At: start, Used: 1}}})
	}
	v.table.mu.Lock() // as another split or a change of the algorithm does
	asked, free := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		charges := []stint.Charge{{Policy: p, Key: first, Ask: stint.Ask{Cost: 1}}, {Policy: p, Key: second, Ask: stint.Ask{Cost: 1}}}
		ask(t, s, start, charges, make([]stint.Verdict, 2))
	}()
	go func() {
		defer close(free)
		for _, g := range []*segment{g, other} {
			for used := false; !used; runtime.Gosched() {
				g.mu.Lock()
				used = g.find(s.hash(first)) >= 0 || g.find(s.hash(second)) >= 0
				g.mu.Unlock()
			}
		}
	}()
	select {
	case <-free:
	case <-time.After(10 * time.Second):
		t.Error("a segment stayed locked while another one was to be split")
	}
	v.table.mu.Unlock()
	<-asked
	if !g.gone {
		t.Error("the crowded segment was not split")
	}
}

// TestATableStartsSmallAndSpreads: a table begins with one lock, and has 64 of them
// before there are more than some thousand buckets.
func TestATableStartsSmallAndSpreads(t *testing.T) {
	s := open(t, Options{})
	p := named(t, "p", stint.Limit{Count: 5, Window: time.Hour}, algo.TokenBucket)
	segments := func() (n int) {
		for range s.tables["p"].locked() {
			n++
		}
		return n
	}
	for i := range 4096 {
		askOne(t, s, p, fmt.Sprint(i), start, 1)
		if n := segments(); i == 0 && n != 1 || n > i/8+1 {
			t.Fatalf("%d buckets in %d segments", i+1, n)
		}
	}
	if n := segments(); n < 1<<spreadDepth {
		t.Errorf("4096 buckets in %d segments, want at least 64", n)
	}
	checkStructure(t, s)
}

// TestABusyLockSplits: a few buckets that many ask at once are put under several locks,
// but a bucket alone is not.
func TestABusyLockSplits(t *testing.T) {
	for _, keys := range []int{1, 2, 20} {
		for _, single := range []bool{true, false} {
			s := open(t, Options{})
			p := named(t, "p", stint.Limit{Count: 1000, Window: time.Hour}, algo.TokenBucket)
			for i := range 200 {
				for g := range s.locked("p") {
					g.waits = busy
				}
				if key := fmt.Sprint(i % keys); single {
					askOne(t, s, p, key, start, 1)
				} else {
					charges := []stint.Charge{{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: 1}}, {Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: 1}}}
					ask(t, s, start, charges, make([]stint.Verdict, 2))
				}
			}
			n := 0
			for g := range s.locked("p") {
				if n++; g.used > 1 && g.depth < spreadDepth {
					t.Errorf("%d buckets are still under one busy lock", g.used)
				}
			}
			if keys == 1 && n != 1 {
				t.Errorf("one bucket has %d segments", n)
			}
			checkStructure(t, s)
		}
	}
}

// locked yields the segments of a name.
func (s *Store) locked(name string) iter.Seq[*segment] {
	if t := s.tables[name]; t != nil {
		return t.locked()
	}
	return func(func(*segment) bool) {}
}
