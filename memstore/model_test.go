package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/storetest"
)

// TestModel asks small stores, and a plain map that has room for everything and forgets
// what the store has forgotten. It demands that
//
//   - all verdicts are the same, but for what a full store refuses;
//   - a bucket in use is only lost in a store that evicts and is full, never one of the
//     request, and one over its limit only where nothing else could go;
//   - a store that refuses refuses only what it has no room for, and keeps its bound;
//   - the counters are right, the bytes are those that the tables hold, and no more than
//     the bound allows.
func TestModel(t *testing.T) {
	options := []Options{
		{},
		{MaxBuckets: 3},
		{MaxBuckets: 60},
		{MaxBuckets: 500},
		{MaxBuckets: 3, WhenFull: RefuseNew},
		{MaxBuckets: 60, WhenFull: RefuseNew},
		{MaxBuckets: 500, WhenFull: RefuseNew},
		{MaxMemory: 20_000},
		{MaxMemory: 50_000},
		{MaxMemory: 20_000, WhenFull: RefuseNew},
		{MaxMemory: 50_000, WhenFull: RefuseNew},
	}
	n := storetest.Size(33_000) / len(options)
	for i, o := range options {
		t.Run(fmt.Sprintf("%d buckets %d bytes %d", o.MaxBuckets, o.MaxMemory, o.WhenFull), func(t *testing.T) {
			m := newModel(t, o, storetest.Seed()+uint64(i)<<32)
			for step := range n {
				m.turn(step)
				if err := m.request(); err != nil {
					t.Fatalf("seed %d, step %d at %+d µs: %v", storetest.Seed(), step, m.now-start, err)
				}
				if step%100 == 0 {
					if checkStructure(t, m.Store); t.Failed() {
						t.Fatalf("seed %d, step %d", storetest.Seed(), step)
					}
				}
			}
			t.Logf("%+v", m.Stats())
		})
	}
}

// model is a store and what it should hold.
type model struct {
	*Store
	*rand.Rand
	t        *testing.T
	options  Options
	guide    *storetest.Reference
	now      stint.Micros
	floor    stint.Micros // time does not go back to before: buckets may be forgotten
	policies []*stint.Policy
	earlier  map[string][]*stint.Policy // by name
	blocker  *stint.Policy
	keys     int
	known    map[id]bool // buckets that the store held after the last request
	before   Stats
}

// id is the name of a bucket.
type id struct{ policy, key string }

func newModel(t *testing.T, o Options, seed uint64) *model {
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{
		Store: s, Rand: rand.New(rand.NewPCG(seed, 7)), t: t, options: o, guide: storetest.NewReference(), now: start,
		known: make(map[id]bool), earlier: make(map[string][]*stint.Policy), keys: 60, blocker: named(t, "blocker", stint.Limit{Count: 1, Window: time.Hour}, algorithms()[0]),
	}
	if o.MaxBuckets > 100 || o.MaxMemory > 0 {
		m.keys = 500
	}
	for i, a := range algorithms() {
		m.policies = append(m.policies, m.newPolicy("p"+strconv.Itoa(i%4), a), m.newPolicy("q"+strconv.Itoa(i%2), a))
	}
	return m
}

func (m *model) newPolicy(name string, a stint.Algorithm) *stint.Policy {
	counts := []int64{0, 1, 2, 5, 10, 40, 200}
	windows := []time.Duration{time.Millisecond, time.Second, 10 * time.Second, time.Minute, time.Hour}
	for {
		l := stint.Limit{Count: counts[m.IntN(len(counts))], Window: windows[m.IntN(len(windows))]}
		if m.IntN(3) == 0 {
			l.Window += time.Duration(m.IntN(100_000)) * time.Microsecond
		}
		if l.Count > 0 || m.IntN(4) == 0 {
			return named(m.t, name, l, a)
		}
	}
}

// turn lets time pass, sweeps, and changes limits and algorithms.
func (m *model) turn(step int) {
	fast := stint.Micros(60 / m.keys) // A larger store fills more slowly.
	switch n := m.IntN(1000); {
	case n < 400:
		m.now += stint.Micros(m.Int64N(2_000)) + fast*stint.Micros(m.Int64N(20_000))
	case n < 500:
		m.now = max(m.floor, m.now-stint.Micros(m.Int64N(200_000)))
	case n < 505:
		m.now += (fast + stint.Micros(m.IntN(10)/9)) * stint.Micros(m.Int64N(100_000_000))
	case n < 520:
		m.Sweep(m.now)
		m.forget()
	case n < 560:
		m.change(m.IntN(len(m.policies)))
	}
	if step%5000 == 4999 {
		m.now += 4_000_000_000
		m.Sweep(m.now)
		m.forget()
	}
	m.before = m.Stats()
}

// change gives a name another limit, and now and then another algorithm: one of those
// drawn before, or where memory is not short, since variants take some, a new one.
func (m *model) change(i int) {
	name := m.policies[i].Name
	if earlier := m.earlier[name]; len(earlier) > 9 && (m.options.MaxMemory > 0 || m.IntN(2) == 0) {
		m.policies[i] = earlier[m.IntN(len(earlier))]
		return
	}
	a := m.policies[i].Algorithm
	if m.IntN(4) == 0 {
		a = algorithms()[m.IntN(len(algorithms()))]
	}
	m.policies[i] = m.newPolicy(name, a)
	m.earlier[name] = append(m.earlier[name], m.policies[i])
}

// request asks both and compares.
func (m *model) request() error {
	charges := make([]stint.Charge, 1)
	switch m.IntN(40) {
	case 0:
		charges = make([]stint.Charge, stint.MaxCharges-1) // and one for the blocker
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
		charges = make([]stint.Charge, 1+m.IntN(5))
	}
	costs := []int64{1, 1, 1, 1, 2, 3, 9, 0, 0, -1, -4, -1 << 63, 1<<63 - 1}
	for i := range charges {
		charges[i] = stint.Charge{
			Policy: m.policies[m.IntN(len(m.policies))], Key: strconv.AppendInt(nil, m.Int64N(int64(m.keys)), 10),
			Ask:    stint.Ask{Cost: costs[m.IntN(len(costs))], Forced: m.IntN(20) == 0},
			Shadow: m.IntN(8) == 0,
		}
		if m.options.MaxMemory > 0 && m.options.WhenFull == RefuseNew {
			charges[i].Forced = false // What is forced beyond the bound is not kept.
		}
		if m.IntN(10) == 0 {
			charges[i].MaxDelay = time.Duration(m.Int64N(3_000_000)) * time.Microsecond
		}
	}
	worthless, room := m.neighbours(charges)
	got := make([]stint.Verdict, len(charges))
	ask(m.t, m.Store, m.now, charges, got)
	lost, err := m.lost(charges)
	if err != nil {
		return err
	}
	if err := m.compare(charges, got); err != nil {
		return err
	}
	m.learn(charges)
	for _, b := range lost {
		m.guide.Forget(b.policy, b.key)
	}
	if err := m.alike(); err != nil {
		var text strings.Builder
		for i, c := range charges {
			fmt.Fprintf(&text, "\n%s %s %v %q cost %d forced %v shadow %v delay %v: %+v", c.Policy.Name, c.Policy.Algorithm.Name(), c.Policy.Limit, c.Key, c.Cost, c.Forced, c.Shadow, c.MaxDelay, got[i])
		}
		return fmt.Errorf("%w after%s", err, text.String())
	}
	if len(charges) == 1 && !charges[0].Shadow && m.options.WhenFull == RefuseNew && m.options.MaxMemory == 0 {
		if err := m.refusal(&charges[0], got[0], worthless, room); err != nil {
			return err
		}
	}
	return m.bounds(len(charges))
}

// neighbours counts, for the first charge, the worthless buckets in its segment and the
// buckets that the store has room for.
func (m *model) neighbours(charges []stint.Charge) (worthless, room int64) {
	room = m.max - m.live.Load()
	c := &charges[0]
	t := m.tables[c.Policy.Name]
	if t == nil {
		return 0, room
	}
	g := t.segment(m.hash(c.Key))
	for i := range g.all() {
		if g.expires(i) <= m.now {
			worthless++
		}
	}
	return worthless, room
}

// holds says whether the store has a bucket.
func (m *model) holds(b id) bool {
	t := m.tables[b.policy]
	if t == nil {
		return false
	}
	h := m.hash([]byte(b.key))
	return t.segment(h).find(h) >= 0
}

// lost returns the buckets in use that went with the last request, and says which of
// them must not.
func (m *model) lost(charges []stint.Charge) (lost []id, err error) {
	spent, inUse := 0, int64(0)
	for b := range m.known {
		if m.holds(b) || m.guide.Expires(b.policy, b.key) <= m.now {
			continue
		}
		if asked(charges, b) {
			continue // its verdict tells
		}
		inUse++
		if m.guide.Spent(b.policy, b.key, m.now) {
			spent++
		}
		lost = append(lost, b)
	}
	st := m.Stats()
	switch {
	case inUse != st.EvictedInUse-m.before.EvictedInUse:
		return lost, fmt.Errorf("%d buckets in use are gone, %d were evicted", inUse, st.EvictedInUse-m.before.EvictedInUse)
	case inUse > 0 && m.options.WhenFull == RefuseNew:
		return lost, fmt.Errorf("%d buckets in use are gone from a store that refuses", inUse)
	case spent > 0 && len(charges) == 1 && m.options.MaxMemory == 0:
		// Nothing else was locked, so the whole of a small store could be searched.
		for b := range m.known {
			if m.holds(b) && !asked(charges, b) && !m.guide.Spent(b.policy, b.key, m.now) && m.live.Load() < look/2 {
				return lost, fmt.Errorf("a spent bucket was evicted, and %v was not", b)
			}
		}
	}
	return lost, nil
}

func asked(charges []stint.Charge, b id) bool {
	for i := range charges {
		if charges[i].Policy.Name == b.policy && string(charges[i].Key) == b.key {
			return true
		}
	}
	return false
}

// compare demands the verdicts of the guide, but where the store had no room.
func (m *model) compare(charges []stint.Charge, got []stint.Verdict) error {
	var request []stint.Charge
	var of []int // the places in charges
	refused := false
	for i := range charges {
		full := m.lackedRoom(&charges[i], got[i])
		if full && charges[i].Shadow {
			continue // It is not charged.
		}
		request, of, refused = append(request, charges[i]), append(of, i), refused || full
	}
	asks := request
	if refused {
		asks = append(asks, stint.Charge{Policy: m.blocker, Key: []byte("b"), Ask: stint.Ask{Cost: 2}})
	}
	want := make([]stint.Verdict, len(asks))
	if _, err := m.guide.Take(context.Background(), m.now, asks, want); err != nil {
		return err
	}
	for j, i := range of {
		if lacked := want[j].OK && m.lackedRoom(&charges[i], got[i]); got[i] != want[j] && !lacked {
			return fmt.Errorf("charge %d of %d: %s %s %v %q cost %d forced %v shadow %v\ngot  %+v\nwant %+v", i, len(charges), charges[i].Policy.Name,
				charges[i].Policy.Algorithm.Name(), charges[i].Policy.Limit, charges[i].Key, charges[i].Cost, charges[i].Forced, charges[i].Shadow, got[i], want[j])
		}
	}
	return nil
}

// lackedRoom says whether a verdict is that of a full store. No limit says that nothing
// is left where nothing is used.
func (m *model) lackedRoom(c *stint.Charge, v stint.Verdict) bool {
	return m.options.WhenFull == RefuseNew && !v.OK && v.Remaining == 0 && v.ResetAfter == 0 && v.NextAfter == 0 &&
		c.Policy.Capacity() > 0 && v.RetryAfter >= time.Millisecond && v.RetryAfter <= time.Second
}

// learn notes which buckets the store holds, and forgets what was charged by force in a
// store that was full beyond its slack.
func (m *model) learn(charges []stint.Charge) {
	for i := range charges {
		b := id{charges[i].Policy.Name, string(charges[i].Key)}
		if m.holds(b) {
			m.known[b] = true
		} else if m.options.WhenFull == RefuseNew && (m.live.Load() > m.max || m.memory.Load() > m.maxMemory*3/4) {
			m.guide.Forget(b.policy, b.key)
		}
	}
	m.forget()
}

// alike demands that the store and the guide remember each bucket for the same time.
func (m *model) alike() error {
	for b := range m.known {
		at := m.guide.Expires(b.policy, b.key)
		if at <= m.now {
			m.floor = max(m.floor, at)
			continue
		}
		h := m.hash([]byte(b.key))
		g := m.tables[b.policy].segment(h)
		if got := g.expires(g.find(h)); got != at {
			return fmt.Errorf("%v ends in %d µs, want %d", b, got-m.now, at-m.now)
		}
	}
	return nil
}

// forget drops from what is known what the store does not hold.
func (m *model) forget() {
	for b := range m.known {
		if !m.holds(b) {
			if at := m.guide.Expires(b.policy, b.key); at <= m.now {
				m.floor = max(m.floor, at)
			}
			delete(m.known, b)
		}
	}
}

// refusal demands that a full store refuses a new key exactly if it is full.
func (m *model) refusal(c *stint.Charge, got stint.Verdict, worthless, room int64) error {
	b := id{c.Policy.Name, string(c.Key)}
	full := m.lackedRoom(c, got)
	if full && (room+worthless > 0 || c.Forced || c.Cost < 0) {
		return fmt.Errorf("%v was refused with room for %d and %d worthless neighbours, forced %v, cost %d", b, room, worthless, c.Forced, c.Cost)
	}
	if !full && room <= 0 && m.live.Load() > m.before.Buckets && !c.Forced {
		return fmt.Errorf("%v passed in a full store", b)
	}
	return nil
}

// bounds demands that the counters are right and the bounds are held.
func (m *model) bounds(charges int) error {
	st := m.Stats()
	if int64(len(m.known)) != st.Buckets {
		return fmt.Errorf("%d buckets are known, %d are counted", len(m.known), st.Buckets)
	}
	most := st.MaxBuckets
	if m.options.WhenFull == RefuseNew {
		most += st.MaxBuckets/forcedPart + 1
	} else {
		most += int64(charges) + stint.MaxCharges
	}
	if st.Buckets > most {
		return fmt.Errorf("%d buckets, at most %d", st.Buckets, most)
	}
	if m.options.MaxMemory > 0 && st.Memory-st.MaxMemory > overshoot {
		return fmt.Errorf("%d bytes, %d more than the bound", st.Memory, st.Memory-st.MaxMemory)
	}
	return nil
}

// overshoot is by how much a request of 31 charges may pass the bound of bytes: it may
// widen, or grow, as many segments, and must not evict from them.
const overshoot = 30_000
