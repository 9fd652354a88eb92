package rls

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// MaxJSON is the largest body of a request to [Service.JSON], in bytes.
const MaxJSON = 1 << 20

// JSON returns a handler for /json: ShouldRateLimit with the messages written as
// protocol buffers are in JSON. It answers 200, 429 with the same message, 400 for
// what makes no sense, 405, 413, 415, and 503 where the counts can not be reached.
// The headers of the answer's response_headers_to_add are set too.
func (s *Service) JSON() http.Handler { return http.HandlerFunc(s.serveJSON) }

func (s *Service) serveJSON(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, http.StatusMethodNotAllowed, "POST a RateLimitRequest")
		return
	}
	if !jsonType(r.Header.Get("Content-Type")) {
		writeError(w, http.StatusUnsupportedMediaType, "send Content-Type: application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxJSON))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			writeError(w, http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB")
			return
		}
		writeError(w, http.StatusBadRequest, "the body did not arrive whole")
		return
	}
	var req pb.RateLimitRequest
	if err := protojson.Unmarshal(body, &req); err != nil {
		s.requests.Add(1)
		s.invalid.Add(1)
		writeError(w, http.StatusBadRequest, "not a RateLimitRequest: "+err.Error())
		return
	}
	resp, err := s.ShouldRateLimit(r.Context(), &req)
	if err != nil {
		writeError(w, httpStatus(status.Code(err)), status.Convert(err).Message())
		return
	}
	out, err := protojson.Marshal(resp)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "the answer can not be written as JSON")
		return
	}
	for _, h := range resp.GetResponseHeadersToAdd() {
		w.Header().Set(h.GetKey(), h.GetValue())
	}
	w.Header().Set("Content-Type", "application/json")
	if resp.GetOverallCode() == pb.RateLimitResponse_OVER_LIMIT {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	_, _ = w.Write(out) // A client that has gone reads nothing.
}

// jsonType says whether a body may be JSON. What curl -d says of all bodies counts,
// and so does nothing at all.
func jsonType(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || t == "application/x-www-form-urlencoded")
}

// httpStatus is the status for a code of [Service.ShouldRateLimit].
func httpStatus(code codes.Code) int {
	switch code {
	case codes.InvalidArgument:
		return http.StatusBadRequest
	case codes.Internal:
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable
}

// writeError answers with a message.
func writeError(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": message})
}
