package gateway

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// rewrite makes the request to the upstream.
func (g *Gateway) rewrite(p *httputil.ProxyRequest) {
	in, out := p.In, p.Out
	out.URL.Scheme, out.URL.Host, out.URL.User = g.upstream.Scheme, g.upstream.Host, nil
	if in.URL.Path != "*" && g.upstream.Path != "" {
		join(out.URL, g.upstream, in.URL)
	}
	out.URL.RawQuery = in.URL.RawQuery
	if g.upstreamHost {
		out.Host = ""
	}
	out.Trailer = in.Trailer // The same map, since it is filled as the body ends.
	onlyWebSocket(out.Header)
	g.setForwarded(out.Header, in)
}

// join puts the path of base in front of path.
func join(to, base, path *url.URL) {
	to.Path = base.Path + path.Path
	to.RawPath = ""
	if base.RawPath != "" || path.RawPath != "" {
		to.RawPath = base.EscapedPath() + path.EscapedPath()
	}
}

// onlyWebSocket drops a request for any other protocol.
func onlyWebSocket(h http.Header) {
	if upgrade, ok := h["Upgrade"]; ok && !strings.EqualFold(upgrade[0], "websocket") {
		delete(h, "Upgrade")
		delete(h, "Connection")
	}
	delete(h, "Http2-Settings")
}

// setForwarded says in h who the client is. Fields that a trusted peer sent are
// kept, and the peer is added to the chain; what anybody else sent is dropped.
func (g *Gateway) setForwarded(h http.Header, in *http.Request) {
	for name := range h {
		if speaksForOthers(name) {
			delete(h, name)
		}
	}
	trusted := g.clients.Trusts(in.RemoteAddr)
	if trusted {
		keepForwarded(h, in.Header)
	}
	peer := peerOf(in.RemoteAddr)
	proto := "http"
	if in.TLS != nil {
		proto = "https"
	}
	values := &[4]string{chainOf(in.Header["X-Forwarded-For"], peer, trusted), proto, in.Host, portOf(in.Host, proto)}
	for i, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port"} {
		if values[i] == "" || i > 0 && len(h[name]) > 0 {
			continue
		}
		h[name] = values[i : i+1 : i+1]
	}
	if forwarded := h["Forwarded"]; len(forwarded) > 0 && peer != "" {
		h["Forwarded"] = append(forwarded, "for="+node(peer))
	}
}

// keepForwarded copies what a trusted peer said about the client. Spellings with
// an underscore are never copied: for some upstreams they are the same fields.
func keepForwarded(h, in http.Header) {
	for name, values := range in {
		if speaksForOthers(name) && strings.IndexByte(name, '_') < 0 {
			h[name] = slices.Clip(values)
		}
	}
}

// speaksForOthers says whether a field tells who the client of a proxy is.
func speaksForOthers(name string) bool {
	if len(name) < len("Forwarded") {
		return false
	}
	switch name[0] {
	case 'X', 'F', 'T', 'C':
	default:
		return false
	}
	if strings.IndexByte(name, '_') >= 0 {
		name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	}
	switch name {
	case "Forwarded", "Forwarded-For", "X-Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip",
		"X-Original-Forwarded-For", "X-Original-Url", "X-Rewrite-Url",
		"True-Client-Ip", "Client-Ip", "Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Fastly-Client-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// chainOf returns the value of X-Forwarded-For.
func chainOf(incoming []string, peer string, trusted bool) string {
	if !trusted || len(incoming) == 0 {
		return peer
	}
	chain := strings.Join(incoming, ", ")
	if peer == "" {
		return chain
	}
	return chain + ", " + peer
}

// peerOf returns the address of a connection's peer without port and zone; empty
// if it has none.
func peerOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return ""
	}
	host, _, _ = strings.Cut(host, "%")
	if _, err := netip.ParseAddr(host); err != nil {
		return ""
	}
	return host
}

// portOf returns the port that the client asked for.
func portOf(host, proto string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && i > strings.LastIndexByte(host, ']') && i+1 < len(host) {
		return host[i+1:]
	}
	if proto == "https" {
		return "443"
	}
	return "80"
}

// node writes an address as RFC 7239 has it.
func node(addr string) string {
	if strings.IndexByte(addr, ':') >= 0 {
		return `"[` + addr + `]"`
	}
	return addr
}
