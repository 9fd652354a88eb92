package clientip

import (
	"net/netip"
	"strings"
)

// parseHost returns the address in s, unmapped and without zone. The forms are
// 192.0.2.1, 192.0.2.1:port, 2001:db8::1, [2001:db8::1] and [2001:db8::1]:port;
// port says what a port is.
//
// The parsers of net/netip would do, but they allocate an error for each thing
// they refuse and keep each zone they meet.
func parseHost(s string, port func(string) bool) (netip.Addr, bool) {
	if strings.HasPrefix(s, "[") {
		host, tail, ok := strings.Cut(s[1:], "]")
		if !ok || tail != "" && (tail[0] != ':' || !port(tail[1:])) {
			return netip.Addr{}, false
		}
		return parseIPv6(host)
	}
	host, tail, colon := strings.Cut(s, ":")
	switch {
	case !colon:
		return parseIPv4(host)
	case strings.Contains(tail, ":"):
		return parseIPv6(s)
	case !port(tail):
		return netip.Addr{}, false
	}
	return parseIPv4(host)
}

// BareHost takes the port and the final dot off a host as requests name
// it. An IPv6 address keeps its
// brackets.
func BareHost(host string) string {
	if strings.HasPrefix(host, "[") {
		return host[:strings.IndexByte(host, ']')+1]
	}
	if i := strings.IndexByte(host, ':'); i >= 0 && strings.IndexByte(host[i+1:], ':') < 0 {
		host = host[:i]
	}
	return strings.TrimSuffix(host, ".")
}

// parseIPv4 reads four decimal numbers without leading zeros.
func parseIPv4(s string) (netip.Addr, bool) {
	var b [4]byte
	if !parseDotted(s, b[:]) {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4(b), true
}

// parseDotted reads a dotted quad into b, which has four bytes.
func parseDotted(s string, b []byte) bool {
	octet, digits, value := 0, 0, 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && digits > 0 && octet < 3:
			b[octet] = byte(value)
			octet, digits, value = octet+1, 0, 0
		case c < '0' || c > '9' || digits > 0 && value == 0:
			return false
		default:
			digits, value = digits+1, value*10+int(c-'0')
			if value > 255 {
				return false
			}
		}
	}
	if octet < 3 || digits == 0 {
		return false
	}
	b[octet] = byte(value)
	return true
}

// parseIPv6 reads an IPv6 address, drops its zone, and unmaps it.
func parseIPv6(s string) (netip.Addr, bool) {
	s, zone, scoped := strings.Cut(s, "%")
	if scoped && zone == "" {
		return netip.Addr{}, false
	}
	var b [16]byte
	head, tail, gap := strings.Cut(s, "::")
	n, ok := parseGroups(head, b[:], !gap)
	if !ok {
		return netip.Addr{}, false
	}
	if gap {
		var end [16]byte
		m, ok := parseGroups(tail, end[:], true)
		if !ok || n+m >= len(b) {
			return netip.Addr{}, false
		}
		copy(b[len(b)-m:], end[:m])
	} else if n != len(b) {
		return netip.Addr{}, false
	}
	return netip.AddrFrom16(b).Unmap(), true
}

// parseGroups reads groups of up to four hex digits, parted by colons, into b
// and returns the bytes written. Where last, the final four bytes may be a
// dotted quad. An empty s is no group.
func parseGroups(s string, b []byte, last bool) (n int, ok bool) {
	if s == "" {
		return 0, true
	}
	start, value := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ':':
			if i == start || n+2 > len(b) {
				return 0, false
			}
			b[n], b[n+1] = byte(value>>8), byte(value)
			n, start, value = n+2, i+1, 0
		case s[i] == '.' && last:
			return n + 4, n+4 <= len(b) && parseDotted(s[start:], b[n:n+4])
		default:
			digit, ok := hexDigit(s[i])
			if !ok || i-start == 4 {
				return 0, false
			}
			value = value<<4 | digit
		}
	}
	return n, true
}

func hexDigit(c byte) (int, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}

// isPort reports whether s is one to five digits. Which port it is never
// matters.
func isPort(s string) bool { return len(s) <= 5 && isDigits(s) }

// isDigits reports whether s is digits, at least one.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// unquote takes one pair of quotes off s. What it uncovers is not unescaped: no
// address holds an escape.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// trimBlanks takes the spaces and tabs off both ends of s.
func trimBlanks(s string) string { return strings.Trim(s, " \t") }
