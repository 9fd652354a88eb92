package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/stint-dev/stint/internal/clientip"
	"github.com/stint-dev/stint/internal/yamlfile"
)

// upstream reads the server behind the gateway.
func (b *builder) upstream(s *shape) {
	n := s.Upstream.n
	if n == nil {
		return
	}
	u, err := ParseUpstream(s.Upstream.v)
	if err != nil {
		message, hint := cutHint(err.Error())
		if n.Filled {
			message = strconv.Quote(yamlfile.Cut(n.Raw)) + " is no http or https URL once the environment is filled in"
		}
		if strings.Contains(n.Raw, "@") {
			n.Hide()
		}
		b.fault(n, "upstream "+message, hint)
		return
	}
	b.file.Upstream = u
}

func (b *builder) listen(l *listen) {
	at := &b.file.Listen
	if b.file.Upstream.IsSet() {
		at.Gateway = ":8080"
	}
	at.Admin = "127.0.0.1:9090"
	listeners := []struct {
		name string
		w    *word
		addr *string
	}{
		{"gateway", &l.Gateway, &at.Gateway},
		{"http", &l.HTTP, &at.HTTP},
		{"grpc", &l.GRPC, &at.GRPC},
		{"resp", &l.RESP, &at.RESP},
		{"admin", &l.Admin, &at.Admin},
	}
	for i, one := range listeners {
		*one.addr = b.address(one.w, "listen."+one.name, *one.addr)
		for _, other := range listeners[:i] {
			if *one.addr == "" || *one.addr != *other.addr || isAnyPort(*one.addr) {
				continue
			}
			n := firstOf(one.w.n, other.w.n, l.n)
			b.fault(n, "listen."+other.name+" and listen."+one.name+" are both "+strconv.Quote(yamlfile.Cut(n.Raw)), "give each a port of its own")
		}
	}
	if b.root.Find("upstream") == nil && l.Gateway.n != nil && l.Gateway.v != "" {
		b.fault(l.Gateway.n, "listen.gateway"+l.Gateway.n.Shown()+" has no upstream to pass requests on to", "write upstream: http://127.0.0.1:3000, or upstream: demo")
	}
}

// isAnyPort says whether the system picks the port.
func isAnyPort(addr string) bool { return len(addr) > 2 && addr[len(addr)-2:] == ":0" }

// address reads one address, or returns def where there is none.
func (b *builder) address(w *word, name, def string) string {
	if w.n == nil {
		return def
	}
	addr, err := ParseAddress(w.v)
	switch {
	case err != nil && w.n.Filled:
		b.fault(w.n, name+w.n.Shown()+" is no address once the environment is filled in", `it must read like ":8080" or "127.0.0.1:9090"`)
	case err != nil:
		message, hint := cutHint(err.Error())
		b.fault(w.n, name+" "+message, hint)
	}
	return addr
}

// addresses are the settings about clients' addresses.
func (b *builder) addresses(s *shape) {
	var o clientip.Options
	for _, w := range s.TrustedProxies.v {
		if err := o.Trust(w.v); err != nil {
			b.clientIP(w.n, err)
		}
	}
	b.file.TrustedProxies, b.file.TrustUnix = o.TrustedProxies, o.TrustUnix
	c := &s.ClientIP
	b.trust(s)
	if c.Header.n != nil {
		b.file.ClientHeader = c.Header.v
		if _, err := clientip.New(clientip.Options{Header: c.Header.v}); err != nil || c.Header.v == "" {
			b.fault(c.Header.n, "client_ip.header"+c.Header.n.Shown()+" is not the name of one header", "write one such as X-Forwarded-For, X-Real-IP or Forwarded")
		}
	}
	b.file.Spec.IPv4Prefix = b.prefix(&c.IPv4Prefix, "client_ip.ipv4_prefix", 32, 32)
	b.file.Spec.IPv6Prefix = b.prefix(&c.IPv6Prefix, "client_ip.ipv6_prefix", 64, 128)
}

// trust warns of trust in everybody, and of a header that nobody is trusted with.
func (b *builder) trust(s *shape) {
	for _, w := range s.TrustedProxies.v {
		if p, err := netip.ParsePrefix(w.v); err == nil && p.Bits() == 0 {
			b.warn(w.n, "trusted_proxies"+w.n.Shown()+" lets any client choose its address", "write the networks of your proxies")
		}
	}
	if h := s.ClientIP.Header.n; h != nil && s.TrustedProxies.n == nil {
		b.warn(h, "client_ip.header"+h.Shown()+" is never read, since nobody is trusted to write it", "name your proxies in trusted_proxies")
	}
}

// warn adds a warning about n.
func (b *builder) warn(n *node, message, hint string) {
	b.file.Warnings = append(b.file.Warnings, &Error{File: b.file.Path, Line: n.Line, Column: n.Column, Text: n.Source(), Message: message, Hint: hint})
}

// clientIP reports a fault that package clientip found.
func (b *builder) clientIP(n *node, err error) {
	var fe *clientip.FieldError
	if errors.As(err, &fe) && !n.Filled {
		b.fault(n, "trusted_proxies"+n.Shown(), fe.Hint)
		return
	}
	b.fault(n, "trusted_proxies"+n.Shown()+" is no network", `write one such as "10.0.0.0/8", an address, private or unix`)
}

// prefix reads a number of bits; 0 means def.
func (b *builder) prefix(w *whole, name string, def, most int) int {
	if w.n != nil && (w.v < 1 || w.v > int64(most)) {
		b.fault(w.n, name+w.n.Shown()+" is out of range", fmt.Sprintf("write a number from 1 to %d, or leave it out for %d", most, def))
		return 0
	}
	return int(w.v)
}

func (b *builder) headers(w *words) {
	b.file.Headers = []string{"x-ratelimit", "ietf"}
	if w.n == nil || w.n.Faulty {
		return
	}
	if w.n.Kind == yamlfile.List && len(w.n.Items) == 0 {
		b.fault(w.n, "headers is an empty list", "write none to send none")
		return
	}
	b.file.Headers = w.texts()
	seen := make(map[string]bool)
	for _, one := range w.v {
		switch {
		case seen[one.v]:
			b.fault(one.n, "headers names "+one.v+" twice", "leave out one")
		case one.v == "none" && len(w.v) > 1:
			b.fault(one.n, "headers names none beside others", "leave out none, or write it alone")
		case one.v == "github" && seen["x-ratelimit"], one.v == "x-ratelimit" && seen["github"]:
			b.fault(one.n, "headers names x-ratelimit and github, which give X-RateLimit-Reset two meanings", "leave out one")
		}
		seen[one.v] = true
	}
}

func (b *builder) hashKey(w *word) {
	b.put("hash_key", firstOf(w.n, b.root.Find("keys")))
	if w.n == nil {
		return
	}
	if w.v == "" {
		b.fault(w.n, "hash_key is empty", "write a long random text, or leave it out for the default")
		return
	}
	b.file.Spec.HashKey = []byte(w.v)
}
