package stint

import "errors"

// FailureMode is what a policy wants while a shared store can not answer.
type FailureMode string

// The failure modes. The empty mode is FailLocal.
const (
	// FailLocal counts in this process, with this server's share of the limit.
	FailLocal FailureMode = "local"
	// FailAllow lets everything through.
	FailAllow FailureMode = "allow"
	// FailDeny refuses everything, saying that the limiter is unavailable.
	FailDeny FailureMode = "deny"
)

// ErrDegraded comes from a store that answered in another way than by its counts.
// Unlike with every other error the verdicts hold.
var ErrDegraded = errors.New("decided without the shared counts")

// Unknown is the Remaining of a verdict that knows no counts: none of its numbers
// but RetryAfter mean anything.
const Unknown = -1
