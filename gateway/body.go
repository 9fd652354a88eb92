package gateway

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// patient is a client's body that waits only so long for the next part.
type patient struct {
	io.ReadCloser
	conn  *http.ResponseController
	stall time.Duration
	h2    bool
}

// withBody returns a copy of r, whose body may be replaced: in the request itself
// the server looks at the body once more. How long it may stall is bounded, also
// if nobody reads it: the server reads the rest of it before it sends the answer.
func (g *Gateway) withBody(w http.ResponseWriter, r *http.Request) *http.Request {
	copied := *r
	if g.stall <= 0 {
		return &copied
	}
	b := &patient{ReadCloser: r.Body, conn: http.NewResponseController(w), stall: g.stall, h2: r.ProtoMajor >= 2}
	if !b.h2 {
		b.wait()
	}
	copied.Body = b
	return &copied
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// wait begins the time in which something has to come. A writer without deadlines
// has no connection that could stall.
func (b *patient) wait() { _ = b.conn.SetReadDeadline(time.Now().Add(b.stall)) }

// Read implements io.Reader.
func (b *patient) Read(p []byte) (int, error) {
	b.wait()
	n, err := b.ReadCloser.Read(p)
	// In HTTP/2 a deadline that passes ends the body even if nobody waits for it.
	// In HTTP/1 one that passed is left, since the server may go on reading.
	if err == io.EOF || b.h2 {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// body is a client's body on its way to the upstream. It remembers what went
// wrong, so that a fault of the client is not taken for one of the upstream.
type body struct {
	io.ReadCloser
	watch  *watch // nil if there is no bound
	failed atomic.Pointer[error]
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.watch != nil {
		b.watch.pause()
		defer b.watch.resume()
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// fault returns what went wrong while the body was read.
func (b *body) fault() error {
	if b == nil {
		return nil
	}
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}
