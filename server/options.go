package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/internal/clientip"
)

// DefaultBodyTimeout is the longest a body may take if Options say nothing else.
const DefaultBodyTimeout = 10 * time.Second

// Charger finds the charges of a rule by its name. Rules are one.
type Charger interface {
	// AppendCharge appends the charges of the rule for the bucket that a request
	// with these values of its key has. A cost of 0 looks, one below 0 gives back.
	// An error says what is wrong with the question.
	AppendCharge(charges []stint.Charge, rule string, key []string, cost int64) ([]stint.Charge, error)
}

// Options configure a Server. Limit.Decider must be set.
type Options struct {
	// Limit holds the Decider, whom forward auth trusts, its header profiles and
	// what it answers on a refusal, as for the middleware. FailOpen is about checks
	// too.
	Limit httplimit.Options
	// Charger finds the charges of rules by name. Nil refuses such checks, and
	// refunds.
	Charger Charger
	// Limiter settles the charges that Charger finds. It is the one behind the
	// Decider. Needed if there is a Charger.
	Limiter *stint.Limiter
	// DecideN decides about a described request whose cost is not 1: each rule
	// charges n times its own cost, and looks where n is 0. Nil refuses such checks.
	DecideN func(ctx context.Context, src stint.Source, n int64, d *stint.Decision) error
	// OnError, if set, is told of each check about which nobody could tell. Callers
	// that hang up are none.
	OnError func(err error)
	// Mount are more handlers, by their paths, such as /json. They bound the size of
	// a body; its time has the bound of all.
	Mount map[string]http.Handler
	// BodyTimeout is the longest that the body of a question may take. 0 means
	// [DefaultBodyTimeout].
	BodyTimeout time.Duration
}

// New returns a Server, or all that is wrong with o.
func New(o Options) (*Server, error) {
	limit, limitErr := httplimit.New(o.Limit)
	clients, _ := clientip.New(clientip.Options{ // Its error is among those of httplimit.
		TrustedProxies: o.Limit.TrustedProxies, TrustUnix: o.Limit.TrustUnix, Header: o.Limit.ClientHeader,
	})
	if err := errors.Join(limitErr, o.check()); err != nil {
		return nil, err
	}
	s := &Server{
		decider: o.Limit.Decider, decideN: o.DecideN, charger: o.Charger, limiter: o.Limiter,
		failOpen: o.Limit.FailOpen, onError: o.OnError, bodyTimeout: o.BodyTimeout, clients: clients,
	}
	if s.bodyTimeout == 0 {
		s.bodyTimeout = DefaultBodyTimeout
	}
	s.auth = limit(http.HandlerFunc(passed))
	s.routes = map[string]route{
		"/v1/check":        {methods: []string{http.MethodPost}, serve: s.check},
		"/v1/refund":       {methods: []string{http.MethodPost}, serve: s.refund},
		"/v1/auth":         {serve: s.forwardAuth},
		"/v1/openapi.json": {methods: []string{http.MethodGet, http.MethodHead}, serve: serveOpenAPI},
	}
	for path, h := range o.Mount {
		s.routes[path] = route{serve: h.ServeHTTP}
	}
	return s, nil
}

// check says what is wrong with o, but for Limit.
func (o *Options) check() error {
	var errs []error
	if o.Charger != nil && o.Limiter == nil {
		errs = append(errs, errors.New("a charger without a limiter: set Options.Limiter to the one behind the decider"))
	}
	if o.BodyTimeout < 0 {
		errs = append(errs, fmt.Errorf("body timeout %s is negative: leave it out for %s", o.BodyTimeout, DefaultBodyTimeout))
	}
	for path, h := range o.Mount {
		switch {
		case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/v1/"):
			errs = append(errs, fmt.Errorf("mount %q: write a path that begins with a slash and is not below /v1/", path))
		case h == nil:
			errs = append(errs, fmt.Errorf("mount %q: its handler is nil", path))
		}
	}
	return errors.Join(errs...)
}
