package clientip

import (
	"net/netip"
	"strings"
)

// parseForwarded returns the address in the "for" parameter of one element of
// a Forwarded header (RFC 7239). It is not ok where there is no such parameter
// or more than one, or where its value is no address, such as "unknown".
func parseForwarded(element string) (netip.Addr, bool) {
	node, found := "", false
	for rest, more := element, true; more; {
		var pair string
		pair, rest, more = cutPair(rest)
		name, value, _ := strings.Cut(pair, "=")
		if !strings.EqualFold(name, "for") {
			continue
		}
		if found {
			return netip.Addr{}, false
		}
		node, found = value, true
	}
	if !found {
		return netip.Addr{}, false
	}
	return parseHost(unquote(node), isNodePort)
}

// cutPair cuts s at its first semicolon outside quotes.
func cutPair(s string) (pair, rest string, more bool) {
	quoted := false
	for i := range len(s) {
		switch {
		case isQuote(s, i):
			quoted = !quoted
		case s[i] == ';' && !quoted:
			return trimBlanks(s[:i]), s[i+1:], true
		}
	}
	return trimBlanks(s), "", false
}

// isNodePort reports whether s is a port, or one that its proxy made
// unreadable: an underscore and letters, digits, ".", "_", "-".
func isNodePort(s string) bool {
	if len(s) < 2 || s[0] != '_' {
		return isPort(s)
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
