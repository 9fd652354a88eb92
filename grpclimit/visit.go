package grpclimit

import (
	"context"
	"sync"

	"github.com/stint-dev/stint"
)

// visitKey is the context key of the innermost visit.
type visitKey struct{}

// visit is one call on its way through one interceptor: the context that the
// handler gets. It is not used again, since handlers may keep it.
type visit struct {
	context.Context
	identity any
	outer    *visit

	mu      sync.Mutex
	scratch *scratch // nil once the handler has returned
}

// scratch is what one call needs from its decision to the end of its handler.
type scratch struct {
	decision stint.Decision
	source   source
	fields   fields
}

func (l *Limit) borrow() *scratch {
	if s, ok := l.scratch.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

// giveBack takes back a scratch that nobody uses any more.
func (l *Limit) giveBack(s *scratch) {
	s.source = source{}
	l.scratch.Put(s)
}

// Value implements context.Context.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// met says whether the call of ctx has met the Decider of that identity.
func met(ctx context.Context, identity any) bool {
	v, _ := ctx.Value(visitKey{}).(*visit)
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

// FromContext returns a copy of the decision about the call whose context ctx is or
// comes from; of several limiters in a chain, the innermost one's. On a stream it is
// the one about its opening. There is none before a limiter was met, and none after
// the handler has returned.
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
