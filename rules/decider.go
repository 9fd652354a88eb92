package rules

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// Decider answers requests by a set of rules and a limiter. It is safe for
// concurrent use, also while the set is replaced.
type Decider struct {
	limiter *stint.Limiter
	set     atomic.Pointer[Set]
}

var _ stint.Decider = (*Decider)(nil)

// NewDecider returns a decider that counts with limiter. A nil set has no rules.
func NewDecider(limiter *stint.Limiter, set *Set) *Decider {
	d := &Decider{limiter: limiter}
	d.Swap(set)
	return d
}

// Set returns the rules in force.
func (d *Decider) Set() *Set { return d.set.Load() }

// Swap puts other rules in force for all decisions that begin later. Counters go
// on under the names of their policies. A nil set has no rules.
func (d *Decider) Swap(set *Set) {
	if set == nil {
		set = newCompiler(Spec{}).set
	}
	d.set.Store(set)
}

// retryUnavailable is the wait to suggest while the store does not answer.
const retryUnavailable = time.Second

// Decide implements [stint.Decider]. Keys in the decision are valid until it is
// used again. After an error, which is the store's, the decision is a refusal
// with [stint.ReasonUnavailable] in the name of the first rule that counts.
func (d *Decider) Decide(ctx context.Context, src stint.Source, into *stint.Decision) error {
	return d.DecideN(ctx, src, 1, into)
}

// DecideN is Decide for a request that weighs as much as n others: each rule charges
// n times its cost. 0 looks and charges nothing. n must not be negative.
func (d *Decider) DecideN(ctx context.Context, src stint.Source, n int64, into *stint.Decision) error {
	if n < 0 {
		into.Clear()
		return fmt.Errorf("a request that weighs %d: at least 0", n)
	}
	e := d.set.Load().Evaluate(src)
	e.weigh(n)
	stint.BoundDelays(src, e.Charges())
	err := d.decide(ctx, e, into)
	e.Release()
	return err
}

// weigh makes all charges n times what they are. Beyond what a bucket can hold, costs
// are alike.
func (e *Evaluation) weigh(n int64) {
	if n == 1 {
		return
	}
	for i := range e.charges[:e.n] {
		c := &e.charges[i]
		if c.Cost > 0 && n > stint.MaxUnits/c.Cost {
			c.Cost = stint.MaxUnits + 1
		} else {
			c.Cost *= n
		}
	}
}

func (d *Decider) decide(ctx context.Context, e *Evaluation, into *stint.Decision) error {
	if reason, by, refused := e.Refused(); refused {
		into.Clear()
		d.refuse(into, reason, by)
		return nil
	}
	err := d.limiter.Decide(ctx, e.Charges(), into)
	if err != nil {
		d.refuse(into, stint.ReasonUnavailable, e.firstCounting())
		return err
	}
	into.OwnKeys()
	return nil
}

// refuse answers without the store. The limiter's observer sees it as any other
// decision.
func (d *Decider) refuse(into *stint.Decision, reason stint.Reason, by stint.Result) {
	into.Refuse(reason, by)
	if d.limiter.Clock != nil {
		into.At = stint.MicrosOf(d.limiter.Clock())
	}
	if d.limiter.Observe != nil {
		d.limiter.Observe(into)
	}
}

// firstCounting names the first policy that would have had a say.
func (e *Evaluation) firstCounting() stint.Result {
	r := stint.Result{Verdict: stint.Verdict{RetryAfter: retryUnavailable}}
	for i := range e.Charges() {
		if c := &e.charges[i]; !c.Shadow && c.Policy.Algorithm != nil {
			r.Policy, r.Limit, r.Capacity, r.Cost = c.Policy.Name, c.Policy.Limit, c.Policy.Capacity(), c.Cost
			break
		}
	}
	return r
}
