package algo

import (
	"fmt"
	"slices"
	"time"

	"github.com/stint-dev/stint"
)

// MaxLog is the largest limit a sliding window log can have: it keeps a time for
// each request of the limit, for each key.
const MaxLog = 10_000

// manyEntries is the limit from which a log is worth a warning.
const manyEntries = 1_000

// SlidingWindowLog remembers every admitted charge of the last window, so that no
// span of a window's length ever holds more than the limit. Time and memory grow
// with the limit: it is for small limits that guard something.
var SlidingWindowLog stint.ListAlgorithm = slidingLog{}

// slidingLog keeps pairs of words, oldest first: the instant of a charge and the
// cost charged at it. Charges of one instant share a pair. The params are those
// of a fixed window.
type slidingLog struct{}

func (slidingLog) Name() string { return "sliding_window_log" }

func (s slidingLog) Compile(l stint.Limit) (stint.Params, error) {
	if err := checkLimit(l); err != nil {
		return stint.Params{}, err
	}
	if l.Count > MaxLog {
		return stint.Params{}, fmt.Errorf("a log of %d entries for each key costs too much: at most %d; "+
			"use sliding_window_counter", l.Count, MaxLog)
	}
	return stint.Params{limit: l.Count, window: l.Window.Microseconds()}, checkNoBurst(l, s.Name())
}

func (slidingLog) Capacity(p *stint.Params) int64 { return p[limit] }

func (s slidingLog) TakeList(list []int64, p *stint.Params, now stint.Micros, ask stint.Ask) ([]int64, stint.Verdict) {
	if p[limit] == 0 {
		_, v := takeNothing(stint.Cell{}, ask)
		return list, v
	}
	at, lag := int64(now), int64(0)
	if n := len(list); n > 0 && list[n-2] > at {
		if lag = list[n-2] - at; lag <= p[window] {
			at = list[n-2]
		} else {
			lag = 0
			if ask.Cost == 0 {
				_, v := s.TakeList(moveTo(slices.Clone(list), at), p, now, ask)
				return list, v
			}
			moveTo(list, at)
		}
	}
	live := list[dead(list, at-p[window]):]
	used := total(live)
	_, ok := countUp(used, p[limit], ask)
	if ok && ask.Cost != 0 {
		list = change(list[:copy(list, live)], at, used, ask, p)
		live, used = list, total(list)
	}
	v := stint.Verdict{OK: ok, Remaining: max(0, p[limit]-used)}
	if n := len(live); n > 0 {
		v.ResetAfter = micros(lag + live[n-2] + p[window] - at)
		v.NextAfter = micros(lag + freed(live, max(1, used-p[limit]+1)) + p[window] - at)
	}
	if !ok {
		v.RetryAfter = stint.Never
		if cost := max(ask.Cost, 1); cost <= p[limit] {
			v.RetryAfter = micros(lag + freed(live, used+cost-p[limit]) + p[window] - at)
		}
	}
	return list, v
}

// moveTo puts charges later than at, made before the clock was set back, at at.
func moveTo(list []int64, at int64) []int64 {
	for i := 0; i < len(list); i += 2 {
		list[i] = min(list[i], at)
	}
	return list
}

// dead is the length of the part of list that is not later than since.
func dead(list []int64, since int64) int {
	i := 0
	for i < len(list) && list[i] <= since {
		i += 2
	}
	return i
}

func total(list []int64) int64 {
	sum := int64(0)
	for i := 1; i < len(list); i += 2 {
		sum += list[i]
	}
	return sum
}

// change adds a charge to a list of live ones whose sum is used, or takes units
// off its end. The sum stays within [stint.MaxUnits].
func change(list []int64, at, used int64, ask stint.Ask, p *stint.Params) []int64 {
	if ask.Cost < 0 {
		return takeOff(list, -max(ask.Cost, -stint.MaxUnits))
	}
	cost := min(ask.Cost, stint.MaxUnits-used)
	if cost == 0 {
		return list
	}
	n := len(list)
	if n > 0 && (list[n-2] == at || int64(n) >= 2*p[limit]) {
		// A log that forced charges have filled keeps its last pair for them.
		list[n-2], list[n-1] = at, list[n-1]+cost
		return list
	}
	return append(list, at, cost)
}

// takeOff removes n units, the newest first.
func takeOff(list []int64, n int64) []int64 {
	for n > 0 && len(list) > 0 {
		last := len(list) - 1
		if list[last] > n {
			list[last] -= n
			break
		}
		n -= list[last]
		list = list[:last-1]
	}
	return list
}

// freed is the instant of the charge with which, oldest first, n units are gone.
func freed(list []int64, n int64) int64 {
	at := int64(0)
	for i := 0; i < len(list) && n > 0; i += 2 {
		at, n = list[i], n-list[i+1]
	}
	return at
}

func (slidingLog) ExpiresList(list []int64, p *stint.Params) stint.Micros {
	if len(list) == 0 {
		return 0
	}
	return stint.Micros(list[len(list)-2] + p[window])
}

// OwesList implements [stint.ListAlgorithm]: what was in the window of the last
// charge.
func (slidingLog) OwesList(list []int64, p *stint.Params) stint.Debt {
	if len(list) == 0 || p[limit] == 0 {
		return stint.Debt{}
	}
	last := list[len(list)-2]
	return windowDebt(stint.Micros(last), total(list[dead(list, last-p[window]):]), p)
}

// AssumeList implements [stint.ListAlgorithm]: all came with the last charge. That
// is never whole, since a window later it is gone at once, and debt is not.
func (slidingLog) AssumeList(d stint.Debt, p *stint.Params) ([]int64, bool) {
	if d.Owed == 0 || p[limit] == 0 {
		return nil, d.Owed == 0
	}
	return []int64{int64(d.At), min(d.Units(), p[limit])}, false
}

// ConvertList implements [stint.ListAlgorithm]. A shorter window forgets what the
// longer one remembers.
func (slidingLog) ConvertList(list []int64, old, p *stint.Params) bool {
	return len(list) == 0 || p[window] >= old[window] && p[limit] > 0
}

// Apart implements [stint.WindowAlgorithm].
func (slidingLog) Apart(p *stint.Params, units int64) time.Duration {
	return oneWindowApart(p, units)
}

func (slidingLog) Explain(l stint.Limit) (string, []string) {
	if l.Count == 0 {
		return "refuses everything", nil
	}
	sentence := fmt.Sprintf("never more than %d in any %s", l.Count, stint.WindowText(l.Window))
	if l.Count < manyEntries {
		return sentence, nil
	}
	return sentence, []string{fmt.Sprintf("the log keeps up to %d entries (%d bytes) for each key: "+
		"sliding_window_counter keeps two counts", l.Count, 16*l.Count)}
}
