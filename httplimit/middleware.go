package httplimit

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/once"
)

// statusClientClosed is what access logs know as "client closed request". Nobody
// receives it.
const statusClientClosed = 499

// isComparable says whether d can be told from other deciders with ==.
func isComparable(d stint.Decider) bool { return reflect.ValueOf(d).Comparable() }

// scratch is what one request needs from its decision to the end of its handler.
type scratch struct {
	decision stint.Decision
	source   source
	outer    *once.Visit[door]
	fields   fields
	body     []byte
}

// pool keeps scratches.
type pool struct{ sync.Pool }

func (p *pool) get() *scratch {
	if s, ok := p.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

// put takes back a scratch that nobody uses any more.
func (p *pool) put(s *scratch) {
	s.source, s.outer = source{}, nil
	p.Put(s)
}

// serve decides about r, and answers it or passes it on. After a panic of a
// handler the scratch is left to the garbage collector.
func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx := r.Context()
	outer := once.Of[door](ctx)
	if outer.Met(m.identity) {
		next.ServeHTTP(w, r)
		return
	}
	s := m.scratch.get()
	s.source, s.outer = source{r: r, clients: m.clients, maxBody: m.maxBody}, outer
	err := m.decider.Decide(ctx, &s.source, &s.decision)
	switch {
	case err == nil:
		m.answer(w, s, next)
	case ctx.Err() != nil:
		abandon(w)
	default:
		m.fail(s, err)
		m.answer(w, s, next)
	}
	m.scratch.put(s)
}

// answer does what the decision says.
func (m *middleware) answer(w http.ResponseWriter, s *scratch, next http.Handler) {
	d := &s.decision
	s.fields.reset()
	m.rateFields(s, w.Header())
	if d.Allowed && d.Delay > 0 {
		switch err := d.Wait(s.source.r.Context()); {
		case errors.Is(err, context.DeadlineExceeded):
			d.Allowed, d.OK, d.Reason, d.RetryAfter = false, false, stint.ReasonLimit, d.Delay
		case err != nil:
			abandon(w)
			return
		}
	}
	if !d.Allowed {
		m.refuse(w, s)
		return
	}
	v := m.newVisit(s)
	if s.fields.n > 0 {
		v.Show()
		s.fields.expose(s.source.r, m.expose)
		s.fields.send(w.Header(), v.values[:])
	}
	next.ServeHTTP(w, s.source.r.WithContext(v))
	v.Leave()
}

// fail makes the decision what options say of a Decider that could not tell.
func (m *middleware) fail(s *scratch, err error) {
	s.decision.Fail(m.failOpen)
	if m.onError != nil {
		m.onError(s.source.r, err)
	}
}

// abandon ends a request whose client is gone. Without a status the server would
// log a request that nobody handled as 200.
func abandon(w http.ResponseWriter) { w.WriteHeader(statusClientClosed) }
