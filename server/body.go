package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stint-dev/stint/internal/wire"
)

// readBody reads the body of a question into b, which it returns.
//
// A browser sends no other content type across origins without being asked first,
// which is why it is insisted on: a page can not make a visitor's browser charge a
// service that listens on its machine.
func (s *Server) readBody(r *http.Request, b []byte) ([]byte, *problem) {
	switch {
	case !isJSON(r.Header.Get("Content-Type")):
		return b, &problem{status: http.StatusUnsupportedMediaType, detail: "Send JSON, and say so with Content-Type: application/json."}
	case r.Header.Get("Content-Encoding") != "":
		return b, &problem{status: http.StatusUnsupportedMediaType, detail: "Send the body as it is, without a Content-Encoding."}
	case r.ContentLength > wire.MaxBytes:
		return b, tooLarge()
	}
	b, err := readAll(r.Body, b)
	switch {
	case errors.Is(err, errTooLarge):
		return b, tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return b, &problem{status: http.StatusRequestTimeout, detail: fmt.Sprintf("The body took longer than %s.", s.bodyTimeout)}
	case err != nil:
		return b, &problem{status: http.StatusBadRequest, detail: "The body ended early."}
	}
	return b, nil
}

// bodyUntil gives a body until the instant t. The bound holds too while net/http
// throws away what nobody has read, and ends with the body: net/http lifts it then.
func bodyUntil(w http.ResponseWriter, t time.Time) {
	// A writer without deadlines has its own way to bound slow clients.
	_ = http.NewResponseController(w).SetReadDeadline(t)
}

func tooLarge() *problem {
	return &problem{
		status: http.StatusRequestEntityTooLarge,
		detail: "The body is larger than 1 MiB. Send fewer checks at once, and only the headers that rules read.",
	}
}

// errTooLarge is a body above the bound.
var errTooLarge = errors.New("the body is too large")

// readAll appends at most wire.MaxBytes from body to b.
func readAll(body io.Reader, b []byte) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := body.Read(b[len(b):min(cap(b), wire.MaxBytes+1)])
		b = b[:len(b)+n]
		switch {
		case len(b) > wire.MaxBytes:
			return b, errTooLarge
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

// isJSON says whether a content type is that of JSON in UTF-8.
func isJSON(contentType string) bool {
	media, params, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return false
	}
	charset, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "charset=")
	return !ok || strings.Trim(charset, `"`) == "utf-8"
}
