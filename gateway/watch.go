package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// watch ends a request to which no answer begins in time. The transport has a
// bound like it, with a new timer for each request; the timer of a watch is left
// running from one request to the next, and mostly finds nothing to do.
type watch struct {
	bound time.Duration
	timer *time.Timer

	mu      sync.Mutex
	running bool               // the timer
	cancel  context.CancelFunc // nil if there is no request to watch
	since   time.Time          // when the upstream's time began; zero if it is the client's
	expired bool
}

// newWatch returns a watch that watches nothing yet.
func newWatch(bound time.Duration) *watch {
	w := &watch{bound: bound}
	w.timer = time.AfterFunc(bound, w.look)
	w.running = true
	return w
}

// begin returns r with a context that ends when no answer to it comes in time, and
// what ends it otherwise. The time begins now, and again with each part of the
// body.
func (w *watch) begin(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.since, w.expired = cancel, time.Now(), false
	if !w.running {
		w.running = true
		w.timer.Reset(w.bound)
	}
	return r.WithContext(ctx), cancel
}

// pause says that the client, not the upstream, is waited for.
func (w *watch) pause() { w.from(time.Time{}) }

// resume says that the next part of the body, or the answer, is the upstream's.
func (w *watch) resume() { w.from(time.Now()) }

func (w *watch) from(since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = since
}

// look is called when the timer fires.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = w.cancel != nil
	if !w.running {
		return
	}
	left := w.bound
	if !w.since.IsZero() {
		left -= time.Since(w.since)
	}
	if left > 0 {
		w.timer.Reset(left)
		return
	}
	w.running, w.expired = false, true
	w.cancel()
}

// answered ends the watch, and says whether the request was ended by it. The
// context lives on.
func (w *watch) answered() (expired bool) {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = nil
	return w.expired
}
