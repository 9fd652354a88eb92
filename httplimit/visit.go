package httplimit

import (
	"context"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/once"
)

// door marks the visits of this package.
type door struct{}

// visit is one request on its way through one middleware: the context that the
// handler gets, and the storage of the header values. It is one allocation, and
// is not used again, since handlers may keep both.
type visit struct {
	once.Visit[door]
	values [maxRateFields]string
}

// newVisit begins the visit of a request.
func (m *middleware) newVisit(s *scratch) *visit {
	v := new(visit)
	v.Begin(s.source.r.Context(), m.identity, s.outer, &s.decision)
	return v
}

// FromContext returns a copy of the decision about the request whose context ctx
// is or comes from; of several limiters in a chain, the innermost one's. There is
// none before a limiter was met, and none after the handler has returned.
func FromContext(ctx context.Context) (stint.Decision, bool) { return once.Of[door](ctx).Decision() }
