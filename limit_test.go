package stint_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]stint.Limit{
		"100 per minute":                {Count: 100, Window: time.Minute},
		"100 per minute, burst 20":      {Count: 100, Window: time.Minute, Burst: 20},
		"100/1m burst 20":               {Count: 100, Window: time.Minute, Burst: 20},
		"100/m":                         {Count: 100, Window: time.Minute},
		"5 an hour":                     {Count: 5, Window: time.Hour},
		"100 requests per minute":       {Count: 100, Window: time.Minute},
		"5 req/s":                       {Count: 5, Window: time.Second},
		"5 a day":                       {Count: 5, Window: 24 * time.Hour},
		"5 every 2 weeks":               {Count: 5, Window: 14 * 24 * time.Hour},
		"5 each second":                 {Count: 5, Window: time.Second},
		"5 in 10 secs":                  {Count: 5, Window: 10 * time.Second},
		"1_000 per 30 seconds":          {Count: 1000, Window: 30 * time.Second},
		"1,000,000 per 1h":              {Count: 1_000_000, Window: time.Hour},
		"1000 per 1m30s":                {Count: 1000, Window: 90 * time.Second},
		"1000 per 1.5h":                 {Count: 1000, Window: 90 * time.Minute},
		"1000 per 30d":                  {Count: 1000, Window: 30 * 24 * time.Hour},
		"0 per minute":                  {Count: 0, Window: time.Minute},
		"  7   per   3 ms  ,  burst  9": {Count: 7, Window: 3 * time.Millisecond, Burst: 9},
		"4503599627370496 per µs":       {Count: stint.MaxUnits, Window: time.Microsecond},
		"200_000_000_000 per s":         {Count: 200_000_000_000, Window: time.Second},
	} {
		if got, err := stint.ParseLimit(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// TestParseLimitSaysWhatToWrite: each error names the text and a way out.
func TestParseLimitSaysWhatToWrite(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  `write it like "100 per minute"`,
		"100":                               "has no window",
		"per minute":                        "has no window",
		"x per minute":                      `"x" is not a whole number`,
		"1.5 per minute":                    `"1.5" is not a whole number`,
		"1,00 per minute":                   "write 1000 or 1_000",
		"-1 per minute":                     "write 0 to refuse everything",
		"5 per fortnight":                   "write 2 weeks",
		"5 per 1.5 minutes":                 "write a duration such as 1m30s",
		"5 apples per minute":               `"5 apples" is not a whole number`,
		"5 per month":                       "30 days",
		"5 per 2 years":                     "write days",
		"5 per 1M":                          "write m",
		"5 per Minute":                      "write minute",
		"5 per moment":                      "second, minute, hour, day or week",
		"5 per 10":                          "10s or 10 seconds",
		"5 per 0s":                          "longer than 0",
		"5 per 0 seconds":                   "longer than 0",
		"5 per -1s":                         "longer than 0",
		"5 per 10ns":                        "whole number of microseconds",
		"5 per 99999999999 weeks":           "too long",
		"10000000000000000000 per s":        "too large: at most 4503599627370496",
		"9223372036854775807 per s":         "too large",
		"18446744073709551616 per s":        "too large",
		"5 per minute, burst 0":             "leave burst out",
		"5 per minute, burst -1":            "is negative",
		"5 per minute, burst":               "is not a whole number",
		"5 per minute, burst 3, burst 4":    "is not a whole number",
		"5 per " + strings.Repeat("m", 200): "a limit of 206 characters",
	} {
		if l, err := stint.ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v; want an error that says %q", text, l, err, want)
		}
	}
}

// TestLimitString: a limit is written as people write it.
func TestLimitString(t *testing.T) {
	for want, l := range map[string]stint.Limit{
		"100 per minute":           {Count: 100, Window: time.Minute},
		"100 per minute, burst 20": {Count: 100, Window: time.Minute, Burst: 20},
		"5 per hour":               {Count: 5, Window: time.Hour},
		"5 per 2h":                 {Count: 5, Window: 2 * time.Hour},
		"5 per 10m":                {Count: 5, Window: 10 * time.Minute},
		"5 per 1h10m":              {Count: 5, Window: 70 * time.Minute},
		"5 per 720h":               {Count: 5, Window: 30 * 24 * time.Hour},
		"5 per 1.5s":               {Count: 5, Window: 1500 * time.Millisecond},
		"5 per 7µs":                {Count: 5, Window: 7 * time.Microsecond},
		"0 per week":               {Window: 7 * 24 * time.Hour},
	} {
		if got := l.String(); got != want {
			t.Errorf("%+v is written %q, want %q", l, got, want)
		}
	}
}

func TestLimitCapacity(t *testing.T) {
	if got := (stint.Limit{Count: 100, Window: time.Second}).Capacity(); got != 100 {
		t.Errorf("without a burst %d, want the count", got)
	}
	if got := (stint.Limit{Count: 100, Window: time.Second, Burst: 7}).Capacity(); got != 7 {
		t.Errorf("with a burst of 7: %d", got)
	}
}

// FuzzParseLimit: what is read can be written, and reads the same again.
func FuzzParseLimit(f *testing.F) {
	for _, seed := range []string{"100 per minute", "100/1m burst 20", "5 an hour", "1_000 per 30 seconds, burst 7", "1 per 1h0m0.5s", "0 per 25000d", "5 in 10 secs", "1,000 per µs"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := stint.ParseLimit(text)
		if err != nil {
			if l != (stint.Limit{}) {
				t.Fatalf("%q is an error and %+v", text, l)
			}
			return
		}
		if l.Count < 0 || l.Count > stint.MaxUnits || l.Window <= 0 || l.Window%time.Microsecond != 0 || l.Burst < 0 || l.Burst > stint.MaxUnits {
			t.Fatalf("%q is %+v", text, l)
		}
		again, err := stint.ParseLimit(l.String())
		if l.Burst == l.Count {
			l.Burst = 0 // which says the same
		}
		if err != nil || again != l {
			t.Fatalf("%q is %+v, written %q, which is %+v, %v", text, l, l.String(), again, err)
		}
	})
}
