package stint

import (
	"errors"
	"slices"
	"time"
)

// Reason says in one word why a request was refused.
type Reason string

// The reasons of a refusal. An allowed decision has none.
const (
	// ReasonLimit: over the limit; waiting helps.
	ReasonLimit Reason = "limit"
	// ReasonNever: the cost is above the capacity; no wait helps.
	ReasonNever Reason = "never"
	// ReasonBlocked: the limit is 0.
	ReasonBlocked Reason = "blocked"
	// ReasonMissingKey: the rule refuses requests that do not say who they are.
	ReasonMissingKey Reason = "missing key"
	// ReasonTooLarge: a part of the request is larger than rules will look at.
	ReasonTooLarge Reason = "too large"
	// ReasonUnavailable: the store could not tell, and the rule refuses then.
	ReasonUnavailable Reason = "unavailable"
)

// Result is what one policy said to a request.
type Result struct {
	// Policy is the name of the policy: the id of its rule.
	Policy string
	// Limit is the policy's limit.
	Limit Limit
	// Capacity is the most that Remaining can be.
	Capacity int64
	// Key is the bucket asked. It is valid until the decision is used again.
	Key []byte
	// Cost is what was asked of the bucket.
	Cost int64
	// Shadow says that the policy is only tried.
	Shadow bool
	// Unlimited says that the policy counts nothing.
	Unlimited bool
	// Unknown says that the store could not tell: the numbers mean nothing.
	Unknown bool
	Verdict
}

// Decision is the answer to one request. The zero Decision refuses.
type Decision struct {
	// Allowed says that the request may go on, after Delay if that is not 0.
	Allowed bool
	// Reason is why not; empty when allowed.
	Reason Reason
	// Result is the policy that decided: of those that refused the one with the
	// longest wait, else the one with the smallest share left. Its Policy is empty
	// when no enforced policy had a say.
	Result
	// At is the instant of the decision; 0 if no store was asked and the limiter has
	// no Clock.
	At Micros
	// Degraded says that the store did not answer and another way decided.
	Degraded bool
	// Results are all that had a say, in order, shadows included. The slice
	// belongs to the decision; Clone keeps it.
	Results []Result

	held *held
}

// held is storage that a decision keeps while it is used again.
type held struct {
	verdicts []Verdict
	keys     []byte

	// What giving the decision up gives back, empty where it does not wait.
	taken     []taken
	takenKeys []byte
	limiter   *Limiter
	sent      time.Time // set where charges can be delayed
	received  time.Time
}

// Clone returns a copy that shares nothing with d.
func (d *Decision) Clone() Decision {
	c := *d
	c.Key = slices.Clone(d.Key)
	c.Results = slices.Clone(d.Results)
	for i := range c.Results {
		c.Results[i].Key = slices.Clone(c.Results[i].Key)
	}
	c.held = nil
	return c
}

// OwnKeys copies the keys in d, which are those of the charges, into storage of
// the decision's own: they stay valid until d is used again, whatever becomes of
// the charges. It allocates nothing once d has grown.
func (d *Decision) OwnKeys() {
	if d.held == nil {
		d.held = new(held)
	}
	keys := d.held.keys[:0]
	for i := range d.Results {
		keys = append(keys, d.Results[i].Key...)
	}
	keys = append(keys, d.Key...)
	d.held.keys = keys
	for i := range d.Results {
		r := &d.Results[i]
		n := len(r.Key)
		r.Key, keys = keys[:n:n], keys[n:]
	}
	d.Key = slices.Clip(keys)
}

// Clear makes d the zero Decision and keeps its storage.
func (d *Decision) Clear() {
	if d.held != nil {
		d.held.taken = d.held.taken[:0]
	}
	*d = Decision{Results: d.Results[:0], held: d.held}
}

// Refuse makes d a refusal by one policy without asking a store. Results stay.
func (d *Decision) Refuse(reason Reason, r Result) {
	r.OK = false
	d.Allowed, d.Reason, d.Result = false, reason, r
}

// Fail makes d the decision of a Decider that could not tell: one that lets the
// request through, or a refusal with [ReasonUnavailable]. A refusal with that reason
// stays as the Decider made it.
func (d *Decision) Fail(open bool) {
	switch {
	case open:
		d.Clear()
		d.Allowed = true
	case d.Allowed || d.Reason != ReasonUnavailable:
		d.Clear()
		d.Refuse(ReasonUnavailable, Result{})
	}
	d.Degraded = true
}

// degrade says whether a store's error is that it answered in another way.
func (d *Decision) degrade(err error) bool {
	d.Degraded = errors.Is(err, ErrDegraded)
	return d.Degraded
}

// fold reads the verdicts of charges into d.
func (d *Decision) fold(charges []Charge, verdicts []Verdict) {
	d.Allowed = true
	for i := range charges {
		c := &charges[i]
		d.Results = append(d.Results, Result{
			Policy: c.Policy.Name, Limit: c.Policy.Limit, Capacity: c.Policy.Capacity(),
			Key: c.Key, Cost: c.Cost, Shadow: c.Shadow, Unlimited: c.Policy.Algorithm == nil,
			Verdict: verdicts[i],
		})
		r := &d.Results[len(d.Results)-1]
		if r.Remaining == Unknown {
			r.Remaining, r.Unknown = 0, true
		}
		if r.Shadow || r.Unlimited || r.Unknown && r.OK {
			continue
		}
		if d.Policy == "" || decidesOver(r, &d.Result) {
			delay := max(d.Delay, r.Delay)
			d.Result = *r
			d.Delay = delay
		} else {
			d.Delay = max(d.Delay, r.Delay)
		}
		d.Allowed = d.Allowed && r.OK
	}
	d.explain()
}

// explain sets the reason of a refusal.
func (d *Decision) explain() {
	if d.Allowed {
		return
	}
	d.Reason, d.Delay = ReasonLimit, 0
	switch {
	case d.Unknown:
		d.Reason = ReasonUnavailable
	case d.Capacity == 0:
		d.Reason = ReasonBlocked
	case d.RetryAfter == Never:
		d.Reason = ReasonNever
	}
}

// decidesOver says whether r, not b, is the policy to name.
func decidesOver(r, b *Result) bool {
	if r.OK != b.OK {
		return !r.OK
	}
	if !r.OK {
		return r.RetryAfter > b.RetryAfter
	}
	return float64(r.Remaining)*float64(b.Capacity) < float64(b.Remaining)*float64(r.Capacity)
}
