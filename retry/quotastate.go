package retry

import (
	"sync"
	"time"
)

// Pacing of a quota that runs low.
const (
	// unknownLow is what is low where the limit is not known.
	unknownLow = 5
	// longestGap is the longest time between two requests before the wall: some
	// servers say when all is back, not when the next unit is.
	longestGap = time.Second
	// probeGap spaces requests that waited for a reset until the first answer tells the
	// new quota.
	probeGap = 250 * time.Millisecond
)

// quotaState is what is known of one quota. All requests that draw on it share it.
type quotaState struct {
	mu       sync.Mutex
	quota    Quota // Reset is not used
	known    bool
	reset    time.Time     // when there is more
	next     time.Time     // when the next request may go, while little is left
	inFlight int64         // requests sent and not answered
	sent     int64         // requests sent; the number of the last one
	heard    int64         // sent, when the quota was last learned
	late     int64         // of those up to heard, not answered
	least    int64         // the least that answers to those up to heard said is left
	news     chan struct{} // closed when the quota changes; nil if nobody waits
}

// enter lets a request in and gives it a number, or says how long it is to wait, and
// for what news. A wait longer than most is none: then the server shall say so.
func (l *quotaState) enter(now time.Time, most time.Duration) (number int64, wait time.Duration, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait = l.wait(now); wait > 0 && wait <= most {
		if l.news == nil {
			l.news = make(chan struct{})
		}
		return 0, wait, l.news
	}
	if l.known {
		l.next = now.Add(l.gap(now))
		l.quota.Remaining = max(0, l.quota.Remaining-1)
	}
	l.inFlight++
	l.sent++
	return l.sent, 0, nil
}

// wait is how long the next request is to wait.
func (l *quotaState) wait(now time.Time) time.Duration {
	ahead := now.Before(l.reset)
	if !ahead && l.quota.Remaining > 0 {
		l.known = false
	}
	switch {
	case !l.known:
		return 0
	case ahead && l.quota.Remaining == 0:
		return max(l.reset.Sub(now), l.next.Sub(now))
	}
	return l.next.Sub(now)
}

// gap is the time from the request that goes now to the next one.
func (l *quotaState) gap(now time.Time) time.Duration {
	left := l.reset.Sub(now)
	if left <= 0 {
		return probeGap
	}
	if l.quota.Remaining > l.low() {
		return 0
	}
	return min(left/time.Duration(max(1, l.quota.Remaining)), longestGap)
}

// low is what is little of a quota.
func (l *quotaState) low() int64 {
	if l.quota.Limit == 0 {
		return unknownLow
	}
	return l.quota.Limit / 4
}

// leave ends a request without news.
func (l *quotaState) leave(number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(number)
}

func (l *quotaState) end(number int64) {
	l.inFlight--
	if number <= l.heard {
		l.late--
	}
}

// answer is what a request learned.
type answer struct {
	number int64         // of the request
	quota  Quota         // what the answer said of it,
	told   bool          // if it did
	wall   time.Duration // how long a refusal wants everybody to wait, 0 if it does not say
}

// learn ends a request that was answered at now.
func (l *quotaState) learn(now time.Time, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(a.number)
	late := l.known && a.number <= l.heard
	switch {
	case a.wall > 0:
		reset := now.Add(a.wall)
		if late {
			reset = later(l.reset, reset)
		}
		l.hear(Quota{Limit: a.quota.Limit}, reset)
	case !a.told:
		if l.known && !now.Before(l.reset) {
			l.known = false
		}
	case late:
		if !l.overtaken(a.quota.Remaining) {
			return
		}
	default:
		// Those in flight may or may not be in the server's number yet. What was counted
		// here tells more, unless the server's number contradicts it.
		q := a.quota
		q.Remaining = max(0, q.Remaining-l.inFlight)
		if l.known && now.Before(l.reset) {
			q.Remaining = min(max(l.quota.Remaining, q.Remaining), a.quota.Remaining)
		}
		l.hear(q, now.Add(a.quota.Reset))
		l.least = a.quota.Remaining
		if q.Remaining > l.low() {
			l.next = now
		}
	}
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
}

// hear takes a quota for true.
func (l *quotaState) hear(q Quota, reset time.Time) {
	l.known, l.quota, l.reset = true, q, reset
	l.heard, l.late, l.least = l.sent, l.inFlight, 0
}

// overtaken takes an answer that was on its way when a later one, perhaps, was heard.
// It can say that there is less; that there is more only when all of them are there.
// It says whether there is more.
func (l *quotaState) overtaken(remaining int64) (more bool) {
	l.least = min(l.least, remaining)
	before := l.quota.Remaining
	l.quota.Remaining = min(before, remaining)
	if l.late == 0 {
		l.quota.Remaining = max(l.quota.Remaining, l.least-(l.sent-l.heard))
	}
	return l.quota.Remaining > before
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// idle says whether the quota has nothing to tell any more.
func (l *quotaState) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && l.news == nil && (!l.known || !now.Before(l.reset))
}

// quotaStates are the quotas of a transport, by what tells one from another.
type quotaStates struct {
	mu     sync.Mutex
	states map[string]*quotaState
}

// of returns the state of the quota named key. There are at most most: then some with
// nothing to tell go, or any one.
func (s *quotaStates) of(key string, now time.Time, most int) *quotaState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.states[key]; ok {
		return l
	}
	if s.states == nil {
		s.states = make(map[string]*quotaState)
	}
	if len(s.states) >= most {
		s.makeRoom(now)
	}
	l := new(quotaState)
	s.states[key] = l
	return l
}

// makeRoom looks at a few of the quotas, which are in no order: those with nothing to
// tell go, else the one looked at last.
func (s *quotaStates) makeRoom(now time.Time) {
	const few = 16
	before := len(s.states)
	left := min(few, before)
	for key, l := range s.states {
		left--
		if l.idle(now) || left == 0 && len(s.states) == before {
			delete(s.states, key)
		}
		if left == 0 {
			return
		}
	}
}
