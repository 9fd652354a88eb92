package gateway

import (
	"fmt"
	"net/http"
	"strconv"
)

// statusClientClosed is what access logs know as "client closed request". Nobody
// receives it.
const statusClientClosed = 499

// problem is an answer of the gateway's own: problem details of RFC 9457. Its
// texts need no escaping.
type problem struct {
	status int
	detail string
}

// write sends the problem.
func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	body := fmt.Sprintf(`{"type":"about:blank","title":"%s","status":%d,"detail":"%s"}`+"\n",
		http.StatusText(p.status), p.status, p.detail)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		// A client that is gone does not read the rest, and nobody can tell it.
		_, _ = w.Write([]byte(body))
	}
}

func tooLarge(most int64) *problem {
	return &problem{
		status: http.StatusRequestEntityTooLarge,
		detail: "The body is larger than " + strconv.FormatInt(most, 10) + " bytes.",
	}
}
