package retry

import (
	"sync"
	"time"
)

// Pacing of a lane whose quota runs low.
const (
	// unknownLow is what is low where the limit is not known.
	unknownLow = 5
	// longestGap is the longest time between two requests before the wall: some
	// servers say when all is back, not when the next unit is.
	longestGap = time.Second
	// probeGap keeps those who waited for a reset apart until the first of them has
	// news.
	probeGap = 250 * time.Millisecond
)

// lane is what is known of one quota. All requests that draw on it share it.
type lane struct {
	mu       sync.Mutex
	quota    Quota // Reset is not used
	known    bool
	reset    time.Time     // when there is more
	next     time.Time     // when the next request may go, while little is left
	inFlight int64         // requests sent and not answered
	news     chan struct{} // closed when the quota changes; nil if nobody waits
}

// enter lets a request in or says how long it is to wait, and for what news. A wait
// longer than most is none: then the server shall say so.
func (l *lane) enter(now time.Time, most time.Duration) (wait time.Duration, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait = l.wait(now); wait > 0 && wait <= most {
		if l.news == nil {
			l.news = make(chan struct{})
		}
		return wait, l.news
	}
	if l.known {
		l.next = now.Add(l.gap(now))
		l.quota.Remaining = max(0, l.quota.Remaining-1)
	}
	l.inFlight++
	return 0, nil
}

// wait is how long the next request is to wait.
func (l *lane) wait(now time.Time) time.Duration {
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
func (l *lane) gap(now time.Time) time.Duration {
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
func (l *lane) low() int64 {
	if l.quota.Limit == 0 {
		return unknownLow
	}
	return l.quota.Limit / 4
}

// leave ends a request without news.
func (l *lane) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
}

// learn ends a request that was answered at now. q is what the answer said of the
// quota, if it did; wall is how long a refusal wants everybody to wait.
func (l *lane) learn(now time.Time, q Quota, told bool, wall time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	switch {
	case wall > 0:
		l.known, l.quota, l.reset = true, Quota{Limit: q.Limit}, later(l.reset, now.Add(wall))
	case !told:
		if l.known && !now.Before(l.reset) {
			l.known = false
		}
	case l.known && l.quota.Remaining == 0 && now.Before(l.reset) && q.Remaining > 0 && l.inFlight > 0:
		// An answer from before the wall.
	default:
		// Those in flight may not be in the server's number yet.
		q.Remaining = max(0, q.Remaining-l.inFlight)
		l.known, l.quota, l.reset = true, q, now.Add(q.Reset)
		if q.Remaining > l.low() {
			l.next = now
		}
	}
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// idle says whether the lane has nothing to tell any more.
func (l *lane) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && l.news == nil && (!l.known || !now.Before(l.reset))
}

// lanes are the quotas of a transport, by what tells one from another.
type lanes struct {
	mu   sync.Mutex
	lane map[string]*lane
}

// of returns the lane of key. There are at most most: then those with nothing to
// tell go, or any one.
func (s *lanes) of(key string, now time.Time, most int) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lane[key]; ok {
		return l
	}
	if s.lane == nil {
		s.lane = make(map[string]*lane)
	}
	if len(s.lane) >= most {
		s.makeRoom(now, most)
	}
	l := new(lane)
	s.lane[key] = l
	return l
}

func (s *lanes) makeRoom(now time.Time, most int) {
	for key, l := range s.lane {
		if l.idle(now) {
			delete(s.lane, key)
		}
	}
	for key := range s.lane {
		if len(s.lane) < most {
			return
		}
		delete(s.lane, key)
	}
}
