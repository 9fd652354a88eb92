package rls

import (
	"context"
	"sync"
	"sync/atomic"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
)

// Service answers ShouldRateLimit. It is made by [New] and safe for concurrent use.
type Service struct {
	o     Options
	known atomic.Pointer[known]
	calls sync.Pool

	requests, overLimit, unknownDomain, invalid, unavailable, cancelled, panics atomic.Int64
}

var _ pb.RateLimitServiceServer = (*Service)(nil)

// New returns a service, or what is wrong with o.
func New(o Options) (*Service, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Service{o: o}, nil
}

// Stats are counters of a service.
type Stats struct {
	// Requests are all that arrived, OverLimit those of them that were refused.
	Requests, OverLimit int64
	// UnknownDomain are requests for a domain that no file has and that no rules
	// decided.
	UnknownDomain int64
	// Invalid are requests that made no sense, Unavailable those for which the counts
	// could not be reached, Cancelled those that their caller gave up.
	Invalid, Unavailable, Cancelled int64
	// Panics are faults of the service that a server recovered from.
	Panics int64
}

// Stats returns the counters now.
func (s *Service) Stats() Stats {
	return Stats{
		Requests: s.requests.Load(), OverLimit: s.overLimit.Load(), UnknownDomain: s.unknownDomain.Load(),
		Invalid: s.invalid.Load(), Unavailable: s.unavailable.Load(), Cancelled: s.cancelled.Load(), Panics: s.panics.Load(),
	}
}

// set returns the files in force, nil if there are none.
func (s *Service) set() *descriptors.Set {
	if s.o.Descriptors == nil {
		return nil
	}
	return s.o.Descriptors()
}

// ShouldRateLimit implements Envoy's rate limit service.
func (s *Service) ShouldRateLimit(ctx context.Context, req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	s.requests.Add(1)
	if err := s.checkRequest(req); err != nil {
		return nil, err
	}
	set := s.set()
	var domain *descriptors.Domain
	if set != nil {
		domain = set.Domain(req.GetDomain())
	}
	if domain == nil {
		return s.withoutDomain(ctx, req)
	}
	c := s.borrow()
	defer s.giveBack(c)
	if err := c.collect(s, domain, req); err != nil {
		return nil, err
	}
	if err := c.decide(ctx, s); err != nil {
		return nil, s.failure(ctx)
	}
	resp := c.answer(s.view(set), s, req)
	if resp.OverallCode == pb.RateLimitResponse_OVER_LIMIT {
		s.overLimit.Add(1)
	}
	return resp, nil
}

// checkRequest refuses requests that make no sense.
func (s *Service) checkRequest(req *pb.RateLimitRequest) error {
	all := req.GetDescriptors()
	switch {
	case req.GetDomain() == "":
		return s.refuse("the domain is empty: set domain in Envoy's rate limit filter")
	case len(all) == 0:
		return s.refuse("no descriptors: at least one says what to count by")
	case len(all) > MaxDescriptors:
		return s.refuse("%d descriptors: at most %d", len(all), MaxDescriptors)
	}
	for i, d := range all {
		if n := len(d.GetEntries()); n > MaxEntries {
			return s.refuse("descriptor %d has %d entries: at most %d", i, n, MaxEntries)
		}
	}
	return nil
}

// refuse counts and makes the error of a request that makes no sense.
func (s *Service) refuse(format string, args ...any) error {
	s.invalid.Add(1)
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// failure is the error of a decision that could not be made. What the store said is
// not for the caller.
func (s *Service) failure(ctx context.Context) error {
	if ctx.Err() != nil {
		s.cancelled.Add(1)
		return status.FromContextError(ctx.Err()).Err()
	}
	s.unavailable.Add(1)
	return status.Error(codes.Unavailable, "the counts can not be reached")
}

// withoutDomain answers requests for a domain that no file has.
func (s *Service) withoutDomain(ctx context.Context, req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	if s.o.Fallback != nil {
		return s.fallback(ctx, req)
	}
	if s.set() == nil {
		s.unavailable.Add(1)
		return nil, status.Error(codes.Unavailable, "no descriptors are loaded")
	}
	s.unknownDomain.Add(1)
	a := newAnswer(len(req.GetDescriptors()))
	for _, st := range a.Statuses {
		st.Code = pb.RateLimitResponse_OK
	}
	a.OverallCode = pb.RateLimitResponse_OK
	return a.RateLimitResponse, nil
}

// maxKept is the size of the keys of a call that are kept for the next one.
const maxKept = 64 << 10

func (s *Service) borrow() *call {
	if c, ok := s.calls.Get().(*call); ok {
		return c
	}
	return new(call)
}

func (s *Service) giveBack(c *call) {
	clear(c.charges[:c.n])
	clear(c.rules[:c.n])
	c.n, c.late = 0, 0
	if cap(c.keys) > maxKept {
		c.keys = nil
	}
	c.decision.Clear()
	c.source = source{}
	s.calls.Put(c)
}

// call is one request under way.
type call struct {
	n       int // matched descriptors
	late    int // the last of them, which give back once quotas have let the request pass
	rules   [stint.MaxCharges]*descriptors.Rule
	at      [stint.MaxCharges]int // the index of the descriptor
	soft    [stint.MaxCharges]bool
	charges [stint.MaxCharges]stint.Charge
	keys    []byte

	decision stint.Decision
	source   source
}
