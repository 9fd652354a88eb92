package grpclimit

import (
	"context"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/once"
)

// door marks the visits of this package.
type door struct{}

// visit is one call on its way through one interceptor: the context that the
// handler gets.
type visit = once.Visit[door]

// visit begins the visit of a call.
func (l *Limit) visit(ctx context.Context, s *scratch) *visit {
	v := new(visit)
	v.Begin(ctx, l.identity, once.Of[door](ctx), &s.decision)
	if s.fields.n > 0 && l.headers&XRateLimit != 0 {
		v.Show()
	}
	return v
}

// met says whether the call of ctx has met the Decider of l.
func (l *Limit) met(ctx context.Context) bool { return once.Of[door](ctx).Met(l.identity) }

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

// FromContext returns a copy of the decision about the call whose context ctx is or
// comes from; of several limiters in a chain, the innermost one's. On a stream it is
// the one about its opening. There is none before a limiter was met, and none after
// the handler has returned.
func FromContext(ctx context.Context) (stint.Decision, bool) { return once.Of[door](ctx).Decision() }
