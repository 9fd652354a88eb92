package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/wire"
)

// decideN is the type of Options.DecideN.
type decideN = func(ctx context.Context, src stint.Source, n int64, d *stint.Decision) error

// statusClientClosed is what access logs know as "client closed request". Nobody
// receives it.
const statusClientClosed = 499

// Storage that has grown above these is not kept.
const (
	keepBytes  = 256 << 10
	keepChecks = 256
)

// scratch is what one request needs.
type scratch struct {
	body     []byte
	question wire.Question
	charges  []stint.Charge
	ends     []int // where the charges of each check end
	source   source
	decision stint.Decision
	answer   []byte
}

func (s *Server) borrow() *scratch {
	if c, ok := s.scratch.Get().(*scratch); ok {
		return c
	}
	return new(scratch)
}

// putBack takes back a scratch that nobody uses any more.
func (s *Server) putBack(c *scratch) {
	if cap(c.body) > keepBytes || cap(c.answer) > keepBytes || cap(c.question.Checks) > keepChecks {
		return
	}
	clear(c.charges)
	c.body, c.charges, c.ends, c.answer, c.source = c.body[:0], c.charges[:0], c.ends[:0], c.answer[:0], source{}
	s.scratch.Put(c)
}

// check answers POST /v1/check.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	s.ask(w, r, aCheck)
}

// refund answers POST /v1/refund.
func (s *Server) refund(w http.ResponseWriter, r *http.Request) {
	s.ask(w, r, aRefund)
}

// ask answers a question over HTTP.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, kind kind) {
	c := s.borrow()
	defer s.putBack(c)
	var p *problem
	if c.body, p = s.readBody(r, c.body); p == nil {
		p = s.decideAll(r.Context(), c, kind)
	}
	switch {
	case p != nil:
		p.write(w, r)
	case r.Context().Err() != nil:
		w.WriteHeader(statusClientClosed)
	default:
		send(w, r, message{status: http.StatusOK, contentType: "application/json", body: c.answer})
	}
}

// kind is what is asked for.
type kind uint8

const (
	aCheck kind = iota
	aRefund
)

// parse reads a question of this kind.
func (k kind) parse(text string, q *wire.Question) error {
	if k == aRefund {
		return wire.ParseRefund(text, q)
	}
	return wire.ParseQuestion(text, q)
}

// sign is what costs of this kind are multiplied by.
func (k kind) sign() int64 {
	if k == aRefund {
		return -1
	}
	return 1
}

// decideAll answers the question in c.body into c.answer. When ctx ends the answer
// is worth nothing.
func (s *Server) decideAll(ctx context.Context, c *scratch, k kind) *problem {
	if err := k.parse(string(c.body), &c.question); err != nil {
		return badQuestion(err)
	}
	if p := s.find(c, k.sign()); p != nil {
		return p
	}
	if !c.question.Batch {
		s.decideOne(ctx, c, 0)
		c.answer = append(wire.AppendDecision(c.answer, &c.decision), '\n')
		return nil
	}
	c.answer = wire.AppendDecisions(c.answer, len(c.question.Checks), func(b []byte, i int) []byte {
		if ctx.Err() != nil {
			return b
		}
		s.decideOne(ctx, c, i)
		return wire.AppendDecision(b, &c.decision)
	})
	c.answer = append(c.answer, '\n')
	return nil
}

// badQuestion is the problem of an error about a question.
func badQuestion(err error) *problem {
	p := &problem{status: http.StatusBadRequest, detail: err.Error()}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		p.detail, p.pointer = e.Detail, e.Pointer
	}
	return p
}

// find looks up the charges of all checks, so that a question with a mistake in
// its last one charges nothing.
func (s *Server) find(c *scratch, sign int64) *problem {
	for i := range c.question.Checks {
		check := &c.question.Checks[i]
		start := len(c.charges)
		for j := range check.Charges {
			if p := s.findOne(c, check.Charges[j], sign); p != nil {
				return p.in(&c.question, i, fmt.Sprintf("/charges/%d", j))
			}
		}
		if n := len(c.charges) - start; n > stint.MaxCharges {
			detail := fmt.Sprintf("these rules have %d limits: one check can have %d, so ask about fewer rules", n, stint.MaxCharges)
			return (&problem{status: http.StatusBadRequest, detail: detail}).in(&c.question, i, "/charges")
		}
		if len(check.Charges) == 0 && check.Request.Cost != 1 && s.decideN == nil {
			detail := "this server knows no cost of described requests: leave it out, and let the rules say what a request costs"
			return (&problem{status: http.StatusBadRequest, detail: detail}).in(&c.question, i, "/cost")
		}
		c.ends = append(c.ends, len(c.charges))
	}
	return nil
}

// findOne appends the charges of one rule.
func (s *Server) findOne(c *scratch, ask wire.Charge, sign int64) *problem {
	if s.charger == nil {
		return &problem{status: http.StatusBadRequest, detail: "this server knows no rules by name: describe a request instead"}
	}
	var err error
	if c.charges, err = s.charger.AppendCharge(c.charges, ask.Rule, ask.Key, sign*ask.Cost); err != nil {
		return &problem{status: http.StatusBadRequest, detail: err.Error()}
	}
	return nil
}

// in says in which check of a question the problem is.
func (p *problem) in(q *wire.Question, i int, pointer string) *problem {
	if p.pointer = pointer; q.Batch {
		p.pointer = fmt.Sprintf("/checks/%d%s", i, pointer)
	}
	return p
}

// decideOne decides about the i-th check.
func (s *Server) decideOne(ctx context.Context, c *scratch, i int) {
	check := &c.question.Checks[i]
	start := 0
	if i > 0 {
		start = c.ends[i-1]
	}
	d := &c.decision
	var err error
	switch {
	case len(check.Charges) > 0:
		err = s.limiter.Decide(ctx, c.charges[start:c.ends[i]], d)
	case check.Request.Cost == 1:
		c.source = source{r: &check.Request}
		err = s.decider.Decide(ctx, &c.source, d)
	default:
		c.source = source{r: &check.Request}
		err = s.decideN(ctx, &c.source, check.Request.Cost, d)
	}
	if err != nil && ctx.Err() == nil {
		s.fail(d, err)
	}
}

// fail makes d what options say of a decider that could not tell.
func (s *Server) fail(d *stint.Decision, err error) {
	d.Fail(s.failOpen)
	if s.onError != nil {
		s.onError(err)
	}
}
