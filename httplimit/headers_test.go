package httplimit_test

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
)

func TestC047NumbersOfTheDecisionNotOfALaterClock(t *testing.T) {
	c := newClock()
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.add(2 * time.Second)
		w.WriteHeader(http.StatusOK)
	})
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, c, "5 per minute")})(slow)
	for range 4 {
		c.at(10)
		get(t, h)
	}
	c.at(59.999)
	res := get(t, h)
	wantHeader(t, res, "X-RateLimit-Remaining", "0")
	wantHeader(t, res, "X-RateLimit-Reset", "1")
	wantHeader(t, res, "RateLimit", `"default";r=0;t=1`)
}

func TestC097RetryAfterIsRoundedUp(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit string
		algo  stint.Algorithm
		at    float64
		want  string
	}{
		{"token bucket", "1 per 1200ms", algo.TokenBucket, 0, "2"},
		{"fixed window, early", "1 per minute", algo.FixedWindow, 0.1, "60"},
		{"fixed window, late", "1 per minute", algo.FixedWindow, 59.4, "1"},
		{"log", "1 per 2500ms", algo.SlidingWindowLog, 0, "3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClock()
			s := &httplimit.Single{Limiter: newLimiter(t, c), Policy: newPolicy(t, "p", tt.limit, tt.algo), Key: httplimit.ByIP}
			h := newMiddleware(t, httplimit.Options{Decider: s})(hello)
			c.at(tt.at)
			wantString(t, "first two", statuses(t, h, 1), "A")
			res := get(t, h)
			wantString(t, "second", letter(res), "D")
			wantHeader(t, res, "Retry-After", tt.want)
			wait, _ := strconv.Atoi(res.Header.Get("Retry-After"))
			c.add(time.Duration(wait) * time.Second)
			wantString(t, "after the wait", statuses(t, h, 1), "A")
		})
	}
}

func TestC099RetryAfterIsTheNextSlot(t *testing.T) {
	stream := func(h http.Handler, c *clock) *answer {
		for i := range 10 {
			c.at(float64(2 * i))
			get(t, h)
		}
		c.at(20)
		return get(t, h)
	}
	for _, tt := range []struct {
		name  string
		limit string
		algo  stint.Algorithm
		run   func(h http.Handler, c *clock) *answer
		want  string
	}{
		{"near the end of a window", "2 per 20s", algo.FixedWindow, func(h http.Handler, c *clock) *answer {
			statuses(t, h, 2)
			c.at(19)
			return get(t, h)
		}, "1"},
		{"log", "10 per minute", algo.SlidingWindowLog, stream, "40"},
		{"window", "10 per minute", algo.FixedWindow, stream, "40"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClock()
			s := &httplimit.Single{Limiter: newLimiter(t, c), Policy: newPolicy(t, "p", tt.limit, tt.algo), Key: httplimit.ByIP}
			res := tt.run(newMiddleware(t, httplimit.Options{Decider: s})(hello), c)
			wantString(t, "status", letter(res), "D")
			wantHeader(t, res, "Retry-After", tt.want)
		})
	}
}

func TestC100RetryAfterOnlyOnRefusals(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "5 per minute")})(hello)
	for i, remaining := range []string{"4", "3", "2", "1", "0", "0"} {
		res := get(t, h)
		wantHeader(t, res, "X-RateLimit-Limit", "5")
		wantHeader(t, res, "X-RateLimit-Remaining", remaining)
		wantHeader(t, res, "X-RateLimit-Reset", "60")
		if i < 5 {
			wantHeader(t, res, "Retry-After")
		} else {
			wantHeader(t, res, "Retry-After", "60")
		}
	}
}

func TestC103NothingGoesBelowZero(t *testing.T) {
	for _, tt := range []struct {
		algo  stint.Algorithm
		retry string
	}{{algo.FixedWindow, "9"}, {algo.SlidingWindowCounter, ""}} {
		t.Run(tt.algo.Name(), func(t *testing.T) {
			c := newClock()
			s := &httplimit.Single{Limiter: newLimiter(t, c), Policy: newPolicy(t, "p", "3 per 10s", tt.algo), Key: httplimit.ByIP}
			h := newMiddleware(t, httplimit.Options{Decider: s, Headers: httplimit.XRateLimit | httplimit.IETF})(hello)
			check := func(res *answer) {
				t.Helper()
				for name, values := range res.Header {
					if strings.Contains(strings.Join(values, " "), "-") && strings.Contains(name, "Ratelimit") {
						t.Errorf("%s: %q", name, values)
					}
				}
			}
			c.at(1)
			for _, want := range []string{"2", "1", "0", "0", "0", "0"} {
				res := get(t, h)
				wantHeader(t, res, "X-RateLimit-Remaining", want)
				check(res)
				if tt.retry != "" && letter(res) == "D" {
					wantHeader(t, res, "Retry-After", tt.retry)
				}
			}
			if c.at(10); tt.algo == algo.FixedWindow {
				res := get(t, h)
				wantString(t, "t=10", letter(res), "A")
				check(res)
			}
			c.at(25)
			res := get(t, h)
			wantString(t, "t=25", letter(res), "A")
			check(res)
		})
	}
}

func TestC104OnlyTheHeadersThatWereSwitchedOn(t *testing.T) {
	for _, tt := range []struct {
		name    string
		headers httplimit.Headers
		want    []string
	}{
		{"none", httplimit.NoHeaders, nil},
		{"x-ratelimit", httplimit.XRateLimit, []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}},
		{"ietf", httplimit.IETF, []string{"Ratelimit", "Ratelimit-Policy"}},
		{"github", httplimit.GitHub, []string{
			"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Resource", "X-Ratelimit-Used",
		}},
		{"default", 0, []string{
			"Ratelimit", "Ratelimit-Policy", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := httplimit.Options{Decider: newSingle(t, newClock(), "1 per minute"), Headers: tt.headers}
			h := newMiddleware(t, o)(hello)
			for _, status := range []int{http.StatusOK, http.StatusTooManyRequests} {
				res := get(t, h)
				if res.StatusCode != status {
					t.Fatalf("status %d, want %d", res.StatusCode, status)
				}
				var got []string
				for name, values := range res.Header {
					if strings.Contains(strings.ToLower(name), "ratelimit") {
						got = append(got, name)
						if len(values) != 1 {
							t.Errorf("%s: %q", name, values)
						}
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, tt.want) {
					t.Errorf("status %d: headers %q, want %q", status, got, tt.want)
				}
				if names := tt.headers.Names(); len(names) != len(tt.want) {
					t.Errorf("Names: %q, want %q", names, tt.want)
				}
			}
		})
	}
}

func TestIETFListsAllEnforcedPolicies(t *testing.T) {
	limiter := newLimiter(t, newClock())
	charges := []stint.Charge{
		{Policy: newPolicy(t, "burst", "100 per minute, burst 20", algo.TokenBucket), Ask: stint.Ask{Cost: 1}},
		{Policy: newPolicy(t, "tried", "1 per minute", algo.TokenBucket), Ask: stint.Ask{Cost: 1}, Shadow: true},
		{Policy: stint.Unlimited("free"), Ask: stint.Ask{Cost: 1}},
		{Policy: newPolicy(t, `say "day"`, "3 per day", algo.FixedWindow), Ask: stint.Ask{Cost: 1}},
	}
	d := decide(func(_ stint.Source, d *stint.Decision) error { return limiter.Decide(t.Context(), charges, d) })
	h := newMiddleware(t, httplimit.Options{Decider: d})(hello)
	res := get(t, h)
	wantHeader(t, res, "RateLimit-Policy", `"burst";q=20;w=12, "say \"day\"";q=3;w=86400`)
	wantHeader(t, res, "RateLimit", `"burst";r=19;t=1, "say \"day\"";r=2;t=86400`)
	wantHeader(t, res, "X-RateLimit-Limit", "3")
	get(t, h)
	get(t, h)
	res = get(t, h)
	wantString(t, "fourth", letter(res), "D")
	wantHeader(t, res, "Retry-After", "86400")
	wantHeader(t, res, "RateLimit", `"burst";r=17;t=1, "say \"day\"";r=0;t=86400`)
	if !strings.Contains(res.Body, `"violated-policies":["say \"day\""]`) {
		t.Errorf("body %s", res.Body)
	}
}

func TestNoRateHeadersWithoutAnEnforcedLimit(t *testing.T) {
	limiter := newLimiter(t, newClock())
	for name, charges := range map[string][]stint.Charge{
		"no rule":   nil,
		"shadow":    {{Policy: newPolicy(t, "tried", "1 per minute", algo.TokenBucket), Ask: stint.Ask{Cost: 1}, Shadow: true}},
		"unlimited": {{Policy: stint.Unlimited("free"), Ask: stint.Ask{Cost: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(func(_ stint.Source, d *stint.Decision) error { return limiter.Decide(t.Context(), charges, d) })
			h := newMiddleware(t, httplimit.Options{Decider: d, Headers: httplimit.GitHub | httplimit.IETF})(hello)
			for range 2 {
				res := get(t, h, "Origin: https://app.example")
				wantString(t, "status", letter(res), "A")
				for name := range res.Header {
					if name != "Content-Type" {
						t.Errorf("header %s", name)
					}
				}
			}
		})
	}
}

func TestUnusedPolicyHasNoT(t *testing.T) {
	limiter := newLimiter(t, newClock())
	policy := newPolicy(t, "p", "5 per second", algo.TokenBucket)
	d := decide(func(_ stint.Source, d *stint.Decision) error {
		return limiter.Decide(t.Context(), []stint.Charge{{Policy: policy}}, d)
	})
	res := get(t, newMiddleware(t, httplimit.Options{Decider: d})(hello))
	wantHeader(t, res, "RateLimit", `"p";r=5`)
	wantHeader(t, res, "X-RateLimit-Reset", "0")
}

func TestGitHubCountsUseAndNamesTheMoment(t *testing.T) {
	c := newClock()
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, c, "5 per minute"), Headers: httplimit.GitHub})(hello)
	c.at(1.5)
	get(t, h)
	res := get(t, h)
	wantHeader(t, res, "X-RateLimit-Limit", "5")
	wantHeader(t, res, "X-RateLimit-Remaining", "3")
	wantHeader(t, res, "X-RateLimit-Used", "2")
	wantHeader(t, res, "X-RateLimit-Reset", strconv.FormatInt(start.Unix()+60, 10))
	wantHeader(t, res, "X-RateLimit-Resource", "default")
}

func TestEpochReset(t *testing.T) {
	c := newClock()
	o := httplimit.Options{Decider: newSingle(t, c, "5 per minute"), Headers: httplimit.XRateLimit, EpochReset: true}
	res := get(t, newMiddleware(t, o)(hello))
	wantHeader(t, res, "X-RateLimit-Reset", strconv.FormatInt(start.Unix()+60, 10))
}

func TestLargeNumbersStayIntegersOfStructuredFields(t *testing.T) {
	d := decide(func(_ stint.Source, d *stint.Decision) error {
		d.Allowed, d.Result = true, stint.Result{
			Policy: "huge", Capacity: stint.MaxUnits, Limit: stint.Limit{Count: 1, Window: math.MaxInt64},
			Verdict: stint.Verdict{OK: true, Remaining: stint.MaxUnits - 1, NextAfter: stint.Never, ResetAfter: stint.Never},
		}
		return nil
	})
	res := get(t, newMiddleware(t, httplimit.Options{Decider: d})(hello))
	wantHeader(t, res, "RateLimit-Policy", `"huge";q=999999999999999;w=999999999999999`)
	wantHeader(t, res, "RateLimit", `"huge";r=999999999999999`)
}

func TestExposeHeadersToScripts(t *testing.T) {
	const names = "X-Ratelimit-Limit, X-Ratelimit-Remaining, X-Ratelimit-Reset, Ratelimit-Policy, Ratelimit"
	outer := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Expose-Headers", "X, ratelimit, X-Request-Id")
			next.ServeHTTP(w, r)
		})
	}
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "2 per minute")})(hello)
	wantHeader(t, get(t, h), "Access-Control-Expose-Headers")
	wantHeader(t, get(t, h, "Origin: https://app.example"), "Access-Control-Expose-Headers", names)
	wantHeader(t, get(t, outer(h), "Origin: https://app.example"), "Access-Control-Expose-Headers",
		"X, ratelimit, X-Request-Id", strings.Replace(names, ", Ratelimit,", ",", 1)[:len(names)-len(", Ratelimit")]+", Retry-After")

	o := httplimit.Options{Decider: newSingle(t, newClock(), "2 per minute"), KeepFromScripts: true}
	wantHeader(t, get(t, newMiddleware(t, o)(hello), "Origin: https://app.example"), "Access-Control-Expose-Headers")
}

func TestParseHeaders(t *testing.T) {
	for _, tt := range []struct {
		names string
		want  httplimit.Headers
		fault string
	}{
		{"", httplimit.DefaultHeaders, ""},
		{"none", httplimit.NoHeaders, ""},
		{"github ietf", httplimit.GitHub | httplimit.IETF, ""},
		{"x-ratelimit", httplimit.XRateLimit, ""},
		{"none ietf", 0, "no other profile"},
		{"x-ratelimit github", 0, "choose one"},
		{"kong", 0, `"kong": write x-ratelimit`},
	} {
		got, err := httplimit.ParseHeaders(strings.Fields(tt.names))
		if got != tt.want || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q: %v, %v; want %v, %q", tt.names, got, err, tt.want, tt.fault)
		}
	}
}
