package grpclimit

import (
	"context"

	"google.golang.org/grpc"
)

// stream is an admitted stream as its handler sees it.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	limit  *Limit // nil if messages do not count
	method string
}

// Context implements grpc.ServerStream.
func (s *stream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. The rate fields of the draft must not stand
// in a trailer behind a body, so that of a message has retry-after only.
func (s *stream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil || s.limit == nil {
		return err
	}
	l := s.limit
	sc := l.borrow()
	defer l.giveBack(sc)
	if err := l.decide(s.ctx, s.method, sc); err != nil {
		return err
	}
	sc.fields.reset()
	if err := l.wait(s.ctx, &sc.decision); err != nil || sc.decision.Allowed {
		return err
	}
	return l.refuse(sc, call{s.ctx, s.ServerStream})
}
