package algo_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

// machine is one bucket of an algorithm, cell or list.
type machine struct {
	a    stint.Algorithm
	l    stint.Limit
	p    stint.Params
	cell stint.Cell
	list []int64
}

// newMachine compiles a limit that must be good.
func newMachine(t testing.TB, a stint.Algorithm, limit string) *machine {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Compile(l)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{a: a, l: l, p: p}
}

// take asks the bucket.
func (m *machine) take(now stint.Micros, ask stint.Ask) (v stint.Verdict) {
	switch a := m.a.(type) {
	case stint.CellAlgorithm:
		m.cell, v = a.Take(m.cell, &m.p, now, ask)
	case stint.ListAlgorithm:
		m.list, v = a.TakeList(m.list, &m.p, now, ask)
	}
	return v
}

// cost asks for some units.
func (m *machine) cost(now stint.Micros, n int64) stint.Verdict {
	return m.take(now, stint.Ask{Cost: n})
}

// copy shares nothing with m.
func (m *machine) copy() *machine {
	c := *m
	c.list = slices.Clone(m.list)
	return &c
}

// would is what a charge would get; m stays as it is.
func (m *machine) would(now stint.Micros, n int64) stint.Verdict { return m.copy().cost(now, n) }

func (m *machine) expires() stint.Micros {
	if a, ok := m.a.(stint.ListAlgorithm); ok {
		return a.ExpiresList(m.list, &m.p)
	}
	return m.a.(stint.CellAlgorithm).Expires(m.cell, &m.p)
}

func (m *machine) forget() { m.cell, m.list = stint.Cell{}, nil }

func (m *machine) capacity() int64 { return m.a.Capacity(&m.p) }

// window is the limit's in microseconds.
func (m *machine) window() int64 { return m.l.Window.Microseconds() }

// interval is about the time that one unit is worth.
func (m *machine) interval() int64 { return max(1, m.window()/m.l.Count) }

// every lists all algorithms and some queues.
var every = append(slices.Clone(algo.All),
	algo.LeakyQueue{MaxWaiting: 3},
	algo.LeakyQueue{MaxWait: 1500 * time.Millisecond},
	algo.LeakyQueue{MaxWait: time.Hour, MaxWaiting: 50},
)

// each runs a property for each algorithm.
func each(t *testing.T, check func(t *rapid.T, m *machine), algorithms ...stint.Algorithm) {
	for i, a := range algorithms {
		t.Run(a.Name()+string(rune('0'+i)), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { check(t, drawMachine(t, a)) })
		})
	}
}

// years bounds what tests do with time: sixty steps of two years stay in the
// range of instants.
const years = 2 * 365 * 24 * 3_600_000_000

// drawMachine draws a limit, from one a year to a thousand million a second.
func drawMachine(t *rapid.T, a stint.Algorithm) *machine {
	counts := rapid.OneOf(
		rapid.Int64Range(1, 12),
		rapid.SampledFrom([]int64{97, 100, 1000, 7919, 999_983, 1_000_000_000}),
		rapid.Int64Range(1, 1_000_000_000),
	)
	windows := rapid.OneOf(
		rapid.SampledFrom([]int64{1, 7, 1000, 99_991, 1_000_000, 11_000_000, 60_000_000, 3_600_000_000, 86_400_000_000, years / 2}),
		rapid.Int64Range(1, 1_000_000_000),
	)
	bursts := rapid.OneOf(
		rapid.SampledFrom([]int64{0, 0, 1, 2, 3}),
		rapid.Int64Range(1, 50),
		rapid.Int64Range(1, 10_000_000),
	)
	l := stint.Limit{Count: counts.Draw(t, "count"), Window: time.Duration(windows.Draw(t, "window")) * time.Microsecond}
	switch a {
	case algo.FixedWindow, algo.SlidingWindowCounter:
	case algo.SlidingWindowLog:
		l.Count = 1 + l.Count%50
	default:
		l.Burst = bursts.Draw(t, "burst")
	}
	p, err := a.Compile(l)
	if err != nil {
		l = stint.Limit{Count: 1 + l.Count%1000, Window: time.Second}
		if p, err = a.Compile(l); err != nil {
			t.Fatal(err)
		}
	}
	return &machine{a: a, l: l, p: p}
}

// drawStep draws how far the clock goes on, near the instants that matter.
func drawStep(t *rapid.T, m *machine, now stint.Micros) stint.Micros {
	v := m.would(now, 0)
	near := []int64{
		0, 1, m.interval(), m.window(), m.window() / 2, 3 * m.window(),
		v.NextAfter.Microseconds(), v.ResetAfter.Microseconds(), v.ResetAfter.Microseconds() / 2,
	}
	d := rapid.SampledFrom(near).Draw(t, "on") + rapid.SampledFrom([]int64{-1, 0, 0, 1}).Draw(t, "off by")
	return stint.Micros(min(max(d, 0), years))
}

// drawBack draws how far the clock steps back.
func drawBack(t *rapid.T, m *machine) stint.Micros {
	d := rapid.SampledFrom([]int64{1, m.interval(), m.window() / 3, m.window(), 2*m.window() + 1, 10 * m.window()}).Draw(t, "back")
	return stint.Micros(min(d, years))
}

// drawAsk draws a charge. Plain ones neither force nor give back.
func drawAsk(t *rapid.T, m *machine, plain bool) stint.Ask {
	costs := rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, m.capacity()+1))
	ask := stint.Ask{Cost: costs.Draw(t, "cost")}
	if plain {
		return ask
	}
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0, 1:
		ask.Cost = 0
	case 2:
		ask.Cost = -ask.Cost
	case 3:
		ask.Forced = true
	case 4:
		ask.Cost = rapid.SampledFrom([]int64{-1 << 63, 1<<63 - 1, stint.MaxUnits, -stint.MaxUnits, stint.MaxUnits + 1}).Draw(t, "huge")
		ask.Forced = rapid.Bool().Draw(t, "forced")
	}
	return ask
}

// start is when the tests begin.
const start = storetest.Start
