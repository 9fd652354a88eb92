package client

import (
	"context"
	"net/http"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/breaker"
	"github.com/stint-dev/stint/internal/wire"
)

// Client asks a server. Make one with New. It is safe for concurrent use.
type Client struct {
	carrier  Carrier
	fields   []stint.Field
	deadline time.Duration
	failure  stint.FailureMode
	local    stint.Decider
	onError  func(error)
	own      *http.Transport // nil if the connections are not the client's
	slots    chan struct{}
	start    time.Time
	breaker  breaker.Parts
}

var _ stint.Decider = (*Client)(nil)

// Close closes the connections that are idle. Checks under way are answered.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Decide implements [stint.Decider]. While the server does not answer it does what
// Options.Failure says, and the decision is Degraded: that is no error. An error is
// that of ctx, or of Options.Local.
func (c *Client) Decide(ctx context.Context, src stint.Source, d *stint.Decision) error {
	body := c.describe(src)
	if len(body) > wire.MaxBytes {
		d.Clear()
		d.Refuse(stint.ReasonTooLarge, stint.Result{Verdict: stint.Verdict{RetryAfter: stint.Never}})
		return nil
	}
	err := c.ask(ctx, Question{Method: Check, Text: body}, d)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		unavailable(d)
		return ctx.Err()
	}
	c.tell(err)
	switch c.failure {
	case stint.FailAllow:
		allow(d)
	case stint.FailDeny:
		unavailable(d)
	default:
		err := c.local.Decide(ctx, src, d)
		d.Degraded = true
		return err
	}
	return nil
}

// describe writes the question about a request.
func (c *Client) describe(src stint.Source) []byte {
	r := wire.Request{IP: src.Addr(), Cost: 1}
	r.Method, _ = src.Value(stint.Field{Kind: stint.FieldMethod})
	r.Path, _ = src.Value(stint.Field{Kind: stint.FieldPath})
	r.Host, _ = src.Value(stint.Field{Kind: stint.FieldHost})
	if r.Path = escaped(r.Path); r.Path == "" {
		r.Path = "/" // What rules read an empty path as.
	}
	if len(c.fields) > 0 {
		r.Values = make([]wire.Value, 0, len(c.fields))
	}
	for _, f := range c.fields {
		if text, ok := src.Value(f); ok {
			r.Values = append(r.Values, wire.Value{Field: f, Text: text})
		}
	}
	const usual = 512
	return wire.AppendRequest(make([]byte, 0, usual), &r)
}

// tell passes an error on.
func (c *Client) tell(err error) {
	if c.onError != nil {
		c.onError(err)
	}
}

// allow makes d the decision of a client that lets everything through.
func allow(d *stint.Decision) {
	d.Clear()
	d.Allowed, d.Degraded = true, true
}

// retryUnavailable is the wait to suggest while the server does not answer.
const retryUnavailable = time.Second

// unavailable makes d the refusal of a client that can not tell.
func unavailable(d *stint.Decision) {
	d.Clear()
	d.Refuse(stint.ReasonUnavailable, stint.Result{Verdict: stint.Verdict{RetryAfter: retryUnavailable}})
	d.Degraded = true
}
