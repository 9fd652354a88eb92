package rls

import (
	"encoding/json"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/stint-dev/stint"
)

// unavailableBody is the body of a refusal that no limit is the reason of.
const unavailableBody = "the rate limiter is unavailable\n"

// problem is the body of a refusal, as RFC 9457 has it.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Violated []string `json:"violated-policies,omitempty"`
}

// addBody gives a refusal its body. One that no limit is the reason of always has
// one, or the client would take it for a limit.
func (s *Service) addBody(resp *pb.RateLimitResponse, d *stint.Decision) {
	if d.Reason == stint.ReasonUnavailable {
		resp.RawBody = []byte(unavailableBody)
	}
	if !s.o.Body {
		return
	}
	p := problem{Type: "https://iana.org/assignments/http-problem-types#quota-exceeded", Title: "Quota exceeded", Status: 429, Detail: "a rate limit is exceeded"}
	switch d.Reason {
	case stint.ReasonUnavailable:
		p = problem{Type: "about:blank", Title: "Too Many Requests", Status: 429, Detail: "the rate limiter is unavailable"}
	case stint.ReasonNever:
		p.Detail = "the request costs more than the limit ever lets through at once"
	case stint.ReasonBlocked:
		p.Detail = "the limit lets nothing through"
	}
	for i := range d.Results {
		if r := &d.Results[i]; !r.OK && !r.Shadow && !r.Unknown {
			p.Violated = append(p.Violated, r.Policy)
		}
	}
	if body, err := json.Marshal(p); err == nil {
		resp.RawBody = body
		resp.ResponseHeadersToAdd = append(resp.ResponseHeadersToAdd, header("Content-Type", "application/problem+json"))
	}
}
