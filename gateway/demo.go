package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// inProcess makes next stand for an upstream: it gets what an upstream would.
func (g *Gateway) inProcess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		copied := *r
		copied.Header = r.Header.Clone()
		g.setForwarded(copied.Header, r)
		next.ServeHTTP(w, &copied)
	})
}

// The bounds of the demo's stream.
const (
	demoTicks    = 5
	demoMostTick = 100
	demoPause    = 200 * time.Millisecond
)

// Demo returns an upstream to try a gateway with. It answers each request with
// what it received, as JSON; values of header fields that may be secret are left
// out. /stream sends server-sent events, five or as many as the query says in n,
// at most a hundred.
func Demo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			demoStream(w, r)
			return
		}
		demoEcho(w, r)
	})
}

// demoEcho is one answer of the demo.
func demoEcho(w http.ResponseWriter, r *http.Request) {
	received, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(true)
	e.SetIndent("", "  ")
	// Nobody is left to tell if this fails.
	_ = e.Encode(struct {
		Method   string            `json:"method"`
		Path     string            `json:"path"`
		Host     string            `json:"host"`
		Protocol string            `json:"protocol"`
		Remote   string            `json:"remote"`
		Headers  map[string]string `json:"headers"`
		Body     int64             `json:"body_bytes"`
	}{r.Method, r.URL.EscapedPath(), r.Host, r.Proto, r.RemoteAddr, demoHeaders(r.Header), received})
}

// demoHeaders returns the fields of h without what may be secret.
func demoHeaders(h http.Header) map[string]string {
	shown := make(map[string]string, len(h))
	for name, values := range h {
		shown[name] = "(not shown)"
		if isHarmless(name) {
			shown[name] = strings.Join(values, ", ")
		}
	}
	return shown
}

// isHarmless says whether a field is known to hold no secret.
func isHarmless(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding", "Content-Length",
		"Content-Type", "Expect", "Forwarded", "Origin", "Range", "Te", "User-Agent", "Via":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// demoStream sends server-sent events.
func demoStream(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 1 {
		n = demoTicks
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	rc := http.NewResponseController(w)
	tick := time.NewTicker(demoPause)
	defer tick.Stop()
	for i := range min(n, demoMostTick) {
		if i > 0 {
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
		if _, err := fmt.Fprintf(w, "data: %d\n\n", i+1); err != nil || rc.Flush() != nil {
			return
		}
	}
}
