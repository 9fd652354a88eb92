package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// Listen is where a server listens. An empty address is off.
type Listen struct {
	// Gateway is the reverse proxy.
	Gateway string
	// HTTP is the decision service over HTTP, GRPC the one over gRPC, with that of
	// Envoy, and RESP the one over the protocol of Redis.
	HTTP, GRPC, RESP string
	// Admin has health, metrics and status.
	Admin string
}

// Upstream is the server behind the gateway. The zero Upstream is none.
type Upstream struct {
	// URL is where it is: scheme, host, and a path that goes before the path of
	// each request.
	URL *url.URL
	// Demo is the built-in echo service instead.
	Demo bool
}

// IsSet says whether there is an upstream.
func (u Upstream) IsSet() bool { return u.Demo || u.URL != nil }

// String returns u as it is written.
func (u Upstream) String() string {
	switch {
	case u.Demo:
		return "demo"
	case u.URL != nil:
		return u.URL.String()
	}
	return ""
}

// ParseAddress checks an address to listen on, such as ":8080" or
// "127.0.0.1:9090"; "" is off. The error says what to write instead.
func ParseAddress(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		if isPort(s) {
			return "", fmt.Errorf("%q is a port only: write :%s", s, s)
		}
		return "", fmt.Errorf("%q is no address to listen on: write one such as :8080 or 127.0.0.1:9090", yamlfile.Cut(s))
	}
	if !isPort(port) {
		return "", fmt.Errorf("%q has no port from 0 to 65535: write one such as :8080", yamlfile.Cut(s))
	}
	if strings.ContainsAny(host, " /@") {
		return "", fmt.Errorf("%q is no address to listen on: write one such as :8080 or 127.0.0.1:9090", yamlfile.Cut(s))
	}
	return s, nil
}

// isPort says whether s is a number of a port.
func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// ParseUpstream reads an upstream: an http or https URL, or "demo". The error
// says what to write instead; it does not repeat a password.
func ParseUpstream(s string) (Upstream, error) {
	if s == "demo" {
		return Upstream{Demo: true}, nil
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok && strings.Contains(s, "@") {
		return Upstream{}, fmt.Errorf("%q can hold a password: write it without the @ and what is before it, the gateway passes no password on", scheme+"://…@…")
	}
	const hint = "write a URL such as http://127.0.0.1:3000, or demo"
	u, err := url.Parse(s)
	switch {
	case s == "":
		return Upstream{}, errors.New(`"" is no http or https URL: ` + hint)
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		if _, _, err := net.SplitHostPort(s); err == nil {
			return Upstream{}, fmt.Errorf("%q is no http or https URL: write http://%s", yamlfile.Cut(s), yamlfile.Cut(s))
		}
		return Upstream{}, fmt.Errorf("%q is no http or https URL: %s", yamlfile.Cut(s), hint)
	case u.Hostname() == "":
		return Upstream{}, fmt.Errorf("%q has no host: %s", yamlfile.Cut(s), hint)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return Upstream{}, fmt.Errorf("%q goes on behind its path: leave out what follows ? or #", yamlfile.Cut(s))
	}
	if port := u.Port(); port != "" && !isPort(port) {
		return Upstream{}, fmt.Errorf("%q has no port from 0 to 65535: %s", yamlfile.Cut(s), hint)
	}
	return Upstream{URL: u}, nil
}
