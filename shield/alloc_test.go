package shield_test

import (
	"context"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/shield"
)

// still is a store that does nothing, so that what is counted is the shield's.
type still struct{ verdict stint.Verdict }

func (s still) Take(_ context.Context, _ stint.Micros, _ []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	for i := range verdicts {
		verdicts[i] = s.verdict
	}
	return 1, nil
}

func TestNothingIsAllocated(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	spent := stint.Verdict{RetryAfter: stint.Never}
	hot, cold := policy(t, "hot", "0 per 60s", algo.TokenBucket), policy(t, "cold", "1000000 per 1s", algo.TokenBucket)
	for name, s := range map[string]struct {
		verdict  stint.Verdict
		p        *stint.Policy
		answered bool
	}{
		"a refusal known here": {spent, hot, true},
		"a miss":               {stint.Verdict{OK: true, Remaining: 1}, cold, false},
		"a refusal that is not kept": {
			stint.Verdict{Remaining: 1, RetryAfter: 1}, hot, false,
		},
	} {
		store := newShield(t, shield.Options{Store: still{s.verdict}, MaxWait: shield.LongestMaxWait})
		l := &stint.Limiter{Store: store}
		request := []stint.Charge{one(cold, "k"), one(s.p, "l"), of(cold, "m", 2)}
		var d stint.Decision
		for what, f := range map[string]func(){
			"alone":   func() { _, _ = l.Allow(context.Background(), s.p, "198.51.100.7") },
			"a list":  func() { _ = l.Decide(context.Background(), request, &d) },
			"one":     func() { _ = l.Decide(context.Background(), request[1:2], &d) },
			"refunds": func() { _, _ = l.Refund(context.Background(), cold, "k", 1) },
		} {
			if n := testing.AllocsPerRun(200, f); n != 0 {
				t.Errorf("%s, %s: %v allocations", name, what, n)
			}
		}
		if n := store.Stats().Answered > 0; n != s.answered {
			t.Errorf("%s: %+v", name, store.Stats())
		}
	}
}
