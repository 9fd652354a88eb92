package rls

import (
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
)

// known is what answers say of the rules of a set. It is made once for each set.
type known struct {
	set      *descriptors.Set
	limits   []*pb.RateLimitResponse_RateLimit
	metadata []*structpb.Struct
}

// view returns what is known of set.
func (s *Service) view(set *descriptors.Set) *known {
	if k := s.known.Load(); k != nil && k.set == set {
		return k
	}
	k := &known{set: set}
	for _, r := range set.Rules() {
		k.limits = append(k.limits, limitOf(r.Label, r.Policy.Limit))
		var meta *structpb.Struct
		if len(r.Metadata) > 0 {
			meta, _ = structpb.NewStruct(r.Metadata) // It fails for values that a file can not hold.
		}
		k.metadata = append(k.metadata, meta)
	}
	s.known.Store(k)
	return k
}

// limit is the limit of a rule as answers have it.
func (k *known) limit(r *descriptors.Rule) *pb.RateLimitResponse_RateLimit {
	if r.Index < 0 {
		return limitOf(r.Label, r.Policy.Limit)
	}
	return k.limits[r.Index]
}

// meta is the metadata of a rule, nil if it has none.
func (k *known) meta(r *descriptors.Rule) *structpb.Struct {
	if r.Index < 0 {
		return nil
	}
	return k.metadata[r.Index]
}

// units are the protocol's units of time.
var units = []struct {
	length time.Duration
	unit   pb.RateLimitResponse_RateLimit_Unit
}{
	{365 * day, pb.RateLimitResponse_RateLimit_YEAR},
	{30 * day, pb.RateLimitResponse_RateLimit_MONTH},
	{7 * day, pb.RateLimitResponse_RateLimit_WEEK},
	{day, pb.RateLimitResponse_RateLimit_DAY},
	{time.Hour, pb.RateLimitResponse_RateLimit_HOUR},
	{time.Minute, pb.RateLimitResponse_RateLimit_MINUTE},
	{time.Second, pb.RateLimitResponse_RateLimit_SECOND},
}

// limitOf writes a limit in the protocol's units: one of them if that is the window,
// else several of the longest that fits. A window that is no number of seconds has
// none.
func limitOf(name string, l stint.Limit) *pb.RateLimitResponse_RateLimit {
	out := &pb.RateLimitResponse_RateLimit{Name: name, RequestsPerUnit: clamp(l.Count)}
	for _, u := range units {
		if l.Window == u.length {
			out.Unit = u.unit
			return out
		}
	}
	for _, u := range units {
		if l.Window > 0 && l.Window%u.length == 0 {
			out.Unit = u.unit
			out.UnitMultiplier = wrapperspb.UInt32(clamp(int64(l.Window / u.length)))
			return out
		}
	}
	return out
}
