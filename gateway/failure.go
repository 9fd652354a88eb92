package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Failure is a way in which an upstream fails a request.
type Failure string

// The ways to fail.
const (
	// Unreachable upstreams take no connection. The client gets 502.
	Unreachable Failure = "unreachable"
	// TimedOut: no answer in time. The client gets 504.
	TimedOut Failure = "timeout"
	// Broken: an answer that is none. The client gets 502.
	Broken Failure = "broken"
	// Cut: an answer that breaks off. The client sees it break off too.
	Cut Failure = "cut"
)

// errAnswerTimeout is the error of a request that the gateway's own bound ended.
var errAnswerTimeout error = &timeoutError{}

type timeoutError struct{}

func (*timeoutError) Error() string   { return "no answer within the time allowed" }
func (*timeoutError) Timeout() bool   { return true }
func (*timeoutError) Temporary() bool { return true }

// fail answers a request that could not be forwarded, or whose answer is none.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	a, ok := w.(*answer)
	if !ok || a.hijacked {
		return
	}
	expired := a.watch.answered()
	if expired {
		err = errAnswerTimeout
	} else if p := clientFault(r, a.body.fault()); p != nil {
		p.write(w, r)
		return
	}
	if !expired && r.Context().Err() != nil { // The client is gone, which is nobody's failure.
		w.WriteHeader(statusClientClosed)
		return
	}
	f := failureOf(err)
	g.health.failed(f, err)
	p := problem{status: http.StatusBadGateway, detail: "The service behind the gateway can not be reached."}
	switch f {
	case TimedOut:
		p = problem{status: http.StatusGatewayTimeout, detail: "The service behind the gateway did not answer in time."}
	case Broken:
		p.detail = "The service behind the gateway gave no valid answer."
	}
	p.write(w, r)
}

// clientFault returns the answer to a request whose body, not the upstream, is the
// reason why it failed.
func clientFault(r *http.Request, err error) *problem {
	var large *http.MaxBytesError
	var timeout net.Error
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.As(err, &timeout) && timeout.Timeout(): // The server then takes the client for gone.
		return &problem{status: http.StatusRequestTimeout, detail: "The rest of the body did not come in time."}
	case errors.Is(r.Context().Err(), context.DeadlineExceeded):
		return &problem{status: http.StatusGatewayTimeout, detail: "The request took too long."}
	case err == nil || r.Context().Err() != nil:
		return nil
	}
	return &problem{status: http.StatusBadRequest, detail: "The body could not be read."}
}

// failureOf says what an error of the transport means.
func failureOf(err error) Failure {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return Unreachable
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return TimedOut
	}
	return Broken
}

// The time between two changes that are said, once there were many of them.
const (
	chattyChanges = 10
	chattyPause   = time.Minute
)

// health remembers whether the upstream failed last, and says so once for each
// change.
type health struct {
	logger *slog.Logger
	tell   func(Failure)

	failing atomic.Bool

	mu      sync.Mutex
	changes int       // said since there was a pause
	last    time.Time // when the last change was said
}

// count tells of a failure that is no change.
func (h *health) count(f Failure) { h.tell(f) }

// failed is called for each request that the upstream failed.
func (h *health) failed(f Failure, err error) {
	h.count(f)
	if h.failing.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failing.Load() {
		return
	}
	h.failing.Store(true)
	h.said()
	message := "upstream unreachable"
	switch f {
	case TimedOut:
		message = "upstream does not answer in time"
	case Broken:
		message = "upstream gives no valid answer"
	}
	h.logger.Error(message, "error", err)
}

// answered is called for each answer.
func (h *health) answered() {
	if !h.failing.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// An upstream that fails and works by turns is said to fail, and not each time
	// again.
	if !h.failing.Load() || h.changes >= chattyChanges && time.Since(h.last) < chattyPause {
		return
	}
	h.failing.Store(false)
	h.said()
	h.logger.Info("upstream reachable again")
}

// said counts a change.
func (h *health) said() {
	now := time.Now()
	if now.Sub(h.last) >= chattyPause {
		h.changes = 0
	}
	h.changes++
	h.last = now
}
