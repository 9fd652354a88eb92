// Package ratefields writes the numbers of a decision as rate header fields, the
// same for each door: the lists of RateLimit-Policy and RateLimit as revisions 08 to
// 11 of draft-ietf-httpapi-ratelimit-headers have them, and waits in whole seconds.
// What appends allocates nothing if there is room.
package ratefields

import (
	"strconv"

	"github.com/stint-dev/stint"
)

// maxInteger is the largest integer of a structured field (RFC 9651).
const maxInteger = 999_999_999_999_999

// Known says whether d has numbers to tell a client: an enforced policy that counts
// had a say, and a store was asked and answered.
func Known(d *stint.Decision) bool {
	switch d.Reason {
	case stint.ReasonMissingKey, stint.ReasonTooLarge, stint.ReasonUnavailable:
		return false
	}
	return d.Policy != "" && !d.Unlimited
}

// Tighter says whether a client that meets a limiter in front of another had better be
// told a's numbers than b's: a refusal, else the smaller share that is left. Of equal
// ones neither is tighter.
func Tighter(a, b *stint.Decision) bool {
	if a.Allowed != b.Allowed {
		return !a.Allowed
	}
	return float64(a.Remaining)*float64(b.Capacity) < float64(b.Remaining)*float64(a.Capacity)
}

// Listed says whether the lists have a member for r: it is enforced and has numbers.
func Listed(r *stint.Result) bool { return !r.Shadow && !r.Unlimited && !r.Unknown }

// AppendPolicies appends the value of RateLimit-Policy: a member for each result that
// is listed, or one for the policy that decided where none is.
func AppendPolicies(b []byte, d *stint.Decision) []byte { return appendEach(b, d, AppendPolicy) }

// AppendStates appends the value of RateLimit, with the members of [AppendPolicies].
func AppendStates(b []byte, d *stint.Decision) []byte { return appendEach(b, d, AppendState) }

func appendEach(b []byte, d *stint.Decision, member func([]byte, *stint.Result) []byte) []byte {
	listed := false
	for i := range d.Results {
		r := &d.Results[i]
		if !Listed(r) {
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

// AppendPolicy appends the fixed part of a policy: "name";q=100;w=60.
func AppendPolicy(b []byte, r *stint.Result) []byte {
	b = AppendString(b, r.Policy)
	b = appendParam(b, ";q=", r.Capacity)
	return appendParam(b, ";w=", fillSeconds(r))
}

// AppendState appends the moving part of a policy: "name";r=99;t=1, without t where
// nothing is used or no wait helps.
func AppendState(b []byte, r *stint.Result) []byte {
	b = AppendString(b, r.Policy)
	b = appendParam(b, ";r=", r.Remaining)
	if r.NextAfter > 0 && r.NextAfter != stint.Never {
		b = appendParam(b, ";t=", Seconds(r.NextAfter))
	}
	return b
}

func appendParam(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), min(max(n, 0), maxInteger), 10)
}

// AppendString appends s as a String of a structured field, in quotes. Such a String
// holds printable ASCII only; other bytes become percent escapes.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = AppendByte(b, s[i])
	}
	return append(b, '"')
}

// AppendByte appends c, as a percent escape if it is not printable ASCII.
func AppendByte(b []byte, c byte) []byte {
	if c >= ' ' && c < 0x7f {
		return append(b, c)
	}
	const digits = "0123456789ABCDEF"
	return append(b, '%', digits[c>>4], digits[c&15])
}
