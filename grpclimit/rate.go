package grpclimit

import (
	"math/bits"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/stint-dev/stint"
)

// The metadata keys that calls get.
const (
	keyLimit     = "x-ratelimit-limit"
	keyRemaining = "x-ratelimit-remaining"
	keyReset     = "x-ratelimit-reset"
	keyPolicy    = "ratelimit-policy"
	keyRateLimit = "ratelimit"
	keyRetry     = "retry-after"
	keyPushback  = "grpc-retry-pushback-ms"

	mostKeys = 7
)

// maxInteger is the largest integer of a structured field (RFC 9651).
const maxInteger = 999_999_999_999_999

// fields collects metadata. Their text is built in one buffer and becomes one
// string. It is used again for the next call.
type fields struct {
	text []byte
	n    int
	key  [mostKeys]string
	end  [mostKeys]int
}

func (f *fields) reset() { f.text, f.n = f.text[:0], 0 }

// done ends a field whose value was appended to text.
func (f *fields) done(key string) {
	f.key[f.n], f.end[f.n] = key, len(f.text)
	f.n++
}

func (f *fields) setInt(key string, n int64) {
	f.text = strconv.AppendInt(f.text, n, 10)
	f.done(key)
}

// metadata returns the fields; nil if there are none.
func (f *fields) metadata() metadata.MD {
	if f.n == 0 {
		return nil
	}
	text, values := string(f.text), make([]string, f.n)
	md := make(metadata.MD, f.n)
	start := 0
	for i := range f.n {
		values[i] = text[start:f.end[i]]
		md[f.key[i]] = values[i : i+1 : i+1]
		start = f.end[i]
	}
	return md
}

// rateFields adds the fields that say where the client stands. Without an enforced
// policy that asked a store there are none.
func (l *Limit) rateFields(f *fields, d *stint.Decision) {
	if d.Policy == "" || d.Unlimited || l.headers == NoHeaders {
		return
	}
	switch d.Reason {
	case stint.ReasonMissingKey, stint.ReasonTooLarge, stint.ReasonUnavailable:
		return
	}
	if l.headers&XRateLimit != 0 {
		f.setInt(keyLimit, d.Capacity)
		f.setInt(keyRemaining, max(0, d.Remaining))
		f.setInt(keyReset, seconds(d.ResetAfter))
	}
	if l.headers&IETF != 0 {
		f.text = appendEach(f.text, d, appendPolicy)
		f.done(keyPolicy)
		f.text = appendEach(f.text, d, appendState)
		f.done(keyRateLimit)
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

// appendString writes a String of a structured field, which can only hold printable
// ASCII, as metadata can; other bytes become percent escapes.
func appendString(b []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ' && c < 0x7f:
			b = append(b, c)
		default:
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return append(b, '"')
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

// seconds is d in whole seconds, rounded up; 0 for d below 0.
func seconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Second) + 1
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
