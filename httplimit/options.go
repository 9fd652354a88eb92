package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/clientip"
)

// DefaultMaxBody is the number of bytes of a body that are looked at for a JSON
// field if Options say nothing else.
const DefaultMaxBody = 64 << 10

// mostBody bounds Options.MaxBody: that much is held for each request while its
// body is read.
const mostBody = 16 << 20

// Options configure a middleware. Only Decider must be set.
type Options struct {
	// Decider answers for each request.
	Decider stint.Decider

	// Headers are the rate headers to send, such as XRateLimit|IETF. 0 means
	// [DefaultHeaders]; [NoHeaders] switches them off.
	Headers Headers
	// EpochReset makes X-RateLimit-Reset of [XRateLimit] a Unix time in seconds.
	// By default it is the number of seconds from now.
	EpochReset bool
	// KeepFromScripts leaves Access-Control-Expose-Headers alone. By default an
	// answer to a request that has an Origin lists the headers of this package
	// there, besides what is listed already: without that a browser shows scripts
	// none of them, not even Retry-After. It grants no access by itself.
	KeepFromScripts bool

	// DenyStatus is the status of a refusal for a limit, 400 to 599. 0 means 429.
	// Requests without a needed key get 403, those with an oversized part 431, and
	// gRPC requests the gRPC status that goes with the reason in an HTTP 200.
	DenyStatus int
	// Deny, if set, writes status and body of every refusal, also those of gRPC
	// requests. The rate headers, Retry-After and Cache-Control are set before; the
	// decision is in the request's context, see [FromContext].
	Deny http.Handler

	// FailOpen lets requests through while the Decider fails. By default they are
	// refused with DenyStatus and a body which says that the limiter, not the
	// client, is the cause. Either way the decision is Degraded.
	FailOpen bool
	// OnError, if set, is told of each failure of the Decider. Clients that hang
	// up are none.
	OnError func(r *http.Request, err error)

	// TrustedProxies are the networks whose word about the client's address is
	// believed. None means that the connection's peer is the client.
	TrustedProxies []netip.Prefix
	// TrustUnix believes peers on Unix sockets.
	TrustUnix bool
	// ClientHeader is the one header in which trusted proxies name the client.
	// Empty means X-Forwarded-For. "Forwarded" is read as in RFC 7239.
	ClientHeader string

	// MaxBody is the most bytes of a body that are read for a JSON field; a larger
	// body has no fields. 0 means [DefaultMaxBody]. At most 16 MiB. The body is
	// passed on whole in any case.
	MaxBody int
}

// middleware is Options, checked.
type middleware struct {
	decider   stint.Decider
	identity  any // compared to recognise the Decider in an outer middleware
	headers   Headers
	epoch     bool
	expose    string // for allowed answers; empty to leave the header alone
	exposeAll string // for refusals
	status    int
	deny      http.Handler
	failOpen  bool
	onError   func(*http.Request, error)
	clients   *clientip.Resolver
	maxBody   int
	scratch   pool
}

// New returns a middleware, or all that is wrong with o.
func New(o Options) (func(http.Handler) http.Handler, error) {
	clients, clientErr := clientip.New(clientip.Options{
		TrustedProxies: o.TrustedProxies, TrustUnix: o.TrustUnix, Header: o.ClientHeader,
	})
	headers, headersErr := o.Headers.resolve()
	err := errors.Join(checkDecider(o.Decider), headersErr, checkStatus(o.DenyStatus), checkBody(o.MaxBody), clientErr)
	if err != nil {
		return nil, err
	}
	m := &middleware{
		decider: o.Decider, headers: headers, epoch: o.EpochReset, status: o.DenyStatus, deny: o.Deny,
		failOpen: o.FailOpen, onError: o.OnError, clients: clients, maxBody: o.MaxBody,
	}
	if m.identity = any(o.Decider); !isComparable(o.Decider) {
		m.identity = m
	}
	if m.status == 0 {
		m.status = http.StatusTooManyRequests
	}
	if m.maxBody == 0 {
		m.maxBody = DefaultMaxBody
	}
	if !o.KeepFromScripts {
		m.expose, m.exposeAll = headers.exposed()
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}, nil
}

func checkDecider(d stint.Decider) error {
	switch d := d.(type) {
	case nil:
		return errors.New("no decider: set Options.Decider, for example to a *httplimit.Single or to rules")
	case *Single:
		return d.check()
	}
	return nil
}

func checkStatus(status int) error {
	if status != 0 && (status < 400 || status > 599) {
		return fmt.Errorf("deny status %d: write one from 400 to 599, or leave it out for 429", status)
	}
	return nil
}

func checkBody(n int) error {
	if n < 0 || n > mostBody {
		return fmt.Errorf("max body %d: write 1 to %d bytes, or leave it out for %d", n, mostBody, DefaultMaxBody)
	}
	return nil
}
