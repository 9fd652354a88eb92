package rls

import (
	"strconv"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/ratefields"
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
	if hasNumbers(d) {
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
	if !d.Allowed {
		if wait := ratefields.RetryAfter(d); wait > 0 {
			h = append(h, header("Retry-After", strconv.FormatInt(wait, 10)))
		}
	}
	return h
}

// hasNumbers says whether d has numbers of a limit to tell.
func hasNumbers(d *stint.Decision) bool { return ratefields.Known(d) && !d.Unknown }

func header(name, value string) *core.HeaderValue { return &core.HeaderValue{Key: name, Value: value} }

func appendTriple(h []*core.HeaderValue, prefix string, d *stint.Decision) []*core.HeaderValue {
	return append(h,
		header(prefix+"RateLimit-Limit", strconv.FormatInt(d.Capacity, 10)),
		header(prefix+"RateLimit-Remaining", strconv.FormatInt(d.Remaining, 10)),
		header(prefix+"RateLimit-Reset", strconv.FormatInt(ratefields.Seconds(finite(d.ResetAfter)), 10)),
	)
}

// finite is w, or nothing where there is no end.
func finite(w time.Duration) time.Duration {
	if w == stint.Never {
		return 0
	}
	return w
}

func appendIETF(h []*core.HeaderValue, d *stint.Decision) []*core.HeaderValue {
	return append(h,
		header("RateLimit-Policy", string(ratefields.AppendPolicies(nil, d))),
		header("RateLimit", string(ratefields.AppendStates(nil, d))),
	)
}

// shadowHeader names the rules in shadow mode that would have refused, for the
// upstream.
func shadowHeader(d *stint.Decision) []*core.HeaderValue {
	var names []string
	for i := range d.Results {
		if r := &d.Results[i]; r.Shadow && !r.OK {
			names = append(names, string(ratefields.AppendString(nil, r.Policy)))
		}
	}
	if names == nil {
		return nil
	}
	return []*core.HeaderValue{header("X-Stint-Shadow", strings.Join(names, ", "))}
}
