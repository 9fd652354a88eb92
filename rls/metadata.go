package rls

import (
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/stint-dev/stint"
)

// dynamicMetadata says what was asked and decided, with the names that
// envoyproxy/ratelimit has, and shadowModeViolations besides: the indexes of the
// descriptors whose rule would have refused.
func (c *call) dynamicMetadata(k *known, req *pb.RateLimitRequest) *structpb.Struct {
	asked := make([]*structpb.Value, 0, len(req.GetDescriptors()))
	for _, d := range req.GetDescriptors() {
		asked = append(asked, descriptorValue(d))
	}
	f := map[string]*structpb.Value{
		"domain":      text(req.GetDomain()),
		"descriptors": listOf(asked),
	}
	if n := req.GetHitsAddend(); n != 0 {
		f["hitsAddend"] = structpb.NewNumberValue(float64(n))
	}
	quota := false
	var quotas, shadows []*structpb.Value
	for j := range c.decision.Results {
		r := &c.decision.Results[j]
		quota = quota || c.rules[j].Quota
		switch at := structpb.NewNumberValue(float64(c.at[j])); {
		case r.OK:
		case c.rules[j].Quota && (c.soft[j] || !r.Shadow):
			quotas = append(quotas, at)
		case r.Shadow:
			shadows = append(shadows, at)
		}
	}
	f["quotaModeEnabled"] = structpb.NewBoolValue(quota)
	if quotas != nil {
		f["quotaModeViolations"] = listOf(quotas)
	}
	if shadows != nil {
		f["shadowModeViolations"] = listOf(shadows)
	}
	if m := c.metadata(k); m != nil {
		f["metadata"] = structpb.NewStructValue(m)
	}
	return &structpb.Struct{Fields: f}
}

// metadata merges the metadata of the rules that let the request through; of equal
// names the first one stays. A refused request has that of the rules that refused.
func (c *call) metadata(k *known) *structpb.Struct {
	var merged map[string]*structpb.Value
	for j := range c.decision.Results {
		r := &c.decision.Results[j]
		if r.OK != c.decision.Allowed {
			continue
		}
		for name, v := range k.meta(c.rules[j]).GetFields() {
			if merged == nil {
				merged = make(map[string]*structpb.Value)
			}
			if _, there := merged[name]; !there {
				merged[name] = v
			}
		}
	}
	if merged == nil {
		return nil
	}
	return &structpb.Struct{Fields: merged}
}

// descriptorValue is a descriptor as metadata.
func descriptorValue(d *ratelimit.RateLimitDescriptor) *structpb.Value {
	entries := make([]*structpb.Value, 0, len(d.GetEntries()))
	for _, e := range d.GetEntries() {
		entries = append(entries, text(e.GetKey()+"="+e.GetValue()))
	}
	f := map[string]*structpb.Value{"entries": listOf(entries)}
	if l := d.GetLimit(); l != nil {
		if window, ok := windowOf(l); ok {
			f["limit"] = text(stint.Limit{Count: int64(l.GetRequestsPerUnit()), Window: window}.String())
		}
	}
	if n := d.GetHitsAddend(); n != nil {
		f["hitsAddend"] = structpb.NewNumberValue(float64(n.GetValue()))
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: f})
}

// text is a string as metadata, which has to be UTF-8.
func text(s string) *structpb.Value { return structpb.NewStringValue(strings.ToValidUTF8(s, "?")) }

func listOf(values []*structpb.Value) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: values})
}
