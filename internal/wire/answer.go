package wire

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/stint-dev/stint"
)

// AppendDecision appends d as JSON. What is false, empty or, for a delay, 0 is left
// out, but for allowed; the numbers of a policy are there whenever one is named.
//
// OK of a decision is not written: it is true where a policy is named and the
// request allowed.
func AppendDecision(b []byte, d *stint.Decision) []byte {
	b = append(b, `{"allowed":`...)
	b = strconv.AppendBool(b, d.Allowed)
	if d.Reason != "" {
		b = AppendString(append(b, `,"reason":`...), string(d.Reason))
	}
	if named(&d.Result) {
		b = appendResult(append(b, ','), &d.Result)
	}
	if d.At != 0 {
		b = strconv.AppendInt(append(b, `,"at_us":`...), int64(d.At), 10)
	}
	b = appendTrue(b, "degraded", d.Degraded)
	b = append(b, `,"results":[`...)
	for i := range d.Results {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"ok":`...)
		b = strconv.AppendBool(b, d.Results[i].OK)
		b = appendResult(append(b, ','), &d.Results[i])
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// AppendDecisions appends the answer to a batch.
func AppendDecisions(b []byte, n int, decision func(b []byte, i int) []byte) []byte {
	b = append(b, `{"decisions":[`...)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = decision(b, i)
	}
	return append(b, "]}"...)
}

// named says whether a decision has a policy's numbers.
func named(r *stint.Result) bool {
	return r.Policy != "" || r.RetryAfter != 0 || r.Delay != 0 || r.Cost != 0
}

// appendResult appends the members of a result.
func appendResult(b []byte, r *stint.Result) []byte {
	b = AppendString(append(b, `"policy":`...), r.Policy)
	if r.Limit != (stint.Limit{}) {
		b = strconv.AppendInt(append(b, `,"limit":{"count":`...), r.Limit.Count, 10)
		b = appendMicros(append(b, `,"window_us":`...), r.Limit.Window)
		if r.Limit.Burst != 0 {
			b = strconv.AppendInt(append(b, `,"burst":`...), r.Limit.Burst, 10)
		}
		b = append(b, '}')
	}
	b = strconv.AppendInt(append(b, `,"capacity":`...), r.Capacity, 10)
	if len(r.Key) > 0 {
		b = append(b, `,"key":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, r.Key), '"')
	}
	b = strconv.AppendInt(append(b, `,"cost":`...), r.Cost, 10)
	b = strconv.AppendInt(append(b, `,"remaining":`...), r.Remaining, 10)
	if r.Delay != 0 {
		b = appendMicros(append(b, `,"delay_us":`...), r.Delay)
	}
	b = appendMicros(append(b, `,"retry_after_us":`...), r.RetryAfter)
	b = appendMicros(append(b, `,"reset_after_us":`...), r.ResetAfter)
	b = appendMicros(append(b, `,"next_after_us":`...), r.NextAfter)
	b = appendTrue(b, "shadow", r.Shadow)
	b = appendTrue(b, "unlimited", r.Unlimited)
	return appendTrue(b, "unknown", r.Unknown)
}

// appendTrue appends a member if it is true.
func appendTrue(b []byte, name string, value bool) []byte {
	if !value {
		return b
	}
	return append(append(append(b, `,"`...), name...), `":true`...)
}

// appendMicros appends d in microseconds, rounded up; null for Never.
func appendMicros(b []byte, d time.Duration) []byte {
	if d == stint.Never {
		return append(b, "null"...)
	}
	n := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		n++
	}
	return strconv.AppendInt(b, n, 10)
}
