package retry

import (
	"testing"
	"time"
)

// noon is when the quotas of tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// entered asks a quota to let a request in after since noon, and fails unless it has to
// wait for want.
func entered(t *testing.T, l *quotaState, since, want time.Duration) {
	t.Helper()
	if _, got, _ := l.enter(noon.Add(since), time.Hour); got != want {
		t.Errorf("after %v: a wait of %v, want %v", since, got, want)
	}
}

// answered tells a quota an answer to a request with a quota, at noon.
func answered(l *quotaState, number int64, q Quota) {
	l.learn(noon, answer{number: number, quota: q, told: true})
}

func TestRequestsAreSpreadWhileLittleIsLeft(t *testing.T) {
	l := new(quotaState)
	entered(t, l, 0, 0)
	answered(l, 1, Quota{Limit: 100, Remaining: 26, Reset: 5 * time.Second})
	entered(t, l, 0, 0)
	entered(t, l, 0, 0) // The last one of what is much.
	entered(t, l, 0, 200*time.Millisecond)
	entered(t, l, 200*time.Millisecond, 0)
	entered(t, l, 200*time.Millisecond, 200*time.Millisecond)
}

func TestWhatIsSentCountsBeforeItIsAnswered(t *testing.T) {
	l := new(quotaState)
	entered(t, l, 0, 0)
	answered(l, 1, Quota{Limit: 8, Remaining: 3, Reset: 10 * time.Second})
	entered(t, l, 0, 0)
	entered(t, l, time.Second, 0)
	entered(t, l, 2*time.Second, 0)
	entered(t, l, 3*time.Second, 7*time.Second)
}

func TestWhatIsInFlightIsNotInAnOldAnswer(t *testing.T) {
	l := new(quotaState)
	for range 3 {
		entered(t, l, 0, 0)
	}
	answered(l, 1, Quota{Limit: 100, Remaining: 2, Reset: 10 * time.Second})
	entered(t, l, 0, 10*time.Second)
	answered(l, 2, Quota{Limit: 100, Remaining: 50, Reset: 10 * time.Second})
	answered(l, 3, Quota{Limit: 100, Remaining: 50, Reset: 10 * time.Second})
	entered(t, l, 0, 0)
}

func TestBehindAWallOneGoesFirst(t *testing.T) {
	l := new(quotaState)
	entered(t, l, 0, 0)
	l.learn(noon, answer{number: 1, wall: 10 * time.Second})
	entered(t, l, 9*time.Second, time.Second)
	entered(t, l, 10*time.Second, 0)
	entered(t, l, 10*time.Second, probeGap)
	l.learn(noon.Add(10*time.Second), answer{number: 2})
	entered(t, l, 10*time.Second, 0)
	entered(t, l, 10*time.Second, 0)
}
