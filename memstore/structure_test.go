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
	"unsafe"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

const start = stint.Micros(1_772_409_600_000_000)

// checkStructure demands that a store that nobody uses is sound.
func checkStructure(t testing.TB, s *Store) {
	t.Helper()
	live := int64(0)
	for _, table := range *s.list.Load() {
		live += checkTable(t, table)
	}
	if got := s.live.Load(); got != live {
		t.Errorf("the store counts %d buckets, its tables hold %d", got, live)
	}
	if got, want := s.memory.Load(), weigh(s); got != want {
		t.Errorf("the store counts %d bytes, its tables hold %d", got, want)
	}
}

// weigh adds up what the tables of a store hold.
func weigh(s *Store) (n int64) {
	for name, t := range s.tables {
		d := t.dir.Load()
		n += tableBytes + int64(len(name)) + d.size()
		for _, v := range *t.variants.Load() {
			if v != nil {
				n += int64(unsafe.Sizeof(*v) + unsafe.Sizeof(v))
			}
		}
		for g := range t.locked() {
			n += int64(unsafe.Sizeof(*g)) + int64(cap(g.slots))*8
			if g.log != nil {
				n += int64(unsafe.Sizeof(*g.log)) + int64(cap(g.log.words))*8
			}
			if g.notes != nil {
				n += int64(unsafe.Sizeof(*g.notes)) + int64(cap(g.notes.all))*int64(unsafe.Sizeof(note{}))
			}
		}
	}
	return n
}

func checkTable(t testing.TB, table *table) (live int64) {
	t.Helper()
	d := table.dir.Load()
	if len(d.segments) != 1<<d.depth {
		t.Fatalf("a directory of depth %d with %d places", d.depth, len(d.segments))
	}
	for i := 0; i < len(d.segments); {
		g := d.segments[i].Load()
		if g.gone || g.depth > d.depth {
			t.Fatalf("place %d of depth %d: a segment of depth %d, gone %v", i, d.depth, g.depth, g.gone)
		}
		places := 1 << (d.depth - g.depth)
		if i%places != 0 {
			t.Fatalf("a segment of %d places begins at %d", places, i)
		}
		for j := range places {
			if d.segments[i+j].Load() != g {
				t.Fatalf("another segment stands in the places from %d on", i)
			}
		}
		checkSegment(t, g, uint64(i/places))
		live += int64(g.used)
		i += places
	}
	return live
}

func checkSegment(t testing.TB, g *segment, prefix uint64) {
	t.Helper()
	n := 0
	for i := range g.all() {
		n++
		h := g.hash(i)
		if h>>(64-g.depth) != prefix {
			t.Errorf("hash %x in the segment of prefix %x, depth %d", h, prefix, g.depth)
		}
		if at := g.find(h); at != i {
			t.Errorf("the bucket at %d of %d is found at %d", i, len(g.slots), at)
		}
		if tag := g.tag(i); tag < 0 || tag > noted || tag < noted && g.table.tagged(tag) == nil {
			t.Errorf("a bucket of variant %d", tag)
			continue
		}
		if b := g.view(i); b.variant.table != g.table || b.variant.width > g.width {
			t.Errorf("a bucket of %d words, or of another table, in a segment of %d", b.variant.width, g.width)
		}
	}
	if n != g.used || g.used > 0 && g.used > g.room() {
		t.Errorf("%d slots are used, %d are counted, room for %d", n, g.used, g.room())
	}
	if g.log != nil {
		checkArena(t, g)
	}
	checkNotes(t, g)
}

// checkArena demands that the blocks of an arena, used and free, fill it exactly.
func checkArena(t testing.TB, g *segment) {
	t.Helper()
	var blocks [][2]int // from, to
	for i := range g.all() {
		if at, v, _ := g.first(i); v.lists != nil {
			blocks = append(blocks, [2]int{int(at), int(at) + 1<<class(int(g.slots[i+2]))})
		}
	}
	idle := 0
	for c, at := range g.log.free {
		for at != 0 && len(blocks) <= len(g.log.words) {
			blocks = append(blocks, [2]int{int(at - 1), int(at-1) + 1<<c})
			idle += 1 << c
			at = g.log.words[at-1]
		}
	}
	slices.SortFunc(blocks, func(a, b [2]int) int { return a[0] - b[0] })
	end := 0
	for _, b := range blocks {
		if b[0] != end {
			t.Fatalf("a block begins at %d, the one before ends at %d", b[0], end)
		}
		end = b[1]
	}
	if end != len(g.log.words) || idle != g.log.idle {
		t.Errorf("the blocks end at %d of %d words; %d are idle, %d are counted", end, len(g.log.words), idle, g.log.idle)
	}
}

// checkNotes demands that each note belongs to one bucket or is free.
func checkNotes(t testing.TB, g *segment) {
	t.Helper()
	owners := make(map[int64]int)
	for i := range g.all() {
		if g.tag(i) == noted {
			owners[g.slots[i+1]&wordMask]++
		}
	}
	if g.notes == nil {
		if len(owners) > 0 {
			t.Error("buckets with notes, and no notes")
		}
		return
	}
	for at := g.notes.free; at != 0 && len(owners) <= len(g.notes.all); at = g.notes.all[at-1].first {
		owners[at-1]++
	}
	for at := range g.notes.all {
		if owners[int64(at)] != 1 {
			t.Errorf("note %d has %d owners", at, owners[int64(at)])
		}
	}
}

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
