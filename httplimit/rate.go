package httplimit

import (
	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/ratefields"
)

// rateFields adds the fields that say where the client stands. Without an
// enforced policy that asked a store there are none.
func (m *middleware) rateFields(f *fields, d *stint.Decision) {
	if m.headers == NoHeaders || !ratefields.Known(d) {
		return
	}
	if m.headers&(XRateLimit|GitHub) != 0 {
		f.setInt(fieldLimit, d.Capacity)
		f.setInt(fieldRemaining, max(0, d.Remaining))
		f.setInt(fieldReset, m.reset(d))
	}
	if m.headers&GitHub != 0 {
		f.setInt(fieldUsed, max(0, d.Capacity-d.Remaining))
		f.text = appendVisible(f.text, d.Policy)
		f.done(fieldResource)
	}
	if m.headers&IETF != 0 {
		f.text = ratefields.AppendPolicies(f.text, d)
		f.done(fieldPolicy)
		f.text = ratefields.AppendStates(f.text, d)
		f.done(fieldRateLimit)
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
