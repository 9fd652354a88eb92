package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/wire"
)

// Charge asks one bucket of a rule for some units.
type Charge struct {
	// Rule is the id of the rule.
	Rule string
	// Key has a value for each part of the rule's key, in its order; none for a
	// rule with one bucket for all.
	Key []string
	// Cost in units. 0 looks and changes nothing.
	Cost int64
}

// Check asks about limits by the names of their rules: all charges are settled, or
// none. The buckets are those of requests with the same values.
//
// While the server does not answer, the decision is what Options.Failure says, but
// that FailLocal refuses, since a local decider knows no charges. An error is that
// of ctx, or an *[Error] of a server that does not understand the question, such as
// one that has no such rule; the decision is a refusal then.
func (c *Client) Check(ctx context.Context, charges ...Charge) (stint.Decision, error) {
	if len(charges) == 0 {
		return refusal(), errNoCharge
	}
	for i := range charges {
		if charges[i].Cost < 0 {
			return refusal(), fmt.Errorf("cost %d of rule %q is negative: use Refund to give units back", charges[i].Cost, charges[i].Rule)
		}
	}
	d, err := c.settle(ctx, Check, charges)
	if err == nil || isQuestion(err) || ctx.Err() != nil {
		return d, err
	}
	c.tell(err)
	if c.failure == stint.FailAllow {
		allow(&d)
	}
	return d, nil
}

// Refund gives the cost of each charge back, at most up to a full bucket. Costs
// must be at least 1. It is sent once: what a server did not get, or did not answer
// to, is lost, which is the safe side, and is an error.
func (c *Client) Refund(ctx context.Context, charges ...Charge) (stint.Decision, error) {
	if len(charges) == 0 {
		return refusal(), errNoCharge
	}
	for i := range charges {
		if charges[i].Cost < 1 {
			return refusal(), fmt.Errorf("a refund of %d units to rule %q: at least 1", charges[i].Cost, charges[i].Rule)
		}
	}
	return c.settle(ctx, Refund, charges)
}

// settle asks about charges. After an error the decision is a refusal.
func (c *Client) settle(ctx context.Context, m Method, charges []Charge) (d stint.Decision, err error) {
	all := make([]wire.Charge, len(charges))
	for i, charge := range charges {
		all[i] = wire.Charge(charge)
	}
	if err = c.ask(ctx, Question{Method: m, Text: wire.AppendCharges(nil, all)}, &d); err == nil {
		return d, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return refusal(), err
}

// errNoCharge is the error of a check about nothing.
var errNoCharge = errors.New("no charge: give at least one")

func refusal() (d stint.Decision) {
	unavailable(&d)
	return d
}

// isQuestion says whether an error is about what was asked.
func isQuestion(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusBadRequest
}
