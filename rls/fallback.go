package rls

import (
	"context"
	"math"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/stint-dev/stint"
)

// fallback answers by rules. They decide once for the request, so all statuses are
// alike: those of the rule that decided. What the rules say it costs is charged as often
// as hits_addend of the request says; those of descriptors mean nothing here.
func (s *Service) fallback(ctx context.Context, req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	c := s.borrow()
	defer s.giveBack(c)
	c.source = source{ctx: ctx, req: req}
	d := &c.decision
	err := s.byRules(ctx, c, int64(max(req.GetHitsAddend(), 1)))
	if err == nil && d.Allowed && d.Delay > 0 {
		err = s.wait(ctx, d)
	}
	if err != nil {
		return nil, s.failure(ctx)
	}
	a := newAnswer(len(req.GetDescriptors()))
	a.OverallCode = pb.RateLimitResponse_OK
	if !d.Allowed {
		a.OverallCode = pb.RateLimitResponse_OVER_LIMIT
		s.overLimit.Add(1)
	}
	var limit *pb.RateLimitResponse_RateLimit
	numbers := hasNumbers(d)
	if numbers {
		limit = limitOf(d.Policy, d.Limit)
	}
	for i, st := range a.Statuses {
		st.Code = a.OverallCode
		switch {
		case numbers:
			st.CurrentLimit, st.LimitRemaining = limit, clamp(d.Remaining)
			st.DurationUntilReset = duration(&a.durations[i], d.ResetAfter)
		case d.Unlimited:
			st.LimitRemaining = math.MaxUint32
		}
	}
	a.ResponseHeadersToAdd = s.responseHeaders(d)
	if !d.Allowed {
		s.addBody(a.RateLimitResponse, d)
	}
	if s.o.RequestHeaders {
		a.RequestHeadersToAdd = shadowHeader(d)
	}
	return a.RateLimitResponse, nil
}

// byRules lets rules decide about a request that weighs n.
func (s *Service) byRules(ctx context.Context, c *call, n int64) error {
	if n != 1 && s.o.FallbackN != nil {
		return s.o.FallbackN(ctx, &c.source, n, &c.decision)
	}
	return s.o.Fallback.Decide(ctx, &c.source, &c.decision)
}

// wait lets a request wait for its turn in a queue. One whose caller would not wait
// so long is refused, and has given its place back.
func (s *Service) wait(ctx context.Context, d *stint.Decision) error {
	delay := d.Delay
	err := d.Wait(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	r := d.Result
	r.RetryAfter = delay
	d.Refuse(stint.ReasonLimit, r)
	return nil
}
