package rls

import (
	"strconv"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/stint-dev/stint"
)

// Headers is a set of header profiles for responses.
type Headers uint8

const (
	// RateLimit is RateLimit-Limit, -Remaining and -Reset, as envoyproxy/ratelimit
	// writes them: of the rule that decided, with the reset in seconds, rounded up.
	RateLimit Headers = 1 << iota
	// XRateLimit is the same with an X- before the names.
	XRateLimit
	// IETF is RateLimit-Policy and RateLimit with all enforced rules, as revisions 08
	// to 11 of draft-ietf-httpapi-ratelimit-headers write them.
	IETF

	unknownHeaders
)

// responseHeaders are the headers for the client.
func (s *Service) responseHeaders(d *stint.Decision) []*core.HeaderValue {
	if s.o.Headers == 0 && d.Allowed {
		return nil
	}
	var h []*core.HeaderValue
	if numbers := d.Policy != "" && !d.Unknown && !d.Unlimited; numbers {
		if s.o.Headers&RateLimit != 0 {
			h = appendTriple(h, "", d)
		}
		if s.o.Headers&XRateLimit != 0 {
			h = appendTriple(h, "X-", d)
		}
		if s.o.Headers&IETF != 0 {
			h = appendIETF(h, d)
		}
	}
	if wait := retryAfter(d); wait > 0 {
		h = append(h, header("Retry-After", strconv.FormatInt(wait, 10)))
	}
	return h
}

func header(name, value string) *core.HeaderValue { return &core.HeaderValue{Key: name, Value: value} }

// retryAfter is the wait of a refusal in seconds, rounded up, at least 1; 0 if no
// wait helps.
func retryAfter(d *stint.Decision) int64 {
	if d.Allowed || d.RetryAfter == stint.Never || d.RetryAfter == 0 && d.Reason != stint.ReasonLimit && d.Reason != stint.ReasonUnavailable {
		return 0
	}
	return max(1, seconds(d.RetryAfter))
}

func appendTriple(h []*core.HeaderValue, prefix string, d *stint.Decision) []*core.HeaderValue {
	return append(h,
		header(prefix+"RateLimit-Limit", strconv.FormatInt(d.Capacity, 10)),
		header(prefix+"RateLimit-Remaining", strconv.FormatInt(d.Remaining, 10)),
		header(prefix+"RateLimit-Reset", strconv.FormatInt(seconds(finite(d.ResetAfter)), 10)),
	)
}

// finite is w, or nothing where there is no end.
func finite(w time.Duration) time.Duration {
	if w == stint.Never {
		return 0
	}
	return max(0, w)
}

func appendIETF(h []*core.HeaderValue, d *stint.Decision) []*core.HeaderValue {
	var policies, limits []byte
	for i := range d.Results {
		r := &d.Results[i]
		if r.Shadow || r.Unlimited || r.Unknown {
			continue
		}
		if len(policies) > 0 {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		policies = strconv.AppendInt(append(appendString(policies, r.Policy), ";q="...), r.Capacity, 10)
		policies = strconv.AppendInt(append(policies, ";w="...), max(1, seconds(finite(refill(r)))), 10)
		limits = strconv.AppendInt(append(appendString(limits, r.Policy), ";r="...), r.Remaining, 10)
		if r.NextAfter > 0 && r.NextAfter != stint.Never {
			limits = strconv.AppendInt(append(limits, ";t="...), seconds(r.NextAfter), 10)
		}
	}
	if len(policies) == 0 {
		return h
	}
	return append(h, header("RateLimit-Policy", string(policies)), header("RateLimit", string(limits)))
}

// refill is the time in which as much comes back as can remain.
func refill(r *stint.Result) time.Duration {
	if r.Limit.Count <= 0 || r.Capacity == r.Limit.Count {
		return r.Limit.Window
	}
	return time.Duration(float64(r.Limit.Window) * float64(r.Capacity) / float64(r.Limit.Count))
}

// appendString appends a String of RFC 9651, which holds printable ASCII.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = append(b, '?')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// shadowHeader names the rules in shadow mode that would have refused, for the
// upstream.
func shadowHeader(d *stint.Decision) []*core.HeaderValue {
	var names []string
	for i := range d.Results {
		if r := &d.Results[i]; r.Shadow && !r.OK {
			names = append(names, string(appendString(nil, r.Policy)))
		}
	}
	if names == nil {
		return nil
	}
	return []*core.HeaderValue{header("X-Stint-Shadow", strings.Join(names, ", "))}
}
