package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostSeconds is the longest wait that is read; longer ones, also those with more
// digits than an integer has, are taken for it.
const mostSeconds = 100 * 365 * 24 * 3600

// After returns the wait that the Retry-After field of an answer asks for: a
// number of seconds or an HTTP date in any of its three forms. A date is measured
// from the answer's own Date if there is one, since the two clocks may differ,
// else from now; one in the past is no wait. Of several lines the longest wait
// counts. What can not be read is ignored, as if it were not there.
func After(h http.Header, now time.Time) (time.Duration, bool) {
	var longest time.Duration
	found := false
	for _, line := range h["Retry-After"] {
		if wait, ok := parseWait(line, served(h, now)); ok {
			longest, found = max(longest, wait), true
		}
	}
	return longest, found
}

// served is the server's time when it answered.
func served(h http.Header, now time.Time) time.Time {
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		return t
	}
	return now
}

// parseWait reads a value of Retry-After, seen at now.
func parseWait(s string, now time.Time) (time.Duration, bool) {
	s = strings.Trim(s, " \t")
	if wait, ok := parseSeconds(s); ok {
		return wait, true
	}
	t, ok := parseDate(s, now)
	if !ok {
		return 0, false
	}
	return min(max(0, t.Sub(now)), mostSeconds*time.Second), true
}

// parseSeconds reads whole seconds, and, since some servers send them, fractions,
// which it rounds up.
func parseSeconds(s string) (time.Duration, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if !isDigits(whole) || fraction == "" && len(whole) != len(s) || fraction != "" && !isDigits(fraction) {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n >= mostSeconds {
		return mostSeconds * time.Second, true
	}
	if strings.Trim(fraction, "0") != "" {
		n++
	}
	return time.Duration(n) * time.Second, true
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// parseDate reads an HTTP date: the form in use, the two obsolete ones, and the one
// in use with another name for its zone.
func parseDate(s string, now time.Time) (time.Time, bool) {
	const longest = 64
	if len(s) > longest {
		return time.Time{}, false
	}
	if t, err := time.Parse("Monday, 02-Jan-06 15:04:05 GMT", s); err == nil {
		return nearCentury(t, now), true
	}
	t, err := http.ParseTime(s)
	if err != nil {
		t, err = time.Parse("Mon, 02 Jan 2006 15:04:05 UTC", s)
	}
	return t, err == nil
}

// nearCentury puts a year of two digits into the century that RFC 9110, section
// 5.6.7, means: at most 50 years ahead.
func nearCentury(t, now time.Time) time.Time {
	year := now.UTC().Year()
	full := year - year%100 + t.Year()%100
	if full > year+50 {
		full -= 100
	}
	return t.AddDate(full-t.Year(), 0, 0)
}
