package httplimit

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"

	"github.com/stint-dev/stint"
)

// statusClientClosed is what access logs know as "client closed request". Nobody
// receives it.
const statusClientClosed = 499

// comparable says whether d can be told from other deciders with ==.
func comparable(d stint.Decider) bool { return reflect.ValueOf(d).Comparable() }

// scratch is what one request needs from its decision to the end of its handler.
type scratch struct {
	decision stint.Decision
	source   source
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
	s.source = source{}
	p.Put(s)
}

// serve decides about r, and answers it or passes it on.
func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx := r.Context()
	outer, _ := ctx.Value(visitKey{}).(*visit)
	if outer.met(m.identity) {
		next.ServeHTTP(w, r)
		return
	}
	s := m.scratch.get()
	s.source = source{r: r, clients: m.clients, maxBody: m.maxBody}
	d := &s.decision
	if err := m.decider.Decide(ctx, &s.source, d); err != nil {
		if ctx.Err() != nil {
			m.scratch.put(s)
			abandon(w)
			return
		}
		m.fail(r, err, d)
	}
	v := &visit{Context: ctx, identity: m.identity, outer: outer, scratch: s}
	s.fields.reset()
	m.rateFields(&s.fields, d)
	if d.Allowed {
		m.pass(w, r, next, v)
	} else {
		m.refuse(w, r, v)
	}
	// After a panic of the handler the scratch is left to the garbage collector.
	m.scratch.put(v.leave())
}

// pass lets an allowed request go on, after its delay.
func (m *middleware) pass(w http.ResponseWriter, r *http.Request, next http.Handler, v *visit) {
	d := &v.scratch.decision
	if d.Delay > 0 {
		switch err := d.Wait(v.Context); {
		case errors.Is(err, context.DeadlineExceeded):
			d.Allowed, d.OK, d.Reason, d.RetryAfter = false, false, stint.ReasonLimit, d.Delay
			m.refuse(w, r, v)
			return
		case err != nil:
			abandon(w)
			return
		}
	}
	f := &v.scratch.fields
	if f.n > 0 {
		f.expose(r, m.expose)
		f.send(w.Header(), &v.values)
	}
	next.ServeHTTP(w, r.WithContext(v))
}

// fail makes d the answer of a Decider that could not tell.
func (m *middleware) fail(r *http.Request, err error, d *stint.Decision) {
	d.Clear()
	if m.failOpen {
		d.Allowed = true
	} else {
		d.Refuse(stint.ReasonUnavailable, stint.Result{})
	}
	d.Degraded = true
	if m.onError != nil {
		m.onError(r, err)
	}
}

// abandon ends a request whose client is gone. Without a status the server would
// log a request that nobody handled as 200.
func abandon(w http.ResponseWriter) { w.WriteHeader(statusClientClosed) }
