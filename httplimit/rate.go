package httplimit

import (
	"net/http"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/once"
	"github.com/stint-dev/stint/internal/ratefields"
)

// rateFields adds the fields that say where the client stands. Without an enforced
// policy that asked a store there are none. h has what a limiter outside of this one
// has said: the tighter of the two keeps the fields of a single policy, and the lists
// name the policies of both.
func (m *middleware) rateFields(s *scratch, h http.Header) {
	f, d := &s.fields, &s.decision
	if m.headers == NoHeaders || !ratefields.Known(d) {
		return
	}
	outside := s.outer.Shown(always)
	if m.headers&(XRateLimit|GitHub) != 0 && !saysTighter(s.outer, h, d) {
		m.policyFields(f, d)
		if outside && m.headers&GitHub == 0 {
			delete(h, fieldUsed)
			delete(h, fieldResource)
		}
	}
	if m.headers&IETF != 0 {
		f.join(h, fieldPolicy, outside)
		f.text = ratefields.AppendPolicies(f.text, d)
		f.done(fieldPolicy)
		f.join(h, fieldRateLimit, outside)
		f.text = ratefields.AppendStates(f.text, d)
		f.done(fieldRateLimit)
	}
}

func always(*stint.Decision) bool { return true }

// saysTighter says whether h has the numbers of a limiter outside that is at least as
// tight as d.
func saysTighter(outer *once.Visit[door], h http.Header, d *stint.Decision) bool {
	return len(h[fieldLimit]) > 0 && outer.Shown(func(o *stint.Decision) bool { return !ratefields.Tighter(d, o) })
}

// policyFields adds those about the policy that decided.
func (m *middleware) policyFields(f *fields, d *stint.Decision) {
	f.setInt(fieldLimit, d.Capacity)
	f.setInt(fieldRemaining, max(0, d.Remaining))
	f.setInt(fieldReset, m.reset(d))
	if m.headers&GitHub != 0 {
		f.setInt(fieldUsed, max(0, d.Capacity-d.Remaining))
		f.text = appendVisible(f.text, d.Policy)
		f.done(fieldResource)
	}
}

// reset is X-RateLimit-Reset: seconds from now, or a Unix time.
func (m *middleware) reset(d *stint.Decision) int64 {
	if m.epoch || m.headers&GitHub != 0 {
		return ratefields.ResetAt(d)
	}
	return ratefields.Seconds(d.ResetAfter)
}

// appendVisible writes s for a header field.
func appendVisible(b []byte, s string) []byte {
	for i := range len(s) {
		b = ratefields.AppendByte(b, s[i])
	}
	return b
}
