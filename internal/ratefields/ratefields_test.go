package ratefields

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stint-dev/stint"
)

// result is what a policy said that lets count in window pass, capacity at once.
func result(name string, count, capacity int64, window time.Duration) stint.Result {
	return stint.Result{Policy: name, Limit: stint.Limit{Count: count, Window: window}, Capacity: capacity}
}

func TestMembers(t *testing.T) {
	const never = stint.Never
	for _, c := range []struct {
		name            string
		count, capacity int64
		window          time.Duration
		remaining       int64
		next            time.Duration
		policy, state   string
	}{
		{"a", 100, 100, time.Minute, 99, 1, `"a";q=100;w=60`, `"a";r=99;t=1`},
		{"a", 100, 100, time.Minute, 100, 0, `"a";q=100;w=60`, `"a";r=100`},
		{"a", 100, 20, time.Minute, 0, time.Second + 1, `"a";q=20;w=12`, `"a";r=0;t=2`},
		{"a", 3, 4, time.Second, 0, time.Second, `"a";q=4;w=2`, `"a";r=0;t=1`},
		{"a", 10, 10, time.Millisecond, 0, 0, `"a";q=10;w=1`, `"a";r=0`},
		{"a", 0, 0, time.Minute, -1, 0, `"a";q=0;w=60`, `"a";r=0`},
		{"a", 1, math.MaxInt64, never, math.MaxInt64, never, `"a";q=999999999999999;w=999999999999999`, `"a";r=999999999999999`},
		{"a", math.MaxInt64, 1, time.Minute, 1, -1, `"a";q=1;w=1`, `"a";r=1`},
		{`a"\b`, 1, 1, -1, 0, 0, `"a\"\\b";q=1;w=1`, `"a\"\\b";r=0`},
		{"é\r\n\x7f ~", 1, 1, time.Second, 0, 0, `"%C3%A9%0D%0A%7F ~";q=1;w=1`, `"%C3%A9%0D%0A%7F ~";r=0`},
		{"", 1, 1, time.Second, 0, 0, `"";q=1;w=1`, `"";r=0`},
	} {
		r := result(c.name, c.count, c.capacity, c.window)
		r.Remaining, r.NextAfter = c.remaining, c.next
		if got := string(AppendPolicy(nil, &r)); got != c.policy {
			t.Errorf("policy %s, want %s", got, c.policy)
		}
		if got := string(AppendState(nil, &r)); got != c.state {
			t.Errorf("state %s, want %s", got, c.state)
		}
	}
}

func TestListsNameWhatIsEnforcedAndCounts(t *testing.T) {
	a, b := result("a", 10, 10, time.Minute), result("b", 5, 5, time.Hour)
	shadow, unlimited, unknown := a, a, a
	shadow.Shadow, unlimited.Unlimited, unknown.Unknown = true, true, true
	for _, c := range []struct {
		results          []stint.Result
		policies, states string
	}{
		{[]stint.Result{a, b}, `"a";q=10;w=60, "b";q=5;w=3600`, `"a";r=0, "b";r=0`},
		{[]stint.Result{shadow, unlimited, unknown, b}, `"b";q=5;w=3600`, `"b";r=0`},
		{[]stint.Result{b, shadow}, `"b";q=5;w=3600`, `"b";r=0`},
		{[]stint.Result{shadow}, `"a";q=10;w=60`, `"a";r=0`},
		{nil, `"a";q=10;w=60`, `"a";r=0`},
	} {
		d := stint.Decision{Result: a, Results: c.results}
		if got := string(AppendPolicies([]byte("x "), &d)); got != "x "+c.policies {
			t.Errorf("policies %s, want %s", got, c.policies)
		}
		if got := string(AppendStates([]byte("x "), &d)); got != "x "+c.states {
			t.Errorf("states %s, want %s", got, c.states)
		}
	}
}

func TestKnown(t *testing.T) {
	a, unlimited := result("a", 1, 1, time.Second), result("a", 1, 1, time.Second)
	unlimited.Unlimited = true
	for _, c := range []struct {
		d    stint.Decision
		want bool
	}{
		{stint.Decision{Allowed: true, Result: a}, true},
		{stint.Decision{Result: a, Reason: stint.ReasonLimit}, true},
		{stint.Decision{Result: a, Reason: stint.ReasonNever}, true},
		{stint.Decision{Result: a, Reason: stint.ReasonBlocked}, true},
		{stint.Decision{Allowed: true}, false},
		{stint.Decision{Allowed: true, Result: unlimited}, false},
		{stint.Decision{Result: a, Reason: stint.ReasonMissingKey}, false},
		{stint.Decision{Result: a, Reason: stint.ReasonTooLarge}, false},
		{stint.Decision{Result: a, Reason: stint.ReasonUnavailable}, false},
	} {
		if got := Known(&c.d); got != c.want {
			t.Errorf("policy %q, unlimited %t, reason %q: %t", c.d.Policy, c.d.Unlimited, c.d.Reason, got)
		}
	}
}

func TestAppendingAllocatesNothing(t *testing.T) {
	a, b := result("per-client", 100, 20, time.Minute), result(`"b"`, 5, 5, time.Hour)
	a.NextAfter = time.Second
	d := stint.Decision{Result: a, Results: []stint.Result{a, b}}
	buffer := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { AppendStates(AppendPolicies(buffer, &d), &d) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleAppendStates() {
	r := stint.Result{Policy: "api", Limit: stint.Limit{Count: 100, Window: time.Minute}, Capacity: 100}
	r.Remaining, r.NextAfter = 99, 600*time.Millisecond
	d := &stint.Decision{Allowed: true, Result: r, Results: []stint.Result{r}}
	fmt.Printf("RateLimit-Policy: %s\n", AppendPolicies(nil, d))
	fmt.Printf("RateLimit: %s\n", AppendStates(nil, d))
	// Output:
	// RateLimit-Policy: "api";q=100;w=60
	// RateLimit: "api";r=99;t=1
}
