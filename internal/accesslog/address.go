package accesslog

import (
	"net/netip"
	"strings"
)

// parseAddr reads an IP address, with or without brackets, port and zone, and unmaps it.
func parseAddr(s string) (netip.Addr, bool) {
	s, ok := withoutPort(s)
	if !ok {
		return netip.Addr{}, false
	}
	if i := strings.IndexByte(s, '%'); i > 0 {
		s = s[:i]
	}
	if !looksLikeAddr(s) {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err == nil
}

// lastAddr reads an address, or the right-most one of a list such as X-Forwarded-For.
func lastAddr(s string) (netip.Addr, bool) {
	return parseAddr(strings.Trim(s[strings.LastIndexByte(s, ',')+1:], " "))
}

// looksLikeAddr saves the error that netip allocates for what is no address.
func looksLikeAddr(s string) bool {
	separators := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' || c == ':':
			separators++
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return separators >= 2
}

// withoutPort returns the host of host, host:port, [host] and [host]:port. It fails where
// brackets or port are malformed.
func withoutPort(s string) (string, bool) {
	if strings.HasPrefix(s, "[") {
		host, port, ok := strings.Cut(s[1:], "]")
		return host, ok && (port == "" || port[0] == ':' && isNumber(port[1:]))
	}
	if host, port, ok := strings.Cut(s, ":"); ok && strings.IndexByte(port, ':') < 0 {
		return host, isNumber(port)
	}
	return s, true
}

// hostOf returns the host of a Host header without its port; none for what servers write
// where there is none.
func hostOf(s string) string {
	host, ok := withoutPort(s)
	switch {
	case !ok:
		return s
	case host == "-" || host == "_":
		return ""
	}
	return host
}

func isNumber(s string) bool {
	number, rest := digits(s)
	return number != "" && rest == ""
}
