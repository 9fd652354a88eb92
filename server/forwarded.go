package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The headers in which proxies say what a client asked for. A proxy that sets one
// of two which mean the same passes the other on as the client wrote it; so two
// that differ are refused, or the client could choose the rule it is under.
const (
	forwardedMethod = "X-Forwarded-Method"
	forwardedURI    = "X-Forwarded-Uri"
	forwardedHost   = "X-Forwarded-Host"
	originalMethod  = "X-Original-Method"
	originalURI     = "X-Original-Uri"
	originalURL     = "X-Original-Url"
)

// target is what the client asked its proxy for.
type target struct {
	method, uri, host string
	url               *url.URL
}

// request returns the request as the client sent it. It has no body, since proxies
// send none along.
func (t *target) request(r *http.Request) *http.Request {
	c := r.WithContext(r.Context())
	c.Method, c.URL, c.RequestURI, c.Host = t.method, t.url, t.uri, t.host
	c.Body, c.ContentLength, c.TransferEncoding = http.NoBody, 0, nil
	return c
}

// forwarded reads the target from the headers of a trusted proxy.
func forwarded(h http.Header) (t target, err error) {
	method := claim{names: forwardedMethod + " or " + originalMethod, example: "GET"}
	uri := claim{names: forwardedURI + ", " + originalURI + " or " + originalURL, example: "/v1/search?q=a"}
	// A client of HTTP/1.0 names no host, and an empty header says so.
	host := claim{names: forwardedHost + " or " + originalURL, example: "api.example.com", optional: len(h[forwardedHost]) > 0}
	method.lines(h, forwardedMethod)
	method.lines(h, originalMethod)
	uri.lines(h, forwardedURI)
	uri.lines(h, originalURI)
	for _, line := range h[forwardedHost] {
		// Proxies append, so the last one is of the proxy that we trust.
		host.add(forwardedHost, strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:]))
	}
	for _, line := range h[originalURL] {
		authority, path := splitURL(line)
		uri.add(originalURL, path)
		host.add(originalURL, authority)
	}
	for _, c := range [...]*claim{&method, &uri, &host} {
		if err := c.check(); err != nil {
			return t, err
		}
	}
	t.method, t.uri, t.host = method.value, uri.value, host.value
	if t.url, err = url.ParseRequestURI(t.uri); err != nil {
		return t, fmt.Errorf("%s is no target of a request: have the proxy send it as the client did, such as %s", uri.from, uri.example)
	}
	return t, nil
}

// splitURL parts https://host/path?query before the path.
func splitURL(s string) (authority, path string) {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	if i := strings.IndexByte(s, '/'); i >= 0 {
		return s[:i], s[i:]
	}
	return s, "/"
}

// claim is what headers say about one thing.
type claim struct {
	names   string // the headers that can say it
	example string

	optional bool   // nobody has to say it
	from     string // the header that said it
	value    string
	differs  string // a header that said something else
}

// lines adds all lines of a header.
func (c *claim) lines(h http.Header, name string) {
	for _, line := range h[name] {
		c.add(name, line)
	}
}

// add adds what a header says.
func (c *claim) add(name, value string) {
	switch {
	case value == "":
	case c.from == "":
		c.from, c.value = name, value
	case c.value != value:
		c.differs = name
	}
}

// check says what is wrong with the claim. It does not repeat what a client wrote.
func (c *claim) check() error {
	switch {
	case c.from == "" && c.optional:
	case c.from == "":
		return fmt.Errorf("the header %s is missing: have the proxy send it, such as %q", c.names, c.example)
	case c.differs == c.from:
		return fmt.Errorf("%s is there twice and differs: have the proxy set it, not add to it", c.from)
	case c.differs != "":
		return fmt.Errorf("%s and %s differ: have the proxy set both, or remove the one that it does not set", c.from, c.differs)
	}
	return nil
}
