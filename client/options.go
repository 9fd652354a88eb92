package client

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/breaker"
	"github.com/stint-dev/stint/internal/wire"
)

// What a Client does that is told nothing else.
const (
	DefaultDeadline    = 50 * time.Millisecond
	DefaultMaxInFlight = 256
	DefaultFailures    = 5
	DefaultProbe       = time.Second
)

// Options configure a Client. URL or Carrier must be set, and Failure or Local.
type Options struct {
	// URL is where the server is, such as http://127.0.0.1:8081.
	URL string
	// Carrier brings questions to a server in another way than over HTTP; see
	// package overgrpc.
	Carrier Carrier
	// Fields are the headers, query parameters, cookies and fields of a JSON body
	// that the server's rules read. Method, path, host and address are always sent.
	// A rule on a field that is not here sees requests without it.
	Fields []stint.Field

	// Deadline is the longest that a check may take. 0 means [DefaultDeadline].
	Deadline time.Duration
	// Failure says what a check means that has no answer in time. The empty mode is
	// [stint.FailLocal], which needs Local.
	Failure stint.FailureMode
	// Local decides while the server does not, under FailLocal: an embedded limiter
	// with this process's share of the limits.
	Local stint.Decider
	// Failures in a row after which the server is left alone. 0 means
	// [DefaultFailures].
	Failures int
	// Probe is how long it is left alone before a single check tries it again. 0 means
	// [DefaultProbe].
	Probe time.Duration
	// OnError, if set, is told of each check that had no answer, also while the server
	// is left alone. A caller that gives up is none.
	OnError func(err error)

	// MaxInFlight bounds the checks under way, and so the connections. One more
	// waits, and its wait is part of its deadline. 0 means [DefaultMaxInFlight].
	MaxInFlight int
	// Transport sends the checks. Nil means one of the client's own, which keeps
	// connections open.
	Transport http.RoundTripper
}

// New returns a Client, or all that is wrong with o. It does not connect yet.
func New(o Options) (*Client, error) {
	if err := errors.Join(o.checkCarrier(), checkFields(o.Fields), o.checkFailure(), o.checkBounds()); err != nil {
		return nil, err
	}
	c := &Client{
		carrier: o.Carrier,
		fields:  canonical(o.Fields), deadline: o.Deadline, failure: o.Failure, local: o.Local, onError: o.OnError,
	}
	if c.deadline == 0 {
		c.deadline = DefaultDeadline
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	c.slots = make(chan struct{}, o.MaxInFlight)
	c.start = time.Now()
	c.breaker.Most = uint64(cmp.Or(o.Failures, DefaultFailures))
	c.breaker.Pause = cmp.Or(o.Probe, DefaultProbe)
	c.breaker.Lease = c.breaker.Pause + c.deadline
	if c.carrier == nil {
		if o.Transport == nil {
			c.own = newTransport(o.MaxInFlight)
			o.Transport = c.own
		}
		c.carrier = &overHTTP{base: strings.TrimSuffix(o.URL, "/") + "/v1/", transport: o.Transport}
	}
	return c, nil
}

// newTransport returns a transport that keeps n connections.
func newTransport(n int) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConns:           n,
		MaxIdleConnsPerHost:    n,
		MaxConnsPerHost:        n,
		IdleConnTimeout:        time.Minute,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
}

func (o *Options) checkCarrier() error {
	switch {
	case o.Carrier == nil:
		return checkURL(o.URL)
	case o.URL != "" || o.Transport != nil:
		return errors.New("a carrier goes with no URL and no transport: it knows the server")
	}
	return nil
}

func checkURL(s string) error {
	const hint = "write one such as http://127.0.0.1:8081"
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New("no URL of a server: " + hint)
	case err != nil:
		return errors.New("the URL of the server is none: " + hint) // It may hold a password.
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("server %q is no http or https URL: %s", u.Redacted(), hint)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fmt.Errorf("server %q has more than a host and a path: %s", u.Redacted(), hint)
	}
	return nil
}

func checkFields(fields []stint.Field) error {
	var errs []error
	if len(fields) > wire.MaxValues {
		errs = append(errs, fmt.Errorf("%d fields: at most %d", len(fields), wire.MaxValues))
	}
	for _, f := range fields {
		switch f.Kind {
		case stint.FieldHeader, stint.FieldQuery, stint.FieldCookie, stint.FieldJSON, stint.FieldDescriptor:
			if f.Name == "" {
				errs = append(errs, errors.New("a field without a name"))
			}
		default:
			errs = append(errs, fmt.Errorf("field of kind %d: name headers, query parameters, cookies and JSON fields only, the rest is always sent", f.Kind))
		}
	}
	return errors.Join(errs...)
}

// canonical copies fields, with the names of headers in canonical form and each
// field once.
func canonical(fields []stint.Field) []stint.Field {
	var all []stint.Field
	for _, f := range fields {
		if f.Kind == stint.FieldHeader {
			f.Name = textproto.CanonicalMIMEHeaderKey(f.Name)
		}
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

func (o *Options) checkFailure() error {
	switch o.Failure {
	case "", stint.FailLocal:
		if o.Local == nil {
			return errors.New("no local decider for when the server does not answer: set Options.Local, or Failure to allow or deny")
		}
	case stint.FailAllow, stint.FailDeny:
		if o.Local != nil {
			return fmt.Errorf("failure %q and a local decider: choose one", o.Failure)
		}
	default:
		return fmt.Errorf("failure %q: write local, allow or deny", o.Failure)
	}
	return nil
}

// longest bounds the times of Options.
const longest = 24 * time.Hour

func (o *Options) checkBounds() error {
	var errs []error
	if o.Deadline < 0 {
		errs = append(errs, fmt.Errorf("deadline %s is negative: leave it out for %s", o.Deadline, DefaultDeadline))
	}
	if o.Failures < 0 || o.Failures > breaker.MostFailures {
		errs = append(errs, fmt.Errorf("%d failures in a row: from 1 to %d, or leave it out for %d", o.Failures, breaker.MostFailures, DefaultFailures))
	}
	if o.Probe < 0 || o.Probe > longest || o.Deadline > longest {
		errs = append(errs, fmt.Errorf("probe %s and deadline %s: from 0 to %s", o.Probe, o.Deadline, longest))
	}
	if o.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("max in flight %d is negative: leave it out for %d", o.MaxInFlight, DefaultMaxInFlight))
	}
	return errors.Join(errs...)
}
