// Package accesslog reads one request out of one line of an access log.
//
// It knows the Common and the Combined Log Format as Apache, nginx and Traefik write them,
// with a virtual host before and further fields behind, and the JSON lines of Caddy,
// Traefik, nginx and Envoy. The format is found line by line, so that a file may mix them,
// and gzip is found by its first bytes.
//
// An address is the peer as the log has it, and X-Forwarded-For is a header like another:
// whom to believe is for the caller to say.
package accesslog

import (
	"net/netip"
	"time"
)

// Redacted is what Caddy and Traefik write in place of a header they hide. All clients
// share it, so a caller that counts by such a header must not take it for a value.
const Redacted = "REDACTED"

// maxHeaders bounds the headers kept of one line.
const maxHeaders = 256

// Entry is one request as an access log tells it. Its strings never change; each is a part
// of a block of about 64 KiB of the log, which lives as long as the string does, so clone
// what you keep for long. Its headers are overwritten when the same Entry is read into
// again. The zero Entry is ready to be read into.
type Entry struct {
	Time       time.Time  // When the server says it happened, in UTC; most servers write the end of the request.
	Addr       netip.Addr // The peer as logged, always valid, unmapped, without zone.
	RemoteUser string     // The user who signed in; empty if none.
	Method     string     // Empty if the client sent no request line, or one that HTTP does not know.
	Host       string     // The host without a port; empty if the log has none.
	Path       string     // The request target as the client sent it, with its query; empty if Method is, or the log has none.
	Proto      string     // "HTTP/1.1"; empty if the log has none, and in HTTP/0.9.
	Status     int        // 100 to 999; 0 if the log has none.

	headers []header
}

type header struct {
	name, value string
	snake       bool // The name is the log's spelling, with underscores for hyphens.
}

// Header returns a request header, as far as the log has it. The name's case does not
// matter. Several lines of one header are joined as HTTP joins them, in their order. An
// empty value counts as none. Host answers for "Host".
func (e *Entry) Header(name string) (string, bool) {
	for i := range e.headers {
		if h := &e.headers[i]; h.is(name) {
			return h.value, true
		}
	}
	if e.Host != "" && (&header{name: "host"}).is(name) {
		return e.Host, true
	}
	return "", false
}

func (h *header) is(name string) bool {
	if len(name) != len(h.name) {
		return false
	}
	for i := range len(name) {
		if h.fold(name[i]) != h.fold(h.name[i]) {
			return false
		}
	}
	return true
}

func (h *header) fold(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '_' && h.snake:
		return '-'
	}
	return c
}

// add keeps h unless it has no value, as logs say it with an empty one or with a hyphen.
func (e *Entry) add(h header) {
	if h.value != "" && h.value != "-" && len(e.headers) < maxHeaders {
		e.headers = append(e.headers, h)
	}
}

func (e *Entry) has(name string) bool {
	for i := range e.headers {
		if e.headers[i].is(name) {
			return true
		}
	}
	return false
}

// reset empties e and keeps the room for its headers.
func (e *Entry) reset() {
	clear(e.headers)
	*e = Entry{headers: e.headers[:0]}
}
