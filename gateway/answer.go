package gateway

import (
	"bufio"
	"net"
	"net/http"
	"slices"
)

// answer is the writer that the proxy gets. It holds back the header fields that
// were set in front of the proxy until the final header is written: the proxy
// clears all fields after an informational answer, and would add the upstream's
// fields of the same name to the limiter's.
type answer struct {
	http.ResponseWriter
	own      []string // the limiter's fields; they replace the upstream's
	names    []string
	values   [][]string
	body     *body  // nil if the request has none
	watch    *watch // nil if there is no bound
	wrote    bool
	hijacked bool
}

// answer returns a writer around w.
func (g *Gateway) answer(w http.ResponseWriter) *answer {
	a, ok := g.answers.Get().(*answer)
	if !ok {
		a = &answer{own: g.limitNames}
		if g.answerBound > 0 && g.upstream != nil {
			a.watch = newWatch(g.answerBound)
		}
	}
	a.ResponseWriter = w
	h := w.Header()
	for name, values := range h {
		a.names = append(a.names, name)
		a.values = append(a.values, values)
	}
	clear(h)
	return a
}

// release takes back a writer that nobody uses any more.
func (g *Gateway) release(a *answer) {
	clear(a.values)
	a.watch.answered()
	*a = answer{own: a.own, names: a.names[:0], values: a.values[:0], watch: a.watch}
	g.answers.Put(a)
}

// restore puts the fields held back into the header.
func (a *answer) restore() {
	h := a.Header()
	for i, name := range a.names {
		values := a.values[i]
		if old := h[name]; len(old) > 0 && !slices.Contains(a.own, name) {
			values = append(slices.Clip(values), old...)
		}
		h[name] = values
	}
	a.wrote = true
	a.watch.answered()
}

// WriteHeader implements http.ResponseWriter. 100 Continue is dropped: the server
// says it itself as soon as the body is read, and two are one too many for some.
func (a *answer) WriteHeader(status int) {
	if status == http.StatusContinue {
		return
	}
	if !a.wrote && status >= http.StatusOK {
		a.restore()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if !a.wrote {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(p)
}

// Hijack implements http.Hijacker.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err == nil {
		a.restore()
		a.hijacked = true
	}
	return conn, rw, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
