package shield

import (
	"time"

	"github.com/stint-dev/stint"
)

// refusal is one that is remembered. It never changes, so that it is read without
// a lock. Instants of this process count from the start of the store.
//
// The shared store decided at some instant from sent to received, and rounded it
// down to the microsecond. So what it refuses for a wait it refuses until after
// sent + wait - 1 µs, and lets pass from received + wait on at the latest: the
// first bounds how long it is repeated here, the second is what is told.
type refusal struct {
	policy    *stint.Policy
	high, low uint64 // the hash of the key
	units     int64

	sent     time.Duration
	ends     time.Duration // the last instant at which it is repeated
	received time.Duration
	at       stint.Micros // on the shared store's clock

	retry, reset, next time.Duration
}

// isWorthKeeping says whether a verdict is a refusal whose numbers hold for a
// while. That is so when nothing remains: nobody can charge the bucket then. Where
// something remains anybody may take it, and the wait grows.
func isWorthKeeping(v *stint.Verdict) bool { return !v.OK && v.Remaining == 0 }

// holds is how long a refusal with nothing remaining is true to the letter: until
// the charge passes, something remains, or a window ends, and at most for longest.
func holds(v *stint.Verdict, longest time.Duration) time.Duration {
	if v.NextAfter > 0 {
		longest = min(longest, v.NextAfter)
	}
	if v.ResetAfter > 0 {
		longest = min(longest, v.ResetAfter)
	}
	return min(longest, v.RetryAfter)
}

// verdict is what the shared store would say at now, which is not after the end.
func (r *refusal) verdict(now time.Duration) stint.Verdict {
	passed := r.passed(now)
	return stint.Verdict{
		RetryAfter: less(r.retry, passed),
		ResetAfter: less(r.reset, passed),
		NextAfter:  less(r.next, passed),
	}
}

// instant is now on the shared store's clock, less the time that the answer may
// have taken.
func (r *refusal) instant(now time.Duration) stint.Micros {
	return r.at + stint.Micros(r.passed(now)/time.Microsecond)
}

// passed is the time since the answer came, rounded down to microseconds. The
// reading now may be older than the answer.
func (r *refusal) passed(now time.Duration) time.Duration {
	passed := max(0, now-r.received)
	return passed - passed%time.Microsecond
}

func less(d, by time.Duration) time.Duration {
	if d == stint.Never {
		return d
	}
	return max(0, d-by)
}
