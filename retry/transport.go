package retry

import (
	"context"
	"hash/maphash"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The defaults of a Transport.
const (
	DefaultMaxAttempts = 4
	DefaultMaxWait     = 30 * time.Second
	DefaultMaxElapsed  = 2 * time.Minute
	DefaultFirstWait   = 500 * time.Millisecond
	DefaultMaxQuotas   = 1024
)

// Transport is an [http.RoundTripper] that paces and repeats requests. The zero
// Transport is ready for use. It is safe for concurrent use and must not be copied
// or changed after its first use.
type Transport struct {
	// Base sends the requests. nil means [http.DefaultTransport].
	Base http.RoundTripper

	// MaxAttempts is how often one request is sent at most. 0 means
	// DefaultMaxAttempts, 1 never again.
	MaxAttempts int
	// MaxWait is the longest single wait. An answer that asks for a longer one is
	// returned as it is. 0 means DefaultMaxWait.
	MaxWait time.Duration
	// MaxElapsed is how long after its beginning a request is sent again at the
	// latest. 0 means DefaultMaxElapsed.
	MaxElapsed time.Duration
	// FirstWait is the ceiling of the first random wait; each later one is twice as
	// high, up to MaxWait. 0 means DefaultFirstWait.
	FirstWait time.Duration

	// RepeatAny also repeats requests whose method is not idempotent, such as POST,
	// without an Idempotency-Key. It is right where the server does nothing twice.
	RepeatAny bool

	// NoPacing sends at once whatever the rate fields of earlier answers said, and
	// also where another request was told to wait.
	NoPacing bool
	// Quota names the quota that a request draws on; requests with one name are paced
	// together. nil means by scheme, host and credentials (Authorization and
	// X-Api-Key, not cookies). Where a server limits each route, add the route.
	Quota func(*http.Request) string
	// MaxQuotas is how many quotas are remembered. 0 means DefaultMaxQuotas.
	MaxQuotas int

	// Observe, if set, is told of every wait and every answer. It is called by the
	// goroutine that sends, and must not read or close the response's body.
	Observe func(Event)

	quotas quotaStates
	once   sync.Once
	seed   maphash.Seed // set by once
}

// Event is a step of a request: an attempt that has ended, with Response or Err and
// the wait before the next one; or, with neither, a wait before sending.
type Event struct {
	Request *http.Request
	// Attempt is the number of the attempt, from 1.
	Attempt  int
	Response *http.Response
	Err      error
	// Wait is how long the transport waits now; 0 if it does not.
	Wait time.Duration
	// Final says that the attempt's outcome is what the caller gets.
	Final bool
}

// RoundTrip implements [http.RoundTripper]. It never returns both. A cancelled
// request ends at once, also during a wait.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	run := &run{t: t, req: req, ctx: req.Context(), began: time.Now(), repeatable: t.repeatable(req)}
	if !t.NoPacing && req.URL != nil { // Without a URL the base has an error to return.
		run.state = t.quotas.of(t.quota(req), run.began, or(t.MaxQuotas, DefaultMaxQuotas))
	}
	return run.do()
}

// CloseIdleConnections closes those of Base, if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func or[T int | time.Duration](v, zero T) T {
	if v <= 0 {
		return zero
	}
	return v
}

// quota names a request's quota. Credentials are only in it as a hash.
func (t *Transport) quota(req *http.Request) string {
	if t.Quota != nil {
		return t.Quota(req)
	}
	name := req.URL.Scheme + "://" + req.URL.Host
	if req.Host != "" && req.Host != req.URL.Host {
		name += "/" + req.Host
	}
	secret := req.Header.Get("Authorization") + "\x00" + req.Header.Get("X-Api-Key")
	if len(secret) == 1 {
		return name
	}
	t.once.Do(func() { t.seed = maphash.MakeSeed() })
	return name + "#" + strconv.FormatUint(maphash.String(t.seed, secret), 36)
}

// run is one request on its way.
type run struct {
	t          *Transport
	req        *http.Request
	ctx        context.Context
	state      *quotaState // nil without pacing
	number     int64       // of the attempt, in state
	began      time.Time
	attempt    int
	repeatable bool
}

func (r *run) do() (*http.Response, error) {
	req := r.req
	for {
		r.attempt++
		if err := r.pace(); err != nil {
			closeBody(req)
			return nil, err
		}
		res, err := r.t.base().RoundTrip(req)
		wait, again := r.judge(res, err)
		r.observe(Event{Response: res, Err: err, Wait: wait, Final: !again})
		if !again {
			return res, err
		}
		stop := drain(res)
		err = sleep(r.ctx, wait, nil)
		stop()
		if err != nil {
			return nil, err
		}
		if req, err = renew(r.req); err != nil {
			return nil, err
		}
	}
}

// pace waits until the quota lets the request in. It may wait less than MaxWait in
// all, no more: a quota that is further away is the server's to refuse.
func (r *run) pace() error {
	if r.state == nil {
		return context.Cause(r.ctx)
	}
	left := or(r.t.MaxWait, DefaultMaxWait)
	for {
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
		now := time.Now()
		number, wait, news := r.state.enter(now, left)
		if wait == 0 {
			r.number = number
			return nil
		}
		if deadline, ok := r.ctx.Deadline(); ok && deadline.Before(now.Add(wait)) {
			left = 0 // Waiting would end the request; asking may not.
			continue
		}
		r.observe(Event{Wait: wait})
		if err := sleep(r.ctx, wait, news); err != nil {
			return err
		}
		left -= time.Since(now)
	}
}

// judge says whether to send again, and after what wait. It passes on to the quota
// what the answer told.
func (r *run) judge(res *http.Response, err error) (wait time.Duration, again bool) {
	now := time.Now()
	if err != nil {
		if r.state != nil {
			r.state.leave(r.number)
		}
		again = r.ctx.Err() == nil && canReplay(r.req) && (unsent(err) || r.repeatable && passing(err))
		return r.allow(now, r.backoff(), again)
	}
	told, asked := After(res.Header, now)
	quota, known := ParseQuota(res.Header, now)
	refused := isRefusal(res, quota, known)
	if r.state != nil {
		a := answer{number: r.number, quota: quota, told: known}
		if refused && asked {
			a.wall = told
		}
		r.state.learn(now, a)
	}
	if !refused && res.StatusCode != http.StatusBadGateway && res.StatusCode != http.StatusGatewayTimeout {
		return 0, false
	}
	wait = r.backoff()
	if !asked && refused && known && quota.Remaining == 0 {
		told, asked = quota.Reset, true
	}
	if asked {
		most := or(r.t.MaxWait, DefaultMaxWait)
		wait = told + min(wait, max(0, most-told))
	}
	return r.allow(now, wait, r.repeatable && canReplay(r.req))
}

// allow is what the caps say to another attempt after wait.
func (r *run) allow(now time.Time, wait time.Duration, again bool) (time.Duration, bool) {
	deadline, ok := r.ctx.Deadline()
	switch end := now.Add(wait); {
	case !again,
		r.attempt >= or(r.t.MaxAttempts, DefaultMaxAttempts),
		wait > or(r.t.MaxWait, DefaultMaxWait),
		end.Sub(r.began) > or(r.t.MaxElapsed, DefaultMaxElapsed),
		ok && deadline.Before(end):
		return 0, false
	}
	return wait, true
}

// backoff is a random wait below a ceiling that doubles with each attempt.
func (r *run) backoff() time.Duration {
	ceiling, most := or(r.t.FirstWait, DefaultFirstWait), or(r.t.MaxWait, DefaultMaxWait)
	for n := 1; n < r.attempt && ceiling < most; n++ {
		ceiling += min(ceiling, most-ceiling)
	}
	return rand.N(min(ceiling, most, math.MaxInt64-1) + 1)
}

func (r *run) observe(e Event) {
	if r.t.Observe != nil {
		e.Request, e.Attempt = r.req, r.attempt
		r.t.Observe(e)
	}
}

// sleep waits for d, or for news, or until ctx ends, which is an error.
func sleep(ctx context.Context, d time.Duration, news <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-news:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// drain reads what is left of a small body, so that its connection can be used
// again, while the caller waits. The function it returns ends that.
func drain(res *http.Response) (stop func()) {
	if res == nil || res.Body == nil {
		return func() {}
	}
	const most = 64 << 10
	go func() {
		// An error only means that the connection is not used again.
		_, _ = io.CopyN(io.Discard, res.Body, most)
	}()
	return func() { _ = res.Body.Close() }
}
