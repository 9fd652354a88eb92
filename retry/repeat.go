package retry

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

// repeatable says whether a request may reach the server twice.
func (t *Transport) repeatable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return t.RepeatAny || req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
}

// canReplay says whether the body can be had again.
func canReplay(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// renew is req for another attempt. The caller's request is not changed.
func renew(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again := req.WithContext(req.Context())
	again.Body = body
	return again, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// isRefusal says whether an answer is about a rate. Some servers refuse with 403.
func isRefusal(res *http.Response, q Quota, known bool) bool {
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusForbidden:
		return res.Header.Get("Retry-After") != "" || known && q.Remaining == 0
	}
	return false
}

// unsent says whether an error came before anything was sent: no connection was
// made. A name that does not exist is not worth another attempt.
func unsent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") &&
		(!errors.As(err, &dns) || !dns.IsNotFound)
}

// passing says whether an error may be gone at the next attempt.
func passing(err error) bool {
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	if errors.As(err, &certificate) || errors.As(err, &dns) && dns.IsNotFound {
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
