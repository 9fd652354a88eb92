package replay

import (
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/accesslog"
)

// Report is what the rules would have said. Its form as JSON is stable.
type Report struct {
	// Requests is the number of lines that are requests.
	Requests int64 `json:"requests"`
	// Refused is how many of them enforced rules refused. Rules in shadow refuse
	// nothing here; see the Refused of each rule.
	Refused int64 `json:"refused"`
	// Delayed is how many of them enforced queues let through with a delay.
	Delayed int64 `json:"delayed"`
	// Unreadable is the number of lines that could not be read.
	Unreadable int64 `json:"unreadable"`
	// Reasons counts those by why.
	Reasons map[string]int64 `json:"unreadable_reasons,omitempty"`
	// Samples are the first few of those.
	Samples []string `json:"unreadable_samples,omitempty"`
	// OutOfOrder is the number of lines that were too late to be put in order.
	OutOfOrder int64 `json:"out_of_order"`
	// First and Last are the times of the earliest and the latest request.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Rules are all rules in their order.
	Rules []Rule `json:"rules"`
}

// Rule is what one rule said.
type Rule struct {
	ID string `json:"id"`
	// Mode is enforce, shadow, exempt or unlimited.
	Mode string `json:"mode"`
	// Matched is the number of requests that the rule had a say in.
	Matched int64 `json:"matched"`
	// Refused is how many of them it refused, or, in shadow, would have refused. A
	// request can be refused by several rules.
	Refused int64 `json:"refused"`
	// FirstRefused and LastRefused are the times of the first and the last.
	FirstRefused time.Time `json:"first_refused,omitzero"`
	LastRefused  time.Time `json:"last_refused,omitzero"`
	// KeysRefused is the number of keys refused.
	KeysRefused int64 `json:"keys_refused"`
	// Inexact says that there were too many keys to count: KeysRefused then is at
	// least the number, and each count of Top may be too low by up to TopMissed.
	Inexact   bool  `json:"inexact,omitempty"`
	TopMissed int64 `json:"top_missed,omitempty"`
	// Top are the keys refused most, secrets hashed.
	Top []KeyCount `json:"top_refused"`
	// Limits are the rule's limits that were asked.
	Limits []Limit `json:"limits"`
	// Notes say in sentences what to know about the figures.
	Notes []string `json:"notes,omitempty"`
}

// KeyCount is how often a key was refused.
type KeyCount struct {
	Key     string `json:"key"`
	Refused int64  `json:"refused"`
}

// Limit is what one limit of a rule said.
type Limit struct {
	// Policy is the name of its counters: the rule's id, or that and the window.
	Policy string `json:"policy"`
	// Limit is the limit as a sentence.
	Limit string `json:"limit"`
	// Algorithm is its name.
	Algorithm string `json:"algorithm"`
	// Asked is the number of requests it was asked about, Refused how many of them
	// it refused.
	Asked   int64 `json:"asked"`
	Refused int64 `json:"refused"`
	// PerMille is the smallest limit that would have refused at most 0.1 % of
	// them, Percent 1 %; as if the rule were alone. Nil if none was found.
	PerMille *Smallest `json:"smallest_for_0_1_percent,omitempty"`
	Percent  *Smallest `json:"smallest_for_1_percent,omitempty"`
}

// Smallest is the smallest limit that would have done.
type Smallest struct {
	// Count is its count, Limit the whole of it as a sentence.
	Count int64  `json:"count"`
	Limit string `json:"limit"`
}

// smallest is nil for the zero Limit.
func smallest(l stint.Limit) *Smallest {
	if l == (stint.Limit{}) {
		return nil
	}
	return &Smallest{Count: l.Count, Limit: l.String()}
}

// unreadable notes a line that could not be read.
func (r *Report) unreadable(log string, bad *accesslog.LineError) {
	r.Unreadable++
	if r.Reasons == nil {
		r.Reasons = make(map[string]int64)
	}
	r.Reasons[string(bad.Reason)]++
	if len(r.Samples) < maxSamples {
		sample := bad.Error()
		if log != "" {
			sample = log + ": " + sample
		}
		r.Samples = append(r.Samples, sample)
	}
}

// request notes a line that is one.
func (r *Report) request(at time.Time) {
	if r.Requests == 0 || at.Before(r.First) {
		r.First = at
	}
	if r.Requests == 0 || at.After(r.Last) {
		r.Last = at
	}
	r.Requests++
}
