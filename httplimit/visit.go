package httplimit

import (
	"context"
	"sync"

	"github.com/stint-dev/stint"
)

// visitKey is the context key of the innermost visit.
type visitKey struct{}

// visit is one request on its way through one middleware: the context that the
// handler gets, and the storage of the header values. It is one allocation, and
// is not used again, since handlers may keep both.
type visit struct {
	context.Context
	identity any
	outer    *visit
	values   [maxRateFields]string

	mu      sync.Mutex
	scratch *scratch // nil once the handler has returned
}

// newVisit begins the visit of a request.
func (m *middleware) newVisit(s *scratch) *visit {
	return &visit{Context: s.source.r.Context(), identity: m.identity, outer: s.outer, scratch: s}
}

// Value implements context.Context.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// met says whether the request has met the Decider of that identity.
func (v *visit) met(identity any) bool {
	for ; v != nil; v = v.outer {
		if v.identity == identity {
			return true
		}
	}
	return false
}

// leave ends the visit; from then on the scratch is not read.
func (v *visit) leave() {
	v.mu.Lock()
	v.scratch = nil
	v.mu.Unlock()
}

// FromContext returns a copy of the decision about the request whose context ctx
// is or comes from; of several limiters in a chain, the innermost one's. There is
// none before a limiter was met, and none after the handler has returned.
func FromContext(ctx context.Context) (stint.Decision, bool) {
	v, ok := ctx.Value(visitKey{}).(*visit)
	if !ok {
		return stint.Decision{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.scratch == nil {
		return stint.Decision{}, false
	}
	return v.scratch.decision.Clone(), true
}
