package stint_test

import (
	"testing"

	"github.com/stint-dev/stint"
)

// TestFail: a decision that nobody could make lets through or refuses, and a refusal
// that says so already stays as it was made.
func TestFail(t *testing.T) {
	made := stint.Decision{Reason: stint.ReasonUnavailable, Result: stint.Result{Policy: "p"}}
	for name, c := range map[string]struct {
		d      stint.Decision
		open   bool
		policy string
	}{
		"allowed":          {d: stint.Decision{Allowed: true, Result: stint.Result{Policy: "p"}}},
		"refused":          {d: stint.Decision{Reason: stint.ReasonLimit, Result: stint.Result{Policy: "p"}}},
		"made":             {d: made, policy: "p"},
		"made, but opened": {d: made, open: true},
	} {
		c.d.Fail(c.open)
		reason := stint.ReasonUnavailable
		if c.open {
			reason = ""
		}
		if c.d.Allowed != c.open || c.d.Reason != reason || c.d.Policy != c.policy || !c.d.Degraded {
			t.Errorf("%s: %+v", name, c.d)
		}
	}
}
