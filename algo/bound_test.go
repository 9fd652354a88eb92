package algo_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// entry is a charge that was admitted: when it came in the bucket's own time,
// when it may leave, and its cost.
type entry struct {
	at, leaves stint.Micros
	cost       int64
}

// TestBoundHolds: over any span no more is admitted than the algorithm says,
// whether time only goes on or readings are out of order by less than a spent
// bucket needs to become worthless.
func TestBoundHolds(t *testing.T) {
	each(t, func(t *rapid.T, m *machine) {
		disorder := tolerated(m)
		if rapid.Bool().Draw(t, "in order") {
			disorder = 0
		}
		clock, last := start, stint.Micros(0)
		var all []entry
		for range 60 {
			clock += drawStep(t, m, clock)
			now := clock - stint.Micros(rapid.Int64Range(0, disorder).Draw(t, "late"))
			ask := drawAsk(t, m, true)
			v := m.take(now, ask)
			if !v.OK {
				continue
			}
			last = max(last, now)
			leaves := max(last, now+stint.Micros(v.Delay.Microseconds()))
			all = append(all, entry{last, leaves, ask.Cost})
		}
		if err := exceeds(m, all); err != "" {
			t.Fatalf("%s, limit %v, disorder %d: %s\n%v", m.a.Name(), m.l, disorder, err, all)
		}
	}, every...)
}

// tolerated is the disorder that must create nothing.
func tolerated(m *machine) int64 {
	switch m.a {
	case algo.FixedWindow, algo.SlidingWindowCounter, algo.SlidingWindowLog:
		return m.window()
	}
	c := *m
	c.forget()
	return c.take(start, stint.Ask{Cost: c.capacity()}).ResetAfter.Microseconds()
}

// exceeds says how entries break the bound, if they do.
func exceeds(m *machine, all []entry) string {
	for i := range all {
		sum := int64(0)
		for j := i; j < len(all); j++ {
			sum += all[j].cost
			if over(m, all[i:j+1], sum) {
				return "entries " + big.NewInt(int64(i)).String() + " to " + big.NewInt(int64(j)).String() + " are too many"
			}
		}
		if m.a == algo.SlidingWindowCounter && !fits(m, all[:i+1]) {
			return "entry " + big.NewInt(int64(i)).String() + " does not fit"
		}
	}
	return ""
}

// over says whether entries, whose costs add up to sum, break the bound of their
// span.
func over(m *machine, span []entry, sum int64) bool {
	first, last := span[0], span[len(span)-1]
	switch m.a.(type) {
	case algo.LeakyQueue:
		if last.leaves < first.leaves {
			return true // first in, first out
		}
		for _, e := range span {
			if e.cost > max(1, m.l.Burst) {
				return false // one above the burst leaves alone, and then all wait for it
			}
		}
		// A delay is rounded up to the microsecond.
		return aboveRate(m, max(1, m.l.Burst), sum, int64(last.leaves-first.leaves)+1)
	case stint.ListAlgorithm:
		return int64(last.at-first.at) < m.window() && sum > m.l.Count
	}
	switch m.a {
	case algo.FixedWindow, algo.SlidingWindowCounter:
		return int64(first.at)/m.window() == int64(last.at)/m.window() && sum > m.l.Count
	}
	return aboveRate(m, m.l.Capacity(), sum, int64(last.at-first.at))
}

// aboveRate says whether sum is above burst + rate × span.
func aboveRate(m *machine, burst, sum, span int64) bool {
	most := new(big.Int).Mul(big.NewInt(burst), big.NewInt(m.window()))
	most.Add(most, new(big.Int).Mul(big.NewInt(m.l.Count), big.NewInt(span)))
	return new(big.Int).Mul(big.NewInt(sum), big.NewInt(m.window())).Cmp(most) > 0
}

// fits says whether the last entry fits by the formula of the sliding counter,
// which an approximate counter may only undercut.
func fits(m *machine, all []entry) bool {
	at := int64(all[len(all)-1].at)
	start := at - at%m.window()
	var current, previous int64
	for _, e := range all {
		switch t := int64(e.at); {
		case t >= start:
			current += e.cost
		case t >= start-m.window():
			previous += e.cost
		}
	}
	used := new(big.Int).Mul(big.NewInt(previous), big.NewInt(m.window()-(at-start)))
	used.Add(used, new(big.Int).Mul(big.NewInt(current), big.NewInt(m.window())))
	return used.Cmp(new(big.Int).Mul(big.NewInt(m.l.Count), big.NewInt(m.window()))) <= 0
}

// TestC043DisorderWithinTheTimeToFill: two clocks two seconds apart, a bucket that
// needs ten to fill.
func TestC043DisorderWithinTheTimeToFill(t *testing.T) {
	for _, a := range every {
		if a == algo.SlidingWindowLog || a == algo.FixedWindow || a == algo.SlidingWindowCounter || a.Name() == "leaky_queue" {
			continue
		}
		m := newMachine(t, a, "10 per 10s")
		passed := 0
		for range 1000 {
			for _, now := range []stint.Micros{start, start - 2_000_000} {
				if m.cost(now, 1).OK {
					passed++
				}
			}
		}
		if passed != 10 {
			t.Errorf("%s: %d passed at one instant, want 10", a.Name(), passed)
		}
	}
}

// TestC025BurstAndRate: 17 per 30 s is no cap for any 30 s, except as a log.
func TestC025BurstAndRate(t *testing.T) {
	for _, test := range []struct {
		a      stint.Algorithm
		passed int
		first  stint.Micros // of the refused
	}{
		{algo.TokenBucket, 33, 11_250_000},
		{algo.LeakyBucket, 33, 11_250_000},
		{algo.SlidingWindowLog, 17, 8_250_000 + 250_000},
	} {
		m := newMachine(t, test.a, "17 per 30s")
		passed, first := 0, stint.Micros(-1)
		for i := range stint.Micros(30) {
			for _, at := range []stint.Micros{i * 1_000_000, i*1_000_000 + 250_000} {
				switch ok := m.cost(start+at, 1).OK; {
				case ok:
					passed++
				case first < 0:
					first = at
				}
			}
		}
		if passed != test.passed {
			t.Errorf("%s: %d passed, want %d", test.a.Name(), passed, test.passed)
		}
		if test.a != algo.SlidingWindowLog && first != test.first {
			t.Errorf("%s: first refused at %d, want %d", test.a.Name(), first, test.first)
		}
	}
}
