package server

import (
	"net/http"
	"strconv"

	"github.com/stint-dev/stint/internal/wire"
)

// problem is why a question has no answer: problem details of RFC 9457.
type problem struct {
	status  int
	detail  string
	pointer string // a JSON pointer into the question; empty for all of it
}

// refuse sends a problem that is about no part of a body.
func refuse(w http.ResponseWriter, r *http.Request, status int, detail string) {
	(&problem{status: status, detail: detail}).write(w, r)
}

// write sends the problem.
func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	b := wire.AppendString([]byte(`{"type":"about:blank","title":`), http.StatusText(p.status))
	b = strconv.AppendInt(append(b, `,"status":`...), int64(p.status), 10)
	b = wire.AppendString(append(b, `,"detail":`...), p.detail)
	if p.pointer != "" {
		b = wire.AppendString(append(b, `,"pointer":`...), p.pointer)
	}
	b = append(b, "}\n"...)
	send(w, r, message{status: p.status, contentType: "application/problem+json", body: b})
}

// message is an answer.
type message struct {
	status      int
	contentType string
	body        []byte
}

// send writes an answer that no cache may keep.
func send(w http.ResponseWriter, r *http.Request, m message) {
	h := w.Header()
	values := [...]string{m.contentType, strconv.Itoa(len(m.body)), "no-store"}
	h["Content-Type"] = values[0:1:1]
	h["Content-Length"] = values[1:2:2]
	h["Cache-Control"] = values[2:3:3]
	w.WriteHeader(m.status)
	if r.Method != http.MethodHead {
		// A client that is gone does not read the rest, and nobody can tell it.
		_, _ = w.Write(m.body)
	}
}
