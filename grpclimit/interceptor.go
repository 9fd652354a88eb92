package grpclimit

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/once"
	"github.com/stint-dev/stint/internal/ratefields"
)

// Unary is a [grpc.UnaryServerInterceptor]. Of two interceptors with one Decider in
// a chain only the outer one asks it.
func (l *Limit) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if l.met(ctx) {
		return handler(ctx, req)
	}
	s := l.borrow()
	if err := l.enter(ctx, info.FullMethod, s, call{ctx: ctx}); err != nil {
		l.giveBack(s)
		return nil, err
	}
	v := l.visit(ctx, s)
	res, err := handler(v, req)
	v.Leave()
	l.giveBack(s) // After a panic it is left to the garbage collector.
	return res, err
}

// Stream is a [grpc.StreamServerInterceptor]; the Decider is asked when the stream
// opens, and with [Options.EachMessage] for each message that arrives.
func (l *Limit) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := ss.Context()
	if l.met(ctx) {
		return handler(srv, ss)
	}
	s := l.borrow()
	if err := l.enter(ctx, info.FullMethod, s, call{ctx, ss}); err != nil {
		l.giveBack(s)
		return err
	}
	v := l.visit(ctx, s)
	inner := &stream{ServerStream: ss, ctx: v}
	if l.eachMessage && info.IsClientStream {
		inner.limit, inner.method = l, info.FullMethod
	}
	err := handler(srv, inner)
	v.Leave()
	l.giveBack(s)
	return err
}

// call is where metadata of a call goes to. Errors mean that the client is gone, or
// that a test calls without a transport.
type call struct {
	ctx    context.Context
	stream grpc.ServerStream // nil for a unary call
}

func (c call) header(md metadata.MD) {
	if c.stream != nil {
		_ = c.stream.SetHeader(md)
		return
	}
	_ = grpc.SetHeader(c.ctx, md)
}

func (c call) trailer(md metadata.MD) {
	if c.stream != nil {
		c.stream.SetTrailer(md)
		return
	}
	_ = grpc.SetTrailer(c.ctx, md)
}

// enter decides about a call and tells the client. An error is the status of the
// call.
func (l *Limit) enter(ctx context.Context, method string, s *scratch, c call) error {
	if err := l.decide(ctx, method, s); err != nil {
		return err
	}
	s.fields.reset()
	l.rateFields(s, once.Of[door](ctx))
	err := l.wait(ctx, &s.decision)
	if err != nil {
		return err
	}
	if s.decision.Allowed {
		if md := s.fields.metadata(); md != nil {
			c.header(md)
		}
		return nil
	}
	return l.refuse(s, c)
}

// refuse tells a client in the trailer where it stands, and its library not to
// repeat the call earlier, or at all where that would not help; the status is the
// error.
func (l *Limit) refuse(s *scratch, c call) error {
	pushback := int64(-1)
	if wait := ratefields.RetryAfter(&s.decision); wait > 0 {
		s.fields.setInt(keyRetry, wait)
		pushback = min(wait, math.MaxInt32/1000) * 1000
	}
	s.fields.setInt(keyPushback, pushback)
	c.trailer(s.fields.metadata())
	return l.refusal(&s.decision)
}

// decide fills the decision. An error means that the client is gone.
func (l *Limit) decide(ctx context.Context, method string, s *scratch) error {
	s.source = source{ctx: ctx, method: method, clients: l.clients}
	err := l.decider.Decide(ctx, &s.source, &s.decision)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	default:
		s.decision.Fail(l.failOpen)
		if l.onError != nil {
			l.onError(ctx, method, err)
		}
	}
	return nil
}

// wait is the delay of a queue. One that goes past the call's deadline makes the
// decision a refusal.
func (l *Limit) wait(ctx context.Context, d *stint.Decision) error {
	if !d.Allowed || d.Delay <= 0 {
		return nil
	}
	switch err := d.Wait(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		d.Allowed, d.OK, d.Reason, d.RetryAfter = false, false, stint.ReasonLimit, d.Delay
	case err != nil:
		return status.FromContextError(err).Err()
	}
	return nil
}
