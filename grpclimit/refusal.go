package grpclimit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/ratefields"
)

// The reasons that the ErrorInfo of a refusal gives.
const (
	// ReasonExceeded: over the limit; waiting helps.
	ReasonExceeded = "RATE_LIMIT_EXCEEDED"
	// ReasonTooCostly: the call costs more than the policy ever lets through.
	ReasonTooCostly = "COST_ABOVE_LIMIT"
	// ReasonBlocked: the limit is 0.
	ReasonBlocked = "BLOCKED_BY_LIMIT"
	// ReasonMissingKey: the call does not say who it is from.
	ReasonMissingKey = "RATE_LIMIT_KEY_MISSING"
	// ReasonTooLarge: a part of the call is larger than rules will look at.
	ReasonTooLarge = "RATE_LIMIT_KEY_TOO_LARGE"
	// ReasonUnavailable: the limiter could not tell.
	ReasonUnavailable = "RATE_LIMITER_UNAVAILABLE"
)

// refusal is the status of a call that may not go on.
func (l *Limit) refusal(d *stint.Decision) error {
	wait := ratefields.RetryAfter(d)
	code, reason, quota := meaning(d.Reason)
	info := &errdetails.ErrorInfo{Reason: reason, Domain: l.domain}
	details := []protoadapt.MessageV1{info}
	if d.Policy != "" {
		info.Metadata = map[string]string{"policy": text(d.Policy)}
		if quota {
			info.Metadata["limit"] = d.Limit.String()
			info.Metadata["remaining"] = strconv.FormatInt(max(0, d.Remaining), 10)
			details = append(details, quotaFailure(d))
		}
	}
	if wait > 0 {
		most := int64(stint.Never / time.Second)
		details = append(details, &errdetails.RetryInfo{
			RetryDelay: durationpb.New(time.Duration(min(wait, most)) * time.Second),
		})
	}
	s := status.New(code, sentence(d, wait))
	if with, err := s.WithDetails(details...); err == nil {
		s = with
	}
	return s.Err()
}

// meaning is the code and the reason of a refusal, and whether it is about a quota.
func meaning(reason stint.Reason) (code codes.Code, text string, quota bool) {
	switch reason {
	case stint.ReasonMissingKey:
		return codes.PermissionDenied, ReasonMissingKey, false
	case stint.ReasonUnavailable:
		return codes.Unavailable, ReasonUnavailable, false
	case stint.ReasonTooLarge:
		return codes.ResourceExhausted, ReasonTooLarge, false
	case stint.ReasonNever:
		return codes.ResourceExhausted, ReasonTooCostly, true
	case stint.ReasonBlocked:
		return codes.ResourceExhausted, ReasonBlocked, true
	}
	return codes.ResourceExhausted, ReasonExceeded, true
}

// quotaFailure names the policies that refused, never a client's key.
func quotaFailure(d *stint.Decision) *errdetails.QuotaFailure {
	f := new(errdetails.QuotaFailure)
	for i := range d.Results {
		if r := &d.Results[i]; !r.OK && !r.Shadow && !r.Unlimited {
			f.Violations = append(f.Violations, violation(r))
		}
	}
	if len(f.Violations) == 0 {
		f.Violations = append(f.Violations, violation(&d.Result))
	}
	return f
}

func violation(r *stint.Result) *errdetails.QuotaFailure_Violation {
	return &errdetails.QuotaFailure_Violation{
		Subject: "policy:" + text(r.Policy), Description: "at most " + r.Limit.String(),
		QuotaId: text(r.Policy), QuotaValue: r.Capacity,
	}
}

// text is s as a protobuf string can hold it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// sentence says why a call was refused.
func sentence(d *stint.Decision, wait int64) string {
	s := "The call was refused."
	switch d.Reason {
	case stint.ReasonUnavailable:
		s = "The rate limiter is unavailable. The cause is not with the client."
	case stint.ReasonMissingKey:
		s = "The call lacks a value that the limit needs to tell clients apart."
	case stint.ReasonTooLarge:
		s = "A part of the call is larger than the rate limiter reads."
	case stint.ReasonBlocked:
		s = fmt.Sprintf("All calls are refused by %s.", text(d.Policy))
	case stint.ReasonNever:
		s = fmt.Sprintf("The call costs %d, which is more than %s ever lets through (%d).", d.Cost, text(d.Policy), d.Capacity)
	case stint.ReasonLimit:
		s = fmt.Sprintf("Over the limit of %s.", text(d.Policy))
	}
	if wait > 0 {
		s += fmt.Sprintf(" Try again in %d s.", wait)
	}
	return s
}
