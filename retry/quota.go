package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Quota is where a client stands, as a server told it.
type Quota struct {
	// Limit is how much the quota is when full, 0 if unknown.
	Limit int64
	// Remaining is how many requests are left.
	Remaining int64
	// Reset is the time until there are more.
	Reset time.Duration
}

// ParseQuota reads the rate fields of an answer. In this order the first that can be
// read counts:
//
//	RateLimit: "name";r=7;t=31          revisions 08 to 11 of the IETF draft, with q of RateLimit-Policy
//	RateLimit: limit=9, remaining=7, reset=31   revision 07
//	RateLimit-Remaining, -Reset, -Limit  revisions 00 to 06, in seconds
//	X-RateLimit-Remaining, -Reset, -Limit, also spelled X-Rate-Limit-*
//
// Of several policies the one with the least left counts. The reset of the X-
// fields may be seconds from now, a Unix time in seconds or milliseconds, or a
// date of RFC 3339; a Unix time is compared with the answer's Date. There is no
// quota in an answer out of a cache (Age), nor in fields that can not be read.
func ParseQuota(h http.Header, now time.Time) (Quota, bool) {
	if age := h.Get("Age"); age != "" && age != "0" {
		return Quota{}, false
	}
	if lines := h["Ratelimit"]; len(lines) > 0 {
		if q, ok := draft(strings.Join(lines, ","), strings.Join(h["Ratelimit-Policy"], ",")); ok {
			return q, true
		}
	}
	for _, prefix := range [...]string{"Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-"} {
		if q, ok := triple(h, prefix, served(h, now)); ok {
			return q, true
		}
	}
	return Quota{}, false
}

// triple reads three fields with one value each.
func triple(h http.Header, prefix string, now time.Time) (Quota, bool) {
	remaining, ok := parseCount(h.Get(prefix + "Remaining"))
	if !ok {
		return Quota{}, false
	}
	reset, ok := parseReset(h.Get(prefix+"Reset"), now)
	if !ok {
		return Quota{}, false
	}
	// Revisions 00 to 03 allow policies behind the number: 10, 10;w=1.
	first, _, _ := strings.Cut(h.Get(prefix+"Limit"), ",")
	limit, _ := parseCount(first)
	return Quota{Limit: limit, Remaining: remaining, Reset: reset}, true
}

// parseCount reads a number that is not negative; of a fraction, which some servers
// send, only the whole part counts.
func parseCount(s string) (int64, bool) {
	whole, fraction, _ := strings.Cut(strings.Trim(s, " \t"), ".")
	if !isDigits(whole) || fraction != "" && !isDigits(fraction) {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, err == nil
}

// From these numbers on a reset is a Unix time in seconds, in milliseconds.
const (
	leastEpoch  = 1_000_000_000
	leastMillis = 1_000_000_000_000
)

// parseReset reads a reset in any of the forms in use.
func parseReset(s string, now time.Time) (time.Duration, bool) {
	s = strings.Trim(s, " \t")
	n, ok := parseCount(s)
	var at time.Time
	switch {
	case !ok:
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return 0, false
		}
		at = t
	case n < leastEpoch:
		return parseSeconds(s)
	case n < leastMillis:
		at = time.Unix(n, 0)
	default:
		at = time.UnixMilli(n)
	}
	return min(max(0, at.Sub(now)), mostSeconds*time.Second), true
}

// draft reads the RateLimit field in its newer forms.
func draft(value, policies string) (Quota, bool) {
	members, ok := parseList(value)
	if !ok || len(members) == 0 {
		return Quota{}, false
	}
	if !members[0].isString {
		return dictionary(members)
	}
	limits, _ := parseList(policies)
	var least Quota
	found := false
	for _, m := range members {
		remaining, ok := m.number("r")
		if !ok {
			continue
		}
		// Without t the quota is full, or nobody knows when there will be more.
		seconds, _ := m.number("t")
		q := Quota{Remaining: remaining, Reset: time.Duration(min(seconds, mostSeconds)) * time.Second}
		for _, l := range limits {
			if l.name == m.name {
				q.Limit, _ = l.number("q")
			}
		}
		if !found || q.Remaining < least.Remaining || q.Remaining == least.Remaining && q.Reset > least.Reset {
			least, found = q, true
		}
	}
	return least, found
}

// dictionary reads limit=100, remaining=7, reset=31.
func dictionary(members []member) (Quota, bool) {
	all := member{}
	for _, m := range members {
		all.params = append(all.params, param{m.name, m.value})
	}
	remaining, ok := all.number("remaining")
	if !ok {
		return Quota{}, false
	}
	reset, ok := all.number("reset")
	limit, _ := all.number("limit")
	return Quota{Limit: limit, Remaining: remaining, Reset: time.Duration(min(reset, mostSeconds)) * time.Second}, ok
}
