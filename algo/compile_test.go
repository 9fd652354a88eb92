package algo_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

// TestC036BadLimitsAreRefused: what can not be counted is no limit, and says why.
func TestC036BadLimitsAreRefused(t *testing.T) {
	tests := []struct {
		name  string
		limit stint.Limit
		want  string
	}{
		{"C035 negative", stint.Limit{Count: -1, Window: time.Minute}, "write 0 to refuse everything"},
		{"C036 rate 0 with a burst", stint.Limit{Burst: 1, Window: time.Second}, "write limit 0 alone"},
		{"negative burst", stint.Limit{Count: 1, Burst: -1, Window: time.Second}, "leave it out"},
		{"no window", stint.Limit{Count: 1}, "longer than 0"},
		{"negative window", stint.Limit{Count: 1, Window: -time.Second}, "longer than 0"},
		{"nanoseconds", stint.Limit{Count: 1, Window: 1500}, "whole number of microseconds"},
		{"a window of 292 years", stint.Limit{Count: 1, Window: math.MaxInt64 / 1000 * 1000}, "too long"},
		{"C031 too many", stint.Limit{Count: math.MaxInt64, Window: time.Second}, "too large"},
		{"too large a burst", stint.Limit{Count: 1, Burst: math.MaxInt64, Window: time.Second}, "too large"},
	}
	for _, a := range every {
		for _, test := range tests {
			if _, err := a.Compile(test.limit); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: error %v, want it to say %q", a.Name(), test.name, err, test.want)
			}
		}
	}
}

// TestLimitsThatOneAlgorithmRefuses, with what to write instead.
func TestLimitsThatOneAlgorithmRefuses(t *testing.T) {
	burst := stint.Limit{Count: 10, Window: time.Second, Burst: 20}
	huge := stint.Limit{Count: stint.MaxUnits, Window: 24 * time.Hour}
	for _, test := range []struct {
		a    stint.Algorithm
		l    stint.Limit
		want string
	}{
		{algo.FixedWindow, burst, "use token_bucket"},
		{algo.SlidingWindowCounter, burst, "use token_bucket"},
		{algo.SlidingWindowLog, burst, "use token_bucket"},
		{algo.SlidingWindowLog, stint.Limit{Count: algo.MaxLog + 1, Window: time.Hour}, "use sliding_window_counter"},
		{algo.SlidingWindowCounter, huge, "use token_bucket"},
		{algo.TokenBucket, stint.Limit{Count: 7, Window: 25_000 * 24 * time.Hour, Burst: 1_000_000_000}, "smaller burst"},
		{algo.LeakyQueue{}, stint.Limit{Count: 1, Window: time.Second}, "max_wait, max_waiting or both"},
		{algo.LeakyQueue{MaxWait: -1, MaxWaiting: 1}, stint.Limit{Count: 1, Window: time.Second}, "above 0"},
		{algo.LeakyQueue{MaxWaiting: math.MaxInt64}, stint.Limit{Count: 1, Window: time.Second}, "too long"},
		{algo.LeakyQueue{MaxWait: math.MaxInt64}, stint.Limit{Count: stint.MaxUnits, Window: time.Microsecond}, "too long"},
	} {
		if _, err := test.a.Compile(test.l); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %v: error %v, want it to say %q", test.a.Name(), test.l, err, test.want)
		}
	}
}

// TestRangeOfLimits: from one a year to a thousand million a second.
func TestRangeOfLimits(t *testing.T) {
	for _, a := range every {
		for _, limit := range []string{"1 per 365d", "1 per microsecond", "1000000000 per second", "10000 per 365d", "0 per day"} {
			l, err := stint.ParseLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			if a == algo.SlidingWindowLog {
				l.Count = min(l.Count, algo.MaxLog)
			}
			if _, err := a.Compile(l); err != nil {
				t.Errorf("%s: %v", a.Name(), err)
			}
		}
	}
}

// TestQueueBounds: the longest delay and the room, whatever bound gives them.
func TestQueueBounds(t *testing.T) {
	for _, test := range []struct {
		q        algo.LeakyQueue
		limit    string
		capacity int64
		longest  time.Duration
	}{
		{algo.LeakyQueue{MaxWaiting: 100}, "1 per 1s", 101, 100 * time.Second},
		{algo.LeakyQueue{MaxWaiting: 2}, "3 per 1s", 3, 666_667 * time.Microsecond},
		{algo.LeakyQueue{MaxWait: time.Second}, "3 per 1s", 4, time.Second},
		{algo.LeakyQueue{MaxWait: 999_999 * time.Microsecond}, "3 per 1s", 3, 999_999 * time.Microsecond},
		{algo.LeakyQueue{MaxWait: time.Second, MaxWaiting: 2}, "3 per 1s, burst 5", 7, 666_667 * time.Microsecond},
		{algo.LeakyQueue{MaxWait: time.Second, MaxWaiting: 7}, "3 per 1s, burst 5", 8, time.Second},
		{algo.LeakyQueue{MaxWait: 1}, "3 per 1s", 1, 0},
		{algo.LeakyQueue{MaxWaiting: 5}, "0 per 1s", 0, 0},
	} {
		m := newMachine(t, test.q, test.limit)
		if got := m.capacity(); got != test.capacity {
			t.Errorf("%+v of %s: capacity %d, want %d", test.q, test.limit, got, test.capacity)
		}
		if got := test.q.MaxDelay(&m.p); got != test.longest {
			t.Errorf("%+v of %s: longest delay %v, want %v", test.q, test.limit, got, test.longest)
		}
	}
}

// TestC142Explain: the interval, the most at once and the most in a window.
func TestC142Explain(t *testing.T) {
	for limit, want := range map[string]string{
		"6 per 1m":             "at most 6 at once, then one every 10s; at most 12 in any minute",
		"6 per 1m, burst 1":    "at most 1 at once, then one every 10s; at most 7 in any minute",
		"100 per 1s, burst 50": "at most 50 at once, then one every 10ms; at most 150 in any second",
		"2 per 10m, burst 1":   "at most 1 at once, then one every 5m; at most 3 in any 10m",
		"0 per 1s":             "refuses everything",
	} {
		m := newMachine(t, algo.TokenBucket, limit)
		if got, warnings := m.a.Explain(m.l); got != want || warnings != nil {
			t.Errorf("%s: %q %q, want %q", limit, got, warnings, want)
		}
	}
}

// TestWarnings: a fixed window's edge, a long log.
func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		a     stint.Algorithm
		limit string
		want  string
	}{
		{algo.FixedWindow, "5 per 60s", "up to 10"},
		{algo.SlidingWindowLog, "10000 per 1h", "160000 bytes"},
		{algo.SlidingWindowLog, "5 per 1h", ""},
		{algo.SlidingWindowCounter, "600 per 1m", ""},
	} {
		m := newMachine(t, test.a, test.limit)
		_, warnings := m.a.Explain(m.l)
		if got := strings.Join(warnings, "\n"); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s, %s: warnings %q, want %q", test.a.Name(), test.limit, got, test.want)
		}
	}
}

func TestByName(t *testing.T) {
	for _, a := range algo.All {
		if got, ok := algo.ByName(a.Name()); !ok || got != a {
			t.Errorf("%q is %v, %v", a.Name(), got, ok)
		}
	}
	if got, ok := algo.ByName("gcra"); !ok || got != algo.TokenBucket {
		t.Errorf("gcra is %v, %v", got, ok)
	}
	if _, ok := algo.ByName("Token_Bucket"); ok {
		t.Error("a name in capitals is known")
	}
}

// TestEachAlgorithmHasLedgers, and plays them.
func TestEachAlgorithmHasLedgers(t *testing.T) {
	vectors, err := storetest.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	store := storetest.NewReference()
	for _, v := range vectors {
		count[v.Algorithm]++
		t.Run(v.Algorithm+"/"+v.Name, func(t *testing.T) { v.Play(t, store) })
	}
	for _, a := range every {
		if count[a.Name()] < 5 {
			t.Errorf("%s has %d ledgers", a.Name(), count[a.Name()])
		}
	}
}
