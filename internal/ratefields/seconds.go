package ratefields

import (
	"math/bits"
	"time"

	"github.com/stint-dev/stint"
)

// Seconds is w in whole seconds, rounded up; 0 for w below 0.
func Seconds(w time.Duration) int64 { return ceil(int64(w), int64(time.Second)) }

// ResetAt is the instant at which nothing is used any more, as a Unix time in whole
// seconds, rounded up.
func ResetAt(d *stint.Decision) int64 {
	return ceil(int64(d.At)+d.ResetAfter.Microseconds(), 1_000_000)
}

// ceil is n/unit rounded up, 0 for n below 0.
func ceil(n, unit int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n-1)/unit + 1
}

// RetryAfter is the wait of a refusal in whole seconds, at least 1; 0 if none helps or
// none is known.
func RetryAfter(d *stint.Decision) int64 {
	switch {
	case d.RetryAfter == stint.Never, d.Reason == stint.ReasonNever, d.Reason == stint.ReasonBlocked,
		d.Reason == stint.ReasonMissingKey, d.Reason == stint.ReasonTooLarge:
		return 0
	case d.RetryAfter <= 0 && d.Reason == "":
		return 0
	}
	return max(1, Seconds(d.RetryAfter))
}

// fillSeconds is the time in which a policy's whole capacity comes back: the window,
// longer or shorter where the burst is not the count.
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
