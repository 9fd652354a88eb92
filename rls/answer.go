package rls

import (
	"math"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/ratefields"
)

// answer is a response with room for what each status may point at.
type answer struct {
	*pb.RateLimitResponse
	durations []durationpb.Duration
}

// few and one are answers in a single piece of memory.
type few struct {
	response  pb.RateLimitResponse
	pointers  [4]*pb.RateLimitResponse_DescriptorStatus
	statuses  [4]pb.RateLimitResponse_DescriptorStatus
	durations [4]durationpb.Duration
}

type one struct {
	response  pb.RateLimitResponse
	pointers  [1]*pb.RateLimitResponse_DescriptorStatus
	statuses  [1]pb.RateLimitResponse_DescriptorStatus
	durations [1]durationpb.Duration
}

// newAnswer returns an answer with n empty statuses.
func newAnswer(n int) answer {
	switch {
	case n == 1:
		a := new(one)
		return assemble(&a.response, a.pointers[:], a.statuses[:], a.durations[:])
	case n <= len(few{}.statuses):
		a := new(few)
		return assemble(&a.response, a.pointers[:n], a.statuses[:n], a.durations[:n])
	}
	return assemble(new(pb.RateLimitResponse), make([]*pb.RateLimitResponse_DescriptorStatus, n),
		make([]pb.RateLimitResponse_DescriptorStatus, n), make([]durationpb.Duration, n))
}

func assemble(r *pb.RateLimitResponse, pointers []*pb.RateLimitResponse_DescriptorStatus, statuses []pb.RateLimitResponse_DescriptorStatus, durations []durationpb.Duration) answer {
	for i := range statuses {
		pointers[i] = &statuses[i]
	}
	r.Statuses = pointers
	return answer{r, durations}
}

// answer says what was decided.
func (c *call) answer(k *known, s *Service, req *pb.RateLimitRequest) *pb.RateLimitResponse {
	a := newAnswer(len(req.GetDescriptors()))
	a.OverallCode = pb.RateLimitResponse_OK
	if !c.decision.Allowed {
		a.OverallCode = pb.RateLimitResponse_OVER_LIMIT
	}
	for _, st := range a.Statuses {
		st.Code = pb.RateLimitResponse_OK
	}
	for j := range c.decision.Results {
		c.status(&a, k, j)
	}
	a.ResponseHeadersToAdd = s.responseHeaders(&c.decision)
	if !c.decision.Allowed {
		s.addBody(a.RateLimitResponse, &c.decision)
	}
	if s.o.RequestHeaders {
		a.RequestHeadersToAdd = shadowHeader(&c.decision)
	}
	if s.o.DynamicMetadata {
		a.DynamicMetadata = c.dynamicMetadata(k, req)
	}
	return a.RateLimitResponse
}

// status fills the status of the descriptor that the j-th rule is for.
func (c *call) status(a *answer, k *known, j int) {
	r, i := &c.decision.Results[j], c.at[j]
	st := a.Statuses[i]
	if !r.OK && !r.Shadow {
		st.Code = pb.RateLimitResponse_OVER_LIMIT
	}
	switch {
	case r.Unlimited:
		st.LimitRemaining = math.MaxUint32
		return
	case r.Unknown:
		return // There are no numbers.
	}
	st.CurrentLimit = k.limit(c.rules[j])
	st.LimitRemaining = clamp(r.Remaining)
	st.DurationUntilReset = duration(&a.durations[i], r.ResetAfter)
}

// clamp brings a number to where the protocol holds it.
func clamp(n int64) uint32 { return uint32(max(0, min(n, math.MaxUint32))) }

// duration fills d with w in whole seconds, rounded up: Envoy reads no less. It is
// nil where there is no end.
func duration(d *durationpb.Duration, w time.Duration) *durationpb.Duration {
	if w < 0 || w == stint.Never {
		return nil
	}
	d.Seconds = ratefields.Seconds(w)
	return d
}
