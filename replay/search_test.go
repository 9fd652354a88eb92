package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rules"
)

// randomLog has n lines of a few addresses, some far busier than others.
func randomLog(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var log strings.Builder
	after := 0
	for range n {
		after += r.IntN(2)
		addr := fmt.Sprintf("192.0.2.%d", min(r.IntN(20), r.IntN(20), r.IntN(20)))
		log.WriteString(line(time.Duration(after)*time.Second, addr, "/"))
	}
	return log.String()
}

// refusedUnder replays a log under one limit.
func refusedUnder(t *testing.T, log string, rule rules.Rule) int64 {
	t.Helper()
	return run(t, Options{Rules: specOf(rule)}, log).Refused
}

func TestSmallestLimitIsTheSmallest(t *testing.T) {
	log := randomLog(1, 3000)
	for _, algorithm := range []string{"token_bucket", "leaky_bucket", "fixed_window", "sliding_window_counter", "sliding_window_log"} {
		t.Run(algorithm, func(t *testing.T) {
			limit := run(t, Options{Rules: specOf(byAddress("a", 7, algorithm))}, log).Rules[0].Limits[0]
			if limit.PerMille == nil || limit.Percent == nil {
				t.Fatalf("got %+v", limit)
			}
			for _, test := range []struct{ count, most int64 }{{limit.PerMille.Count, 3}, {limit.Percent.Count, 30}} {
				at := refusedUnder(t, log, byAddress("a", test.count, algorithm))
				below := refusedUnder(t, log, byAddress("a", test.count-1, algorithm))
				if at > test.most || below <= test.most {
					t.Errorf("%d refuses %d and %d refuses %d: at most %d wanted", test.count, at, test.count-1, below, test.most)
				}
			}
		})
	}
}

func TestSmallestLimitKeepsTheProportionOfTheBurst(t *testing.T) {
	log := randomLog(2, 2000)
	rule := byAddress("a", 12, "")
	rule.Limits[0].Burst = 4
	limit := run(t, Options{Rules: specOf(rule)}, log).Rules[0].Limits[0]
	n := limit.Percent.Count
	rule.Limits[0] = stint.Limit{Count: n, Window: time.Minute, Burst: (n + 2) / 3}
	if want := rule.Limits[0].String(); limit.Percent.Limit != want {
		t.Errorf("limit %s, want %s", limit.Percent.Limit, want)
	}
	if got := refusedUnder(t, log, rule); got > 20 {
		t.Errorf("%s refuses %d of 2000", limit.Percent.Limit, got)
	}
}

func TestSmallestLimitIsAsIfTheRuleWereAlone(t *testing.T) {
	log := randomLog(3, 1000)
	alone := run(t, Options{Rules: specOf(byAddress("a", 5, ""))}, log)
	both := run(t, Options{Rules: specOf(byAddress("tight", 1, ""), byAddress("a", 5, ""))}, log)
	if got, want := *both.Rules[1].Limits[0].Percent, *alone.Rules[0].Limits[0].Percent; got != want {
		t.Errorf("%v beside another rule, %v alone", got, want)
	}
}

func TestRuleThatCostsNothingHasNoSmallestLimit(t *testing.T) {
	rule := byAddress("a", 5, "")
	rule.Free = true
	limit := run(t, Options{Rules: specOf(rule)}, randomLog(3, 100)).Rules[0].Limits[0]
	if limit.Asked != 100 || limit.PerMille != nil || limit.Percent != nil {
		t.Errorf("got %+v", limit)
	}
}

func TestChargesBeyondTheMemoryAreInAFile(t *testing.T) {
	log := randomLog(4, 60000)
	o := Options{Rules: specOf(byAddress("a", 5, ""), byAddress("b", 9, "fixed_window")), TempDir: t.TempDir()}
	want := text(t, run(t, o, log))
	o.MaxMemory = 1
	if got := text(t, run(t, o, log)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o.TempDir += "/missing"
	report, err := Run(context.Background(), o, logsOf(log)...)
	if err == nil || report == nil || report.Requests != 60000 || report.Rules[0].Limits == nil {
		t.Errorf("report %v, error %v", report, err)
	}
}
