package httplimit

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/stint-dev/stint"
)

// maxInteger is the largest integer of a structured field (RFC 9651).
const maxInteger = 999_999_999_999_999

// rateFields adds the fields that say where the client stands. Without an
// enforced policy that asked a store there are none.
func (m *middleware) rateFields(f *fields, d *stint.Decision) {
	if d.Policy == "" || d.Unlimited || m.headers == NoHeaders {
		return
	}
	switch d.Reason {
	case stint.ReasonMissingKey, stint.ReasonTooLarge, stint.ReasonUnavailable:
		return
	}
	reset := seconds(d.ResetAfter)
	if m.epoch || m.headers&GitHub != 0 {
		reset = ceil(int64(d.At)+d.ResetAfter.Microseconds(), 1_000_000)
	}
	if m.headers&(XRateLimit|GitHub) != 0 {
		f.setInt(fieldLimit, d.Capacity)
		f.setInt(fieldRemaining, max(0, d.Remaining))
		f.setInt(fieldReset, reset)
	}
	if m.headers&GitHub != 0 {
		f.setInt(fieldUsed, max(0, d.Capacity-d.Remaining))
		f.text = appendVisible(f.text, d.Policy)
		f.done(fieldResource)
	}
	if m.headers&IETF != 0 {
		f.text = appendEach(f.text, d, appendPolicy)
		f.done(fieldPolicy)
		f.text = appendEach(f.text, d, appendState)
		f.done(fieldRateLimit)
	}
}

// appendEach writes a list with a member for each enforced policy.
func appendEach(b []byte, d *stint.Decision, member func([]byte, *stint.Result) []byte) []byte {
	listed := false
	for i := range d.Results {
		r := &d.Results[i]
		if r.Shadow || r.Unlimited || r.Unknown {
			continue
		}
		if listed {
			b = append(b, ", "...)
		}
		b, listed = member(b, r), true
	}
	if !listed {
		b = member(b, &d.Result)
	}
	return b
}

// appendPolicy writes the fixed part of a policy: "name";q=100;w=60.
func appendPolicy(b []byte, r *stint.Result) []byte {
	b = appendString(b, r.Policy)
	b = appendParam(b, ";q=", r.Capacity)
	return appendParam(b, ";w=", fillSeconds(r))
}

// appendState writes the moving part of a policy: "name";r=99;t=1.
func appendState(b []byte, r *stint.Result) []byte {
	b = appendString(b, r.Policy)
	b = appendParam(b, ";r=", r.Remaining)
	if r.NextAfter > 0 {
		b = appendParam(b, ";t=", seconds(r.NextAfter))
	}
	return b
}

func appendParam(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), min(max(n, 0), maxInteger), 10)
}

// appendString writes a String of a structured field, which can only hold
// printable ASCII.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = appendByte(b, s[i])
	}
	return append(b, '"')
}

// appendVisible writes s for a header field or a gRPC message.
func appendVisible(b []byte, s string) []byte {
	for i := range len(s) {
		b = appendByte(b, s[i])
	}
	return b
}

// appendByte writes c, as a percent escape if it is not printable ASCII.
func appendByte(b []byte, c byte) []byte {
	if c >= ' ' && c < 0x7f {
		return append(b, c)
	}
	const digits = "0123456789ABCDEF"
	return append(b, '%', digits[c>>4], digits[c&15])
}

// fillSeconds is the time in which a policy's whole capacity comes back: the
// window, longer or shorter where the burst is not the count.
func fillSeconds(r *stint.Result) int64 {
	window := uint64(max(r.Limit.Window, 0))
	if r.Limit.Count > 0 && r.Capacity > 0 && r.Capacity != r.Limit.Count {
		high, low := bits.Mul64(window, uint64(r.Capacity))
		count := uint64(r.Limit.Count)
		if high >= count {
			return maxInteger
		}
		var rest uint64
		if window, rest = bits.Div64(high, low, count); rest > 0 {
			window++
		}
	}
	const second = uint64(time.Second)
	whole := window / second
	if window%second > 0 {
		whole++
	}
	return int64(min(max(whole, 1), maxInteger))
}

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) int64 { return ceil(int64(d), int64(time.Second)) }

// ceil is n/unit rounded up, 0 for n below 0.
func ceil(n, unit int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n-1)/unit + 1
}

// retrySeconds is the wait of a refusal in whole seconds, at least 1; 0 if none
// helps or none is known.
func retrySeconds(d *stint.Decision) int64 {
	switch {
	case d.RetryAfter == stint.Never, d.Reason == stint.ReasonNever, d.Reason == stint.ReasonBlocked,
		d.Reason == stint.ReasonMissingKey, d.Reason == stint.ReasonTooLarge:
		return 0
	case d.RetryAfter <= 0 && d.Reason == "":
		return 0
	}
	return max(1, seconds(d.RetryAfter))
}
