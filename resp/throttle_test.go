package resp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/resp"
)

func TestAnswersAsRedisCellDoes(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, `
		CL.THROTTLE user123 15 30 60 1 => [0 16 15 -1 2]
		CL.THROTTLE user123 15 30 60 => [0 16 14 -1 4]
		cl.throttle user123 15 30 60 10 => [0 16 4 -1 24]
		CL.THROTTLE user123 15 30 60 4 => [0 16 0 -1 32]
		CL.THROTTLE user123 15 30 60 => [1 16 0 2 32]
		CL.THROTTLE user123 15 30 60 3 => [1 16 0 6 32]
		CL.THROTTLE other 15 30 60 => [0 16 15 -1 2]  # a key has a bucket of its own
		500ms
		CL.THROTTLE user123 15 30 60 => [1 16 0 2 32]  # 1.5 s, rounded up
		1499ms
		CL.THROTTLE user123 15 30 60 => [1 16 0 1 31]  # one millisecond
		1ms
		CL.THROTTLE user123 15 30 60 => [0 16 0 -1 32]
		1h
		CL.THROTTLE user123 15 30 60 => [0 16 15 -1 2]  # never more than all
	`)
}

func TestBurstOfNothingIsOneAtATime(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, `
		CL.THROTTLE k 0 1 10 => [0 1 0 -1 10]
		CL.THROTTLE k 0 1 10 => [1 1 0 10 10]
		9999ms
		CL.THROTTLE k 0 1 10 => [1 1 0 1 1]
		1ms
		CL.THROTTLE k 0 1 10 => [0 1 0 -1 10]
	`)
}

func TestQuantityOfNothingLooks(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, `
		CL.THROTTLE k 1 1 10 0 => [0 2 2 -1 0]
		CL.THROTTLE k 1 1 10 0 => [0 2 2 -1 0]
		CL.THROTTLE k 1 1 10 2 => [0 2 0 -1 20]
		CL.THROTTLE k 1 1 10 0 => [0 2 0 -1 20]  # nothing always fits
		CL.THROTTLE k 0 1 10 0 => [0 1 0 -1 10]
		10s
		CL.THROTTLE k 1 1 10 0 => [0 2 1 -1 10]
		CL.THROTTLE k 1 1 10 1 => [0 2 0 -1 20]
	`)
}

func TestMoreThanTheBucketHoldsIsNeverLetThrough(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, `
		CL.THROTTLE k 4 1 10 6 => [1 5 5 -1 0]
		CL.THROTTLE k 4 1 10 9223372036854775807 => [1 5 5 -1 0]
		CL.THROTTLE k 4 1 10 5 => [0 5 0 -1 50]
		CL.THROTTLE k 4 1 10 5 => [1 5 0 50 50]
	`)
}

// TestRefusedChargesNothing: who knocks all the time is let in as soon as others are.
func TestRefusedChargesNothing(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, "CL.THROTTLE k 0 1 10 => [0 1 0 -1 10]")
	for range 9 {
		c.story(clock, "1s")
		if got := c.ask("CL.THROTTLE k 0 1 10"); !strings.HasPrefix(got, "[1 ") {
			t.Fatal(got)
		}
	}
	c.story(clock, "1s\nCL.THROTTLE k 0 1 10 => [0 1 0 -1 10]")
}

// TestIntervalsBelowAMillisecond: with redis-cell a rate of 2,000 a second is an
// error, and one of 1,000 a minute with a burst to match never limits.
func TestIntervalsBelowAMillisecond(t *testing.T) {
	for _, s := range []struct {
		burst, count, period int64
	}{{0, 2000, 1}, {20, 1500, 1}, {1, 8000, 1}, {6000, 6000, 1}, {1000, 1000, 60}, {0, 999_983, 1}, {10, 5_000_000, 1}} {
		c, clock := connect(t)
		command := fmt.Sprintf("CL.THROTTLE k %d %d %d", s.burst, s.count, s.period)
		took := c.ask(fmt.Sprintf("%s %d", command, s.burst+1))
		if !strings.HasPrefix(took, fmt.Sprintf("[0 %d 0 -1 ", s.burst+1)) {
			t.Errorf("%s: %s", command, took)
		}
		if got := c.ask(command); !strings.HasPrefix(got, "[1 ") {
			t.Errorf("%s: %s, want limited", command, got)
		}
		clock.add(1e9)
		due := min(s.burst+1, s.count/s.period)
		if got := c.ask(fmt.Sprintf("%s %d", command, due)); !strings.HasPrefix(got, "[0 ") {
			t.Errorf("%s: %d a second later: %s", command, due, got)
		}
		if got := c.ask(command); due <= s.burst && !strings.HasPrefix(got, "[1 ") {
			t.Errorf("%s: one more than %d: %s", command, due, got)
		}
	}
}

// TestChangedRateKeepsTheUse: redis-cell keeps an instant, which means another use
// under another rate: a faster rate locked the key out, a slower one freed it.
func TestChangedRateKeepsTheUse(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, `
		CL.THROTTLE a 15 10 20 3 => [0 16 13 -1 6]
		CL.THROTTLE a 15 1000 20 1 => [0 16 12 -1 1]  # faster: four are used
		CL.THROTTLE a 15 10 20 1 => [0 16 11 -1 10]  # and slower again: five
		CL.THROTTLE b 99 100 60 90 => [0 100 10 -1 54]
		CL.THROTTLE b 9 100 60 1 => [1 10 0 1 6]  # fewer: all of them are used
		CL.THROTTLE b 199 100 60 1 => [0 200 109 -1 55]  # more: 91
	`)
}

func TestBadArguments(t *testing.T) {
	c, _ := connect(t)
	long := strings.Repeat("k", stint.MaxKey+1)
	for _, args := range []string{
		"", " k", " k 1", " k 1 1", " k 1 1 1 1 1",
		" k -1 1 1", " k 1 0 1", " k 1 -1 1", " k 1 1 0", " k 1 1 -1", " k 1 1 1 -1",
		" k a 1 1", " k 1 1.5 1", " k 1 1 1e3", " k 1 1 1 0x1", " k 1 1 1 +1", " k  1 1", " k 1 1 1 9223372036854775808",
		" k 4503599627370496 1 1", " k 1 1 9999999999999", " k 1 99999999999999999999999999 1",
		" " + long + " 1 1 1", " k 4503599627370495 1 2160000000",
	} {
		if got := c.ask("CL.THROTTLE" + args); !strings.HasPrefix(got, "-ERR ") || len(got) > 400 {
			t.Errorf("%.80s: %.400s", args, got)
		}
	}
	want(t, "afterwards", c.ask("CL.THROTTLE k 0 1 1"), "[0 1 0 -1 1]")
	want(t, "longest key", c.ask("CL.THROTTLE "+long[1:]+" 0 1 1"), "[0 1 0 -1 1]")
	c.write(wire("CL.THROTTLE", "", "0", "1", "1"))
	want(t, "empty key", c.answer(), "[0 1 0 -1 1]")
}

// TestExtremesNeverOverflow: no answer is negative or above the limit, whatever the
// numbers.
func TestExtremesNeverOverflow(t *testing.T) {
	c, clock := connect(t)
	numbers := []int64{0, 1, 2, 7, 1000, 1 << 31, 1 << 40, 1<<52 - 1, 1 << 52, math.MaxInt64}
	for _, burst := range numbers {
		for _, count := range numbers {
			for _, period := range []int64{1, 60, 86400, 2_160_000_000} {
				for _, quantity := range numbers {
					clock.add(1)
					got := c.ask(fmt.Sprintf("CL.THROTTLE k %d %d %d %d", burst, count, period, quantity))
					if strings.HasPrefix(got, "-ERR ") {
						continue
					}
					var limited, limit, left, retry, reset int64
					if _, err := fmt.Sscanf(got, "[%d %d %d %d %d]", &limited, &limit, &left, &retry, &reset); err != nil {
						t.Fatal(got, err)
					}
					if limited>>1 != 0 || limit != burst+1 || left < 0 || left > limit || retry < -1 || retry == 0 || reset < 0 || limited == 0 && retry != -1 {
						t.Fatalf("%d %d %d %d: %s", burst, count, period, quantity, got)
					}
				}
			}
		}
	}
}

// failing is a store that does not answer.
type failing struct{ err error }

func (f failing) Take(context.Context, stint.Micros, []stint.Charge, []stint.Verdict) (stint.Micros, error) {
	return 0, f.err
}

func TestStoreThatDoesNotAnswer(t *testing.T) {
	down := errors.New("redis://:secret@host is down")
	told := make(chan error, 1)
	_, addr := serve(t, resp.Options{Limiter: &stint.Limiter{Store: failing{down}}, OnError: func(err error) { told <- err }})
	got := dial(t, addr).ask("CL.THROTTLE k 1 1 1")
	want(t, "answer", got, "-ERR the rate limiter is unavailable: its store does not answer")
	if err := <-told; !errors.Is(err, down) {
		t.Errorf("told %v", err)
	}
}

// unsure is a store that answers without counts, as for a policy that then allows
// or refuses everything.
type unsure struct{ ok bool }

func (u unsure) Take(_ context.Context, _ stint.Micros, _ []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	for i := range verdicts {
		verdicts[i] = stint.Verdict{OK: u.ok, Remaining: stint.Unknown, RetryAfter: 1e9}
	}
	return 1, stint.ErrDegraded
}

func TestWithoutCounts(t *testing.T) {
	_, open := serve(t, resp.Options{Limiter: &stint.Limiter{Store: unsure{true}}, OnStoreFailure: stint.FailAllow})
	want(t, "allow", dial(t, open).ask("CL.THROTTLE k 4 1 1"), "[0 5 0 -1 0]")
	_, closed := serve(t, resp.Options{Limiter: &stint.Limiter{Store: unsure{false}}, OnStoreFailure: stint.FailDeny})
	want(t, "deny", dial(t, closed).ask("CL.THROTTLE k 4 1 1"), "-ERR the rate limiter is unavailable: its store does not answer")
}
