package httplimit

import (
	"errors"
	"fmt"
	"strings"
)

// Headers is a set of header profiles.
type Headers uint8

const (
	// XRateLimit is X-RateLimit-Limit, -Remaining and -Reset of the policy that
	// decided: the most that can remain, what remains after this request, and the
	// seconds, rounded up, until nothing is used any more or the window ends.
	XRateLimit Headers = 1 << iota
	// IETF is RateLimit-Policy and RateLimit, with all enforced policies, as
	// revisions 08 to 11 of draft-ietf-httpapi-ratelimit-headers write them. The
	// draft is no standard and may change. q is the most that can remain and w the
	// seconds, rounded up, in which that much comes back; r is what remains and t
	// the seconds until r grows, left out where nothing is used.
	IETF
	// GitHub is x-ratelimit-limit, -remaining, -used, -reset and -resource as
	// GitHub's API sends them: of the policy that decided, with the reset as a Unix
	// time in seconds and the policy's name as the resource.
	GitHub
	// NoHeaders switches rate headers off. Refusals still have Retry-After.
	NoHeaders
)

// DefaultHeaders are sent where nothing else is asked for.
const DefaultHeaders = XRateLimit | IETF

// The names of the fields, in net/http's spelling.
const (
	fieldLimit     = "X-Ratelimit-Limit"
	fieldRemaining = "X-Ratelimit-Remaining"
	fieldReset     = "X-Ratelimit-Reset"
	fieldUsed      = "X-Ratelimit-Used"
	fieldResource  = "X-Ratelimit-Resource"
	fieldPolicy    = "Ratelimit-Policy"
	fieldRateLimit = "Ratelimit"
	fieldRetry     = "Retry-After"
	fieldExpose    = "Access-Control-Expose-Headers"
)

// ParseHeaders reads names of profiles: x-ratelimit, ietf, github, none. No name
// at all is [DefaultHeaders].
func ParseHeaders(names []string) (Headers, error) {
	var h Headers
	for _, name := range names {
		switch name {
		case "x-ratelimit":
			h |= XRateLimit
		case "ietf":
			h |= IETF
		case "github":
			h |= GitHub
		case "none":
			h |= NoHeaders
		default:
			return 0, fmt.Errorf("headers %q: write x-ratelimit, ietf, github or none", name)
		}
	}
	return h.resolve()
}

// resolve puts the default in and refuses what can not be sent together.
func (h Headers) resolve() (Headers, error) {
	switch {
	case h == 0:
		return DefaultHeaders, nil
	case h >= NoHeaders<<1:
		return 0, fmt.Errorf("headers %#x: not a set of profiles of this package", uint8(h))
	case h&NoHeaders != 0 && h != NoHeaders:
		return 0, errors.New("headers: none goes with no other profile")
	case h&XRateLimit != 0 && h&GitHub != 0:
		return 0, errors.New("headers: x-ratelimit and github both write X-RateLimit-Reset, " +
			"one as seconds from now and one as a Unix time: choose one")
	}
	return h, nil
}

// Names returns the names of the fields that the profiles write, in net/http's
// spelling. A proxy removes these from an upstream's answer, so that each is
// there once. 0 stands for [DefaultHeaders].
func (h Headers) Names() []string {
	if h == 0 {
		h = DefaultHeaders
	}
	var names []string
	if h&(XRateLimit|GitHub) != 0 {
		names = append(names, fieldLimit, fieldRemaining, fieldReset)
	}
	if h&GitHub != 0 {
		names = append(names, fieldUsed, fieldResource)
	}
	if h&IETF != 0 {
		names = append(names, fieldPolicy, fieldRateLimit)
	}
	return names
}

// exposed returns what Access-Control-Expose-Headers says on allowed answers, and
// on refusals.
func (h Headers) exposed() (allowed, refused string) {
	names := h.Names()
	return strings.Join(names, ", "), strings.Join(append(names, fieldRetry), ", ")
}
