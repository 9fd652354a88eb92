package retry_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint/retry"
)

// now is the instant at which answers are read: a Sunday.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// header makes a header of "Name: value" lines.
func header(lines ...string) http.Header {
	h := make(http.Header)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestRetryAfter(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		value string
		want  time.Duration
	}{
		{"0", 0},
		{"120", 120 * time.Second},
		{" 7\t", 7 * time.Second},
		{"007", 7 * time.Second},
		{"99999999999999999999999", 100 * 365 * 24 * time.Hour},
		{"1.0", time.Second},
		{"1.2", 2 * time.Second},
		{"-1", none},
		{"+1", none},
		{"1e3", none},
		{"1.", none},
		{".5", none},
		{"1.2.3", none},
		{"", none},
		{"soon", none},
		{"1m", none},
		{"Sun, 01 Mar 2026 12:01:00 GMT", time.Minute},
		{"Sunday, 01-Mar-26 12:01:00 GMT", time.Minute},
		{"Sun Mar  1 12:01:00 2026", time.Minute},
		{"Sun, 01 Mar 2026 12:01:00 UTC", time.Minute},
		{"Sun, 01 Mar 2026 11:00:00 GMT", 0},
		{"Sunday, 06-Nov-94 08:49:37 GMT", 0},
		{"Saturday, 01-Mar-70 12:00:00 GMT", time.Date(2070, 3, 1, 12, 0, 0, 0, time.UTC).Sub(now)},
		{"2026-03-01T12:01:00Z", none},
		{"Sun, 01 Mar 2026", none},
	} {
		got, ok := retry.After(header("Retry-After: "+c.value), now)
		switch {
		case c.want == none && ok:
			t.Errorf("%q: %v, want none", c.value, got)
		case c.want != none && (!ok || got != c.want):
			t.Errorf("%q: %v %v, want %v", c.value, got, ok, c.want)
		}
	}
}

func TestRetryAfterDateIsMeasuredByTheServersClock(t *testing.T) {
	h := header("Date: Sun, 01 Mar 2026 09:00:00 GMT", "Retry-After: Sun, 01 Mar 2026 09:00:30 GMT")
	if got, _ := retry.After(h, now); got != 30*time.Second {
		t.Errorf("%v, want 30s", got)
	}
}

func TestLongestOfSeveralRetryAfterLines(t *testing.T) {
	h := header("Retry-After: 3", "Retry-After: nonsense", "Retry-After: 9", "Retry-After: 5")
	if got, _ := retry.After(h, now); got != 9*time.Second {
		t.Errorf("%v, want 9s", got)
	}
}

func TestParseQuota(t *testing.T) {
	quota := func(limit, remaining, seconds int64) *retry.Quota {
		return &retry.Quota{Limit: limit, Remaining: remaining, Reset: time.Duration(seconds) * time.Second}
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  *retry.Quota
	}{
		{"nothing", nil, nil},
		{"list", []string{`RateLimit: "a";r=7;t=31`}, quota(0, 7, 31)},
		{"list with policy", []string{`RateLimit-Policy: "a";q=100;w=60`, `RateLimit: "a";r=7;t=31`}, quota(100, 7, 31)},
		{"least of two", []string{`RateLimit-Policy: "b";q=20;w=1, "d";q=5000;w=86400`, `RateLimit: "b";r=20, "d";r=0;t=20914`}, quota(5000, 0, 20914)},
		{"two lines", []string{`RateLimit: "b";r=20`, `RateLimit: "d";r=0;t=9`}, quota(0, 0, 9)},
		{"longest wait of two", []string{`RateLimit: "b";r=0;t=3, "d";r=0;t=9`}, quota(0, 0, 9)},
		{"full has no t", []string{`RateLimit: "a";r=7`}, quota(0, 7, 0)},
		{"quotes and commas in a name", []string{`RateLimit: "a\",b;r=1";r=7;t=31`}, quota(0, 7, 31)},
		{"unknown parameters", []string{`RateLimit: "a";pk=:AAAA:;r=7;x;y="a,b;c";t=31`}, quota(0, 7, 31)},
		{"one without r", []string{`RateLimit: "a";t=3, "b";r=4;t=5`}, quota(0, 4, 5)},
		{"negative", []string{`RateLimit: "a";r=-1;t=3`}, nil},
		{"unterminated", []string{`RateLimit: "a;r=1;t=3`}, nil},
		{"too long", []string{`RateLimit: "` + strings.Repeat("a", 9000) + `";r=1;t=3`}, nil},
		{"dictionary", []string{"RateLimit: limit=100, remaining=7, reset=31"}, quota(100, 7, 31)},
		{"dictionary without reset", []string{"RateLimit: limit=100, remaining=7"}, nil},
		{"triple", []string{"RateLimit-Limit: 100", "RateLimit-Remaining: 7", "RateLimit-Reset: 31"}, quota(100, 7, 31)},
		{"triple with policies in its limit", []string{"RateLimit-Limit: 10, 10;w=1, 50;w=60", "RateLimit-Remaining: 7", "RateLimit-Reset: 1"}, quota(10, 7, 1)},
		{"x, seconds", []string{"X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 7", "X-RateLimit-Reset: 31"}, quota(100, 7, 31)},
		{"x, unix time", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1772366431"}, quota(0, 0, 31)},
		{"x, unix time of a clock that is behind", []string{"Date: Sun, 01 Mar 2026 11:00:00 GMT", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1772362831"}, quota(0, 0, 31)},
		{"x, milliseconds", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1772366431000"}, quota(0, 0, 31)},
		{"x, in the past", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1772366399"}, quota(0, 0, 0)},
		{"x, date", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 2026-03-01T12:00:31Z"}, quota(0, 0, 31)},
		{"x, fractions", []string{"X-RateLimit-Remaining: 594.0", "X-RateLimit-Reset: 30.25"}, quota(0, 594, 31)},
		{"another dash", []string{"X-Rate-Limit-Remaining: 3", "X-Rate-Limit-Reset: 1772366431"}, quota(0, 3, 31)},
		{"draft before x", []string{`RateLimit: "a";r=7;t=1`, "X-RateLimit-Remaining: 7", "X-RateLimit-Reset: 58"}, quota(0, 7, 1)},
		{"broken draft, good x", []string{`RateLimit: ;;;`, "X-RateLimit-Remaining: 7", "X-RateLimit-Reset: 58"}, quota(0, 7, 58)},
		{"negative remaining", []string{"X-RateLimit-Remaining: -1", "X-RateLimit-Reset: 58"}, nil},
		{"out of a cache", []string{"Age: 3", `RateLimit: "a";r=0;t=100`}, nil},
		{"fresh", []string{"Age: 0", `RateLimit: "a";r=0;t=100`}, quota(0, 0, 100)},
	} {
		got, ok := retry.ParseQuota(header(c.lines...), now)
		switch {
		case c.want == nil && ok:
			t.Errorf("%s: %+v, want none", c.name, got)
		case c.want != nil && (!ok || got != *c.want):
			t.Errorf("%s: %+v %v, want %+v", c.name, got, ok, *c.want)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{
		"1", "1.5", "Sun, 01 Mar 2026 12:01:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
		`"a";r=7;t=31`, `"a\"";q=1, "b";r=0`, "limit=1, remaining=0, reset=9", "10, 10;w=1", "1772366431", "99999999999999999999", `"`, `"\`,
	} {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		const most = 100 * 365 * 24 * time.Hour
		h := http.Header{
			"Retry-After": {a, b}, "Date": {c}, "Ratelimit": {a}, "Ratelimit-Policy": {b}, "X-Ratelimit-Remaining": {b}, "X-Ratelimit-Reset": {c},
			"X-Ratelimit-Limit": {a},
		}
		if wait, _ := retry.After(h, now); wait < 0 || wait > most {
			t.Errorf("wait %v", wait)
		}
		if q, _ := retry.ParseQuota(h, now); q.Limit < 0 || q.Remaining < 0 || q.Reset < 0 || q.Reset > most {
			t.Errorf("quota %+v", q)
		}
	})
}
