package wire

import (
	"encoding/base64"
	"math"
	"slices"
	"time"

	"github.com/stint-dev/stint"
)

// The names of members, in the order of the switches below. Those of a result are
// members of a decision too.
var (
	resultNames = []string{
		"policy", "limit", "capacity", "key", "cost", "remaining", "delay_us",
		"retry_after_us", "reset_after_us", "next_after_us", "shadow", "unlimited", "unknown",
	}
	eachNames     = append(slices.Clip(resultNames), "ok")
	decisionNames = append(slices.Clip(resultNames), "allowed", "reason", "at_us", "degraded", "results")
	limitNames    = []string{"count", "window_us", "burst"}
	batchNames    = []string{"decisions"}
)

// ParseDecision reads an answer into d, whose old contents are dropped and whose
// storage is used again. After an error d is a refusal.
func ParseDecision(text string, d *stint.Decision) error {
	return parseAnswer(text, d, func(r *reader) *Error { return r.decision(d) })
}

// ParseDecisions reads the answer to a batch; there have to be as many decisions
// as into has.
func ParseDecisions(text string, into []*stint.Decision) error {
	n := 0
	err := parseAnswer(text, nil, func(r *reader) *Error {
		return r.fields("an answer", batchNames, func(int) *Error {
			return r.list("decisions", len(into), func(i int) *Error {
				n++
				return r.decision(into[i])
			})
		})
	})
	if err == nil && n != len(into) {
		err = &Error{Detail: "the answer has fewer decisions than were asked for"}
	}
	if err != nil {
		for _, d := range into {
			d.Clear()
		}
	}
	return err
}

func parseAnswer(text string, d *stint.Decision, value func(*reader) *Error) error {
	r := &reader{lenient: true}
	err := r.begin(text)
	if err == nil {
		err = value(r)
	}
	if err == nil {
		err = r.end()
	}
	if err != nil && d != nil {
		d.Clear()
	}
	return err.asError()
}

func (r *reader) decision(d *stint.Decision) *Error {
	d.Clear()
	answered := false
	err := r.fields("a decision", decisionNames, func(i int) (err *Error) {
		switch decisionNames[i] {
		case "allowed":
			answered = true
			d.Allowed, err = r.boolean()
		case "reason":
			var s string
			s, err = r.str("reason")
			d.Reason = stint.Reason(s)
		case "at_us":
			var n int64
			n, err = r.integer("at_us")
			d.At = stint.Micros(n)
		case "degraded":
			d.Degraded, err = r.boolean()
		case "results":
			err = r.results(d)
		default:
			err = r.result(i, &d.Result)
		}
		return err
	})
	if err == nil && !answered {
		err = r.fault("no decision: allowed is missing")
	}
	d.OK = d.Allowed && d.Policy != ""
	return err
}

// results reads what each policy said.
func (r *reader) results(d *stint.Decision) *Error {
	return r.list("results", stint.MaxCharges, func(int) *Error {
		d.Results = append(d.Results, stint.Result{})
		each := &d.Results[len(d.Results)-1]
		return r.fields("a result", eachNames, func(i int) (err *Error) {
			if eachNames[i] == "ok" {
				each.OK, err = r.boolean()
				return err
			}
			return r.result(i, each)
		})
	})
}

// result reads the i-th of resultNames.
func (r *reader) result(i int, into *stint.Result) (err *Error) {
	switch resultNames[i] {
	case "policy":
		into.Policy, err = r.str("policy")
	case "limit":
		err = r.limit(&into.Limit)
	case "capacity":
		into.Capacity, err = r.integer("capacity")
	case "key":
		into.Key, err = r.bytes()
	case "cost":
		into.Cost, err = r.integer("cost")
	case "remaining":
		into.Remaining, err = r.integer("remaining")
	case "delay_us":
		into.Delay, err = r.micros()
	case "retry_after_us":
		into.RetryAfter, err = r.micros()
	case "reset_after_us":
		into.ResetAfter, err = r.micros()
	case "next_after_us":
		into.NextAfter, err = r.micros()
	case "shadow":
		into.Shadow, err = r.boolean()
	case "unlimited":
		into.Unlimited, err = r.boolean()
	case "unknown":
		into.Unknown, err = r.boolean()
	}
	return err
}

func (r *reader) limit(l *stint.Limit) *Error {
	return r.fields("a limit", limitNames, func(i int) (err *Error) {
		switch limitNames[i] {
		case "count":
			l.Count, err = r.integer("count")
		case "window_us":
			l.Window, err = r.micros()
		case "burst":
			l.Burst, err = r.integer("burst")
		}
		return err
	})
}

// bytes reads base64.
func (r *reader) bytes() ([]byte, *Error) {
	s, err := r.str("key")
	if err != nil {
		return nil, err
	}
	b, bad := base64.StdEncoding.DecodeString(s)
	if bad != nil {
		return nil, r.fault("no base64")
	}
	return b, nil
}

// micros reads a duration.
func (r *reader) micros() (time.Duration, *Error) {
	if r.null() {
		return stint.Never, nil
	}
	n, err := r.integer("a duration in microseconds")
	switch {
	case err != nil:
		return 0, err
	case n > math.MaxInt64/int64(time.Microsecond) || n < 0:
		return 0, r.fault("%d is no duration in microseconds", n)
	}
	return time.Duration(n) * time.Microsecond, nil
}
