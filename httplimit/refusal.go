package httplimit

import (
	"net/http"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/ratefields"
)

// refuse answers a request that may not go on.
func (m *middleware) refuse(w http.ResponseWriter, s *scratch) {
	d, f, r := &s.decision, &s.fields, s.source.r
	forgetRepresentation(w.Header())
	wait := ratefields.RetryAfter(d)
	if wait > 0 {
		f.setInt(fieldRetry, wait)
	}
	f.set("Cache-Control", "no-store")
	f.expose(r, m.exposeAll)
	if m.deny != nil {
		f.send(w.Header(), make([]string, f.n))
		v := m.newVisit(s)
		m.deny.ServeHTTP(w, r.WithContext(v))
		v.Leave()
		return
	}
	if contentType := grpcType(r); contentType != "" {
		refuseGRPC(w, contentType, s)
		return
	}
	status := m.statusOf(d.Reason)
	s.body = appendProblem(s.body[:0], d, status, wait)
	f.set("Content-Type", "application/problem+json")
	f.setInt("Content-Length", int64(len(s.body)))
	f.send(w.Header(), make([]string, f.n))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// A client that is gone does not read the rest, and nobody can tell it.
		_, _ = w.Write(s.body)
	}
}

// statusOf is the status of a refusal. Waiting helps against neither of the two
// with a status of their own.
func (m *middleware) statusOf(reason stint.Reason) int {
	switch reason {
	case stint.ReasonMissingKey:
		return http.StatusForbidden
	case stint.ReasonTooLarge:
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return m.status
}

// forgetRepresentation removes what outer handlers said about the answer they
// expected: a refusal must not be stored, or confirmed with their validators.
func forgetRepresentation(h http.Header) {
	for _, name := range [...]string{
		"Cache-Control", "Cdn-Cache-Control", "Surrogate-Control", "Expires", "Etag", "Last-Modified",
	} {
		delete(h, name)
	}
}

// grpcType is the content type of an answer to a gRPC request, empty for others.
func grpcType(r *http.Request) string {
	lines := r.Header["Content-Type"]
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "application/grpc") {
		return ""
	}
	if strings.HasPrefix(lines[0], "application/grpc-web") {
		return "application/grpc-web+proto"
	}
	return "application/grpc"
}

// refuseGRPC answers with the header-only form of a gRPC error.
func refuseGRPC(w http.ResponseWriter, contentType string, s *scratch) {
	d, f := &s.decision, &s.fields
	f.set("Content-Type", contentType)
	f.setInt("Grpc-Status", grpcStatus(d.Reason))
	s.body = appendDetail(s.body[:0], d, ratefields.RetryAfter(d))
	f.text = appendMessage(f.text, s.body)
	f.done("Grpc-Message")
	f.send(w.Header(), make([]string, f.n))
	w.WriteHeader(http.StatusOK)
}

// The status codes of gRPC that refusals use.
const (
	grpcPermissionDenied  = 7
	grpcResourceExhausted = 8
	grpcUnavailable       = 14
)

func grpcStatus(reason stint.Reason) int64 {
	switch reason {
	case stint.ReasonMissingKey:
		return grpcPermissionDenied
	case stint.ReasonUnavailable:
		return grpcUnavailable
	}
	return grpcResourceExhausted
}

// appendMessage percent-encodes a gRPC message.
func appendMessage(b, message []byte) []byte {
	for _, c := range message {
		if c == '%' {
			b = append(b, "%25"...)
			continue
		}
		b = ratefields.AppendByte(b, c)
	}
	return b
}
