// Package once knows which limiters a request has met on its way through the handlers
// of a door, so that none charges it twice, and what the innermost one decided.
package once

import (
	"context"
	"sync"

	"github.com/stint-dev/stint"
)

// Visit is a request on its way through one limiter: the context that the handler
// gets. Door is an empty struct of the door's own, since doors do not see each other's
// visits. A Visit begins with [Visit.Begin] and is not used again, since handlers may
// keep it. It must not be copied.
type Visit[Door comparable] struct {
	context.Context
	identity any
	outer    *Visit[Door]

	shown bool // set before the handler gets the visit

	mu       sync.Mutex
	decision *stint.Decision // nil once the handler has returned
}

// Of returns the innermost visit of the request whose context ctx is or comes from;
// nil if it has met no limiter.
func Of[Door comparable](ctx context.Context) *Visit[Door] {
	var door Door
	v, _ := ctx.Value(door).(*Visit[Door])
	return v
}

// Begin begins the visit of a request with the context ctx. Identity tells limiters
// apart with ==, outer is [Of] ctx, and d the decision, which is read until
// [Visit.Leave].
func (v *Visit[Door]) Begin(ctx context.Context, identity any, outer *Visit[Door], d *stint.Decision) {
	v.Context, v.identity, v.outer, v.decision = ctx, identity, outer, d
}

// Value implements [context.Context].
func (v *Visit[Door]) Value(key any) any {
	if _, ok := key.(Door); ok {
		return v
	}
	return v.Context.Value(key)
}

// Met says whether the request has met the limiter of that identity, in this visit or
// one outside of it. A nil Visit has met none.
func (v *Visit[Door]) Met(identity any) bool {
	for ; v != nil; v = v.outer {
		if v.identity == identity {
			return true
		}
	}
	return false
}

// Show says that the client is told the numbers of the decision. It is called before
// the handler gets the visit.
func (v *Visit[Door]) Show() { v.shown = true }

// Shown says whether is holds for the decision of this visit or one outside of it, of
// those that the client is told and that have not ended. A nil Visit has none. The
// decision is not the callee's to keep.
func (v *Visit[Door]) Shown(is func(d *stint.Decision) bool) bool {
	for ; v != nil; v = v.outer {
		if v.shown && v.holds(is) {
			return true
		}
	}
	return false
}

func (v *Visit[Door]) holds(is func(d *stint.Decision) bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.decision != nil && is(v.decision)
}

// Leave ends the visit; from then on the decision is not read.
func (v *Visit[Door]) Leave() {
	v.mu.Lock()
	v.decision = nil
	v.mu.Unlock()
}

// Decision returns a copy of the decision; there is none in a nil Visit and after
// [Visit.Leave].
func (v *Visit[Door]) Decision() (stint.Decision, bool) {
	if v == nil {
		return stint.Decision{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.decision == nil {
		return stint.Decision{}, false
	}
	return v.decision.Clone(), true
}
