package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"sync"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/clientip"
)

// Headers is a set of rate fields to send as metadata.
type Headers uint8

const (
	// XRateLimit is x-ratelimit-limit, -remaining and -reset of the policy that
	// decided: the most that can remain, what remains after this call, and the
	// seconds, rounded up, until nothing is used any more or the window ends.
	XRateLimit Headers = 1 << iota
	// IETF is ratelimit-policy and ratelimit, with all enforced policies, as
	// revisions 08 to 11 of draft-ietf-httpapi-ratelimit-headers write them.
	IETF
	// NoHeaders switches rate fields off. Refusals still have retry-after.
	NoHeaders
)

// DefaultHeaders are sent where nothing else is asked for.
const DefaultHeaders = XRateLimit | IETF

// DefaultDomain is the domain of an ErrorInfo if Options say nothing else.
const DefaultDomain = "stint"

// Options configure a Limit. Only Decider must be set.
type Options struct {
	// Decider answers for each call.
	Decider stint.Decider

	// Headers are the rate fields to send. 0 means [DefaultHeaders].
	Headers Headers
	// Domain is the domain of the ErrorInfo of a refusal, by convention the name of
	// the service that the client called. Empty means [DefaultDomain].
	Domain string

	// EachMessage asks the Decider also for each message that a client sends on a
	// stream, besides the opening of the stream. A refused message ends in an error
	// of RecvMsg, which the handler is to return. A call with a single message of
	// the client is one call either way.
	EachMessage bool

	// FailOpen lets calls through while the Decider fails. By default they are
	// refused with UNAVAILABLE. Either way the decision is Degraded.
	FailOpen bool
	// OnError, if set, is told of each failure of the Decider, with the call's
	// context and full method. Calls that the client cancels are none.
	OnError func(ctx context.Context, method string, err error)

	// TrustedProxies are the networks whose word about the client's address is
	// believed. None means that the connection's peer is the client.
	TrustedProxies []netip.Prefix
	// TrustUnix believes peers on Unix sockets.
	TrustUnix bool
	// ClientHeader is the one metadata key in which trusted proxies name the client.
	// Empty means x-forwarded-for. "forwarded" is read as in RFC 7239.
	ClientHeader string
}

// Limit has the interceptors. Make one with [New]; it is safe for concurrent use.
type Limit struct {
	decider     stint.Decider
	identity    any // compared to recognise the Decider in an outer interceptor
	headers     Headers
	domain      string
	eachMessage bool
	failOpen    bool
	onError     func(context.Context, string, error)
	clients     *clientip.Resolver
	scratch     sync.Pool
}

// New returns interceptors for o, or all that is wrong with o.
func New(o Options) (*Limit, error) {
	clients, clientErr := clientip.New(clientip.Options{
		TrustedProxies: o.TrustedProxies, TrustUnix: o.TrustUnix, Header: o.ClientHeader,
	})
	headers, headersErr := o.Headers.resolve()
	var deciderErr error
	if o.Decider == nil {
		deciderErr = errors.New("no decider: set Options.Decider, for example to a *httplimit.Single or to rules")
	}
	if err := errors.Join(deciderErr, headersErr, clientErr); err != nil {
		return nil, err
	}
	l := &Limit{
		decider: o.Decider, identity: o.Decider, headers: headers, domain: o.Domain,
		eachMessage: o.EachMessage, failOpen: o.FailOpen, onError: o.OnError, clients: clients,
	}
	if !reflect.ValueOf(o.Decider).Comparable() {
		l.identity = l
	}
	if l.domain == "" {
		l.domain = DefaultDomain
	}
	return l, nil
}

// resolve puts the default in and refuses what is no set of fields.
func (h Headers) resolve() (Headers, error) {
	switch {
	case h == 0:
		return DefaultHeaders, nil
	case h >= NoHeaders<<1:
		return 0, fmt.Errorf("headers %#x: not a set of fields of this package", uint8(h))
	case h&NoHeaders != 0 && h != NoHeaders:
		return 0, errors.New("headers: NoHeaders goes with no other")
	}
	return h, nil
}
