package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stint-dev/stint/httplimit"
)

// The bounds that hold where Options and Server say nothing else.
const (
	DefaultAnswerTimeout = 2 * time.Minute
	DefaultStallTimeout  = time.Minute
)

// Options configure a gateway. Upstream and the Decider of Limit must be set.
type Options struct {
	// Upstream is where requests go: http://host:port or https://host:port, with
	// an optional path to put in front of each request's; h2c://host:port for an
	// upstream that speaks HTTP/2 without TLS, as gRPC servers do; or "demo" for
	// [Demo] in this process.
	Upstream string
	// Limit is the limiter in front of everything. Its TrustedProxies are also
	// those whose forwarding headers are passed on.
	Limit httplimit.Options

	// UpstreamHost sends the upstream its own host instead of the one that the
	// client asked for.
	UpstreamHost bool
	// MaxBody is the most bytes of a request body; a request with more gets 413.
	// 0 means no bound: bodies pass through and are not held.
	MaxBody int64
	// AnswerTimeout is the longest the upstream may take to accept the next part of
	// a request, and then to begin its answer; after it the client gets 504. 0 means
	// [DefaultAnswerTimeout], below 0 no bound. How long an answer takes once it has
	// begun is not bounded.
	AnswerTimeout time.Duration
	// StallTimeout is the longest to wait for the next part of a request's body;
	// after it the client gets 408. 0 means [DefaultStallTimeout], below 0 no
	// bound.
	StallTimeout time.Duration
	// Transport, if set, carries requests to the upstream. By default the gateway
	// has one of its own.
	Transport http.RoundTripper

	// Logger is told when the upstream fails and when it works again, once for each
	// change. Nil discards.
	Logger *slog.Logger
	// OnFailure, if set, is told of each request that the upstream failed. It must
	// be fast and safe for concurrent use.
	OnFailure func(Failure)
}

// resolve puts defaults in.
func (o Options) resolve() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnFailure == nil {
		o.OnFailure = func(Failure) {}
	}
	o.AnswerTimeout = orDefault(o.AnswerTimeout, DefaultAnswerTimeout)
	o.StallTimeout = orDefault(o.StallTimeout, DefaultStallTimeout)
	return o
}

// orDefault returns def for 0, and 0, which is no bound, for what is below.
func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return max(d, 0)
}

// upstreamDemo is the name of the built-in upstream.
const upstreamDemo = "demo"

// parseUpstream returns nil for the built-in upstream.
func parseUpstream(s string) (*url.URL, error) {
	const hint = `write it like "http://127.0.0.1:3000", or "demo" for the built-in echo service`
	if s == upstreamDemo {
		return nil, nil
	}
	if s == "" {
		return nil, errors.New("upstream: not set: " + hint)
	}
	u, err := url.Parse(s)
	if err != nil || !knownScheme(u.Scheme) || u.Hostname() == "" {
		// The parser's message repeats the text, which may hold a password.
		return nil, errors.New("upstream: not an address: " + hint)
	}
	switch {
	case u.User != nil:
		return nil, errors.New("upstream: a user in an address is not sent on: leave it out")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("upstream %q: an upstream has no query and no fragment: leave them out", s)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

func knownScheme(s string) bool { return s == "http" || s == "https" || s == schemeH2C }
