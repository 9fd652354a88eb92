package stint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limit is how much is allowed: Count units in each Window, with at most Burst
// at once.
type Limit struct {
	// Count of units in a Window. 0 refuses everything.
	Count int64
	// Window is a whole number of microseconds, at least one.
	Window time.Duration
	// Burst is the capacity of a bucket. 0 means Count. Window counters and logs
	// have no burst of their own.
	Burst int64
}

// Capacity is Burst, or Count where there is no Burst.
func (l Limit) Capacity() int64 {
	if l.Burst != 0 {
		return l.Burst
	}
	return l.Count
}

// String returns the limit as a sentence that [ParseLimit] reads.
func (l Limit) String() string { return string(l.Append(nil)) }

// Append appends the limit as String writes it.
func (l Limit) Append(b []byte) []byte {
	b = strconv.AppendInt(b, l.Count, 10)
	b = append(b, " per "...)
	b = append(b, WindowText(l.Window)...)
	if l.Burst != 0 && l.Burst != l.Count {
		b = append(b, ", burst "...)
		b = strconv.AppendInt(b, l.Burst, 10)
	}
	return b
}

// WindowText writes a window as people say it: minute, 30s, 1m30s.
func WindowText(w time.Duration) string {
	for _, u := range units {
		if u.length == w {
			return u.names[0]
		}
	}
	return trimDuration(w)
}

// trimDuration is Duration.String without its idle zeros: 1h0m0s is 1h.
func trimDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// units are the words for windows.
var units = []struct {
	length time.Duration
	names  []string
}{
	{time.Microsecond, []string{"microsecond", "microseconds", "us", "µs"}},
	{time.Millisecond, []string{"millisecond", "milliseconds", "ms"}},
	{time.Second, []string{"second", "seconds", "sec", "secs", "s"}},
	{time.Minute, []string{"minute", "minutes", "min", "mins", "m"}},
	{time.Hour, []string{"hour", "hours", "h"}},
	{24 * time.Hour, []string{"day", "days", "d"}},
	{7 * 24 * time.Hour, []string{"week", "weeks", "w"}},
}

// ParseLimit reads a limit written as a sentence:
//
//	100 per minute
//	100 per minute, burst 20
//	5 requests an hour
//	1_000 per 30 seconds
//	100/1m burst 20
//
// A window is a word from microsecond to week, a number with such a word, or a
// Go duration (1m30s). A month is no window: its length differs. The error says
// what was wrong and what to write instead.
func ParseLimit(s string) (Limit, error) {
	const hint = `write it like "100 per minute" or "100 per 30s, burst 20"`
	if len(s) > 200 {
		return Limit{}, fmt.Errorf("a limit of %d characters: %s", len(s), hint)
	}
	head, tail, hasBurst := strings.Cut(s, "burst")
	count, window, ok := cutWindow(head)
	if !ok {
		return Limit{}, fmt.Errorf("limit %q has no window: %s", s, hint)
	}
	var l Limit
	var err error
	if l.Count, err = ParseCount(withoutUnit(count)); err != nil {
		return Limit{}, fmt.Errorf("limit %q: %w", s, err)
	}
	if l.Window, err = ParseWindow(strings.TrimRight(window, " ,")); err != nil {
		return Limit{}, fmt.Errorf("limit %q: %w", s, err)
	}
	if !hasBurst {
		return l, nil
	}
	if l.Burst, err = ParseCount(tail); err != nil {
		return Limit{}, fmt.Errorf("limit %q: burst: %w", s, err)
	}
	if l.Burst == 0 {
		return Limit{}, fmt.Errorf("limit %q: burst 0 lets nothing through: leave burst out, or write at least 1", s)
	}
	return l, nil
}

// cutWindow splits "100 per minute" into its count and its window.
func cutWindow(s string) (count, window string, ok bool) {
	for _, sep := range []string{" per ", "/", " every ", " an ", " a ", " each ", " in "} {
		if count, window, ok = strings.Cut(s, sep); ok {
			return count, window, true
		}
	}
	return "", "", false
}

// withoutUnit drops the word from "100 requests".
func withoutUnit(s string) string {
	number, word, ok := strings.Cut(strings.TrimSpace(s), " ")
	if ok && slices.Contains([]string{"request", "requests", "req", "reqs", "call", "calls", "unit", "units"}, strings.TrimSpace(word)) {
		return number
	}
	return s
}

// ParseCount reads a whole number of units: 0 or more, below 2^53, with _ or
// commas between groups of digits if that reads better.
func ParseCount(s string) (int64, error) {
	s = strings.TrimSpace(s)
	digits := strings.ReplaceAll(s, "_", "")
	if groups := strings.Split(digits, ","); len(groups) > 1 && isDigits(strings.Join(groups, "")) {
		for i, g := range groups {
			if len(g) == 0 || len(g) > 3 || i > 0 && len(g) != 3 {
				return 0, fmt.Errorf("%q is not a number: write 1000 or 1_000", s)
			}
		}
		digits = strings.Join(groups, "")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil && isDigits(digits), err == nil && n > MaxUnits:
		return 0, fmt.Errorf("%s is too large: at most %d", s, MaxUnits)
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number", s)
	case n < 0:
		return 0, fmt.Errorf("%d is negative: write 0 to refuse everything", n)
	}
	return n, nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// ParseWindow reads the window of a limit: "minute", "30 seconds", "1m30s".
func ParseWindow(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if d, err := time.ParseDuration(s); err == nil {
		return checkWindow(s, d)
	}
	number, word, _ := strings.Cut(s, " ")
	if word == "" {
		number, word = splitNumber(s)
	}
	word = strings.TrimSpace(word)
	n := int64(1)
	if number != "" {
		v, err := ParseCount(number)
		switch {
		case err != nil && isDigits(strings.Replace(number, ".", "", 1)):
			return 0, fmt.Errorf("window %q: %s is not a whole number: write a duration such as 1m30s", s, number)
		case err != nil:
			return 0, fmt.Errorf("window %q: %w", s, unitHint(number))
		}
		n = v
	}
	if word == "" {
		return 0, fmt.Errorf("window %q has no unit: write %ss or %s seconds", s, number, number)
	}
	length, ok := unitOf(word)
	if !ok {
		return 0, fmt.Errorf("window %q: %w", s, unitHint(word))
	}
	if n > int64(Never/length) {
		return 0, fmt.Errorf("window %q is too long: at most 292 years", s)
	}
	return checkWindow(s, time.Duration(n)*length)
}

// splitNumber cuts "30d" into its digits and the rest.
func splitNumber(s string) (number, word string) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '_') {
		i++
	}
	return s[:i], s[i:]
}

func unitOf(word string) (time.Duration, bool) {
	for _, u := range units {
		if slices.Contains(u.names, word) {
			return u.length, true
		}
	}
	return 0, false
}

// unitHint explains a word that is no unit.
func unitHint(word string) error {
	switch strings.ToLower(strings.TrimSuffix(word, "s")) {
	case "month", "mo", "year", "yr", "y":
		return fmt.Errorf("a %s is not always equally long: write days, for example 30 days", strings.ToLower(word))
	case "fortnight":
		return fmt.Errorf("%q is not a unit: write 2 weeks", word)
	}
	if lower := strings.ToLower(word); lower != word {
		if _, ok := unitOf(lower); ok {
			return fmt.Errorf("%q is not a unit: write %s", word, lower)
		}
	}
	return fmt.Errorf("%q is not a unit: write second, minute, hour, day or week, or a duration such as 1m30s", word)
}

func checkWindow(s string, d time.Duration) (time.Duration, error) {
	switch {
	case d <= 0:
		return 0, fmt.Errorf("window %q must be longer than 0", s)
	case d%time.Microsecond != 0:
		return 0, fmt.Errorf("window %q is not a whole number of microseconds", s)
	}
	return d, nil
}
