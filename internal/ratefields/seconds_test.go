package ratefields

import (
	"testing"
	"time"

	"github.com/stint-dev/stint"
)

func TestSecondsRoundUp(t *testing.T) {
	for _, c := range []struct {
		w    time.Duration
		want int64
	}{
		{-time.Hour, 0},
		{0, 0},
		{1, 1},
		{time.Second, 1},
		{time.Second + 1, 2},
		{stint.Never, 9223372037},
	} {
		if got := Seconds(c.w); got != c.want {
			t.Errorf("%v is %d s, want %d", c.w, got, c.want)
		}
	}
}

func TestResetAtRoundsUp(t *testing.T) {
	for _, c := range []struct {
		at    stint.Micros
		after time.Duration
		want  int64
	}{
		{0, 0, 0},
		{10_000_000, 0, 10},
		{10_000_000, time.Microsecond, 11},
		{10_400_000, 600 * time.Millisecond, 11},
	} {
		d := stint.Decision{At: c.at}
		d.ResetAfter = c.after
		if got := ResetAt(&d); got != c.want {
			t.Errorf("%v after %d: %d, want %d", c.after, c.at, got, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		reason stint.Reason
		wait   time.Duration
		want   int64
	}{
		{stint.ReasonLimit, 1500 * time.Millisecond, 2},
		{stint.ReasonLimit, time.Second, 1},
		{stint.ReasonLimit, 0, 1},
		{stint.ReasonLimit, stint.Never, 0},
		{stint.ReasonUnavailable, 0, 1},
		{stint.ReasonUnavailable, 5 * time.Second, 5},
		{stint.ReasonNever, stint.Never, 0},
		{stint.ReasonBlocked, time.Second, 0},
		{stint.ReasonMissingKey, 0, 0},
		{stint.ReasonTooLarge, 0, 0},
		{"", 0, 0},
		{"", time.Millisecond, 1},
	} {
		d := stint.Decision{Reason: c.reason}
		d.RetryAfter = c.wait
		if got := RetryAfter(&d); got != c.want {
			t.Errorf("%q, %v: %d, want %d", c.reason, c.wait, got, c.want)
		}
	}
}
