// Package clientip says who calls, as far as we trust.
//
// The one address that nobody can make up is that of the connection's peer.
// Where the peer is a proxy that the operator named as trusted, the proxy's
// word about its own peer counts too, and so on along the chain, from right to
// left: proxies append, so what stands left of the first address that is not
// ours was written by somebody we have no reason to believe.
//
// There is no default client: a request whose peer has no address has no
// client address either, and the caller decides what that means.
package clientip

import (
	"net/netip"
	"strings"
)

const (
	// maxElements is the number of header elements that are looked at for one
	// request, from the right. A longer chain of trusted proxies ends at the
	// last one looked at.
	maxElements = 64

	// maxElementBytes is the length of the longest element that is read. A
	// longer one counts as one that is no address.
	maxElementBytes = 1024
)

// A Resolver finds the address of a client. Make one with New; the zero Resolver
// is not usable. It does not change, and many goroutines may use it at once.
type Resolver struct {
	trusted   networks
	trustUnix bool
	header    string
	forwarded bool
}

// Header returns the canonical name of the one header that Client wants, so
// that http.Header can be indexed with it. No other header is to be read.
func (r *Resolver) Header() string { return r.header }

// Client returns the full address of the client, unmapped and without zone.
//
// The peer is remote, as http.Request.RemoteAddr has it: an address with or
// without port, or the name of a Unix socket. The header's lines, in the order
// in which they came, count only where the peer is trusted. Then the client is
// the right-most address over all lines that is not a trusted proxy, or the
// left-most one of a chain that is trusted throughout.
//
// An element that is no address ends the walk, and so do maxElements of them:
// the client is then the last trusted address seen, and nothing further left
// is believed. An empty element is no address: it is what a proxy appends that
// does not know its peer.
//
// The result is the zero Addr, for which IsValid is false, where no address is
// known: the peer is a Unix socket (and, where those are trusted, named no
// client), is empty, or is no address. It must be treated as a missing value,
// never as a client of its own.
//
// Client allocates nothing, whatever it is given.
func (r *Resolver) Client(remote string, header []string) netip.Addr {
	last, trusted := r.peer(remote)
	if !trusted {
		return last
	}
	chain := chain{lines: header}
	for range maxElements {
		element, ok := chain.next()
		if !ok {
			break
		}
		addr, ok := r.address(element)
		if !ok {
			break
		}
		last = addr
		if !r.trusted.contain(addr) {
			break
		}
	}
	return last
}

// TrustsAny reports whether there is a peer whose header would be read. Where there
// is none, nobody needs to look the header up.
func (r *Resolver) TrustsAny() bool { return r.trustUnix || len(r.trusted) > 0 }

// Trusts reports whether remote, a peer as Client takes it, is a proxy whose
// headers about the client are believed.
func (r *Resolver) Trusts(remote string) bool {
	_, trusted := r.peer(remote)
	return trusted
}

// peer returns the address of remote, if it has one, and whether it is trusted.
func (r *Resolver) peer(remote string) (netip.Addr, bool) {
	if isUnix(remote) {
		return netip.Addr{}, r.trustUnix
	}
	addr, ok := parseHost(remote, isPort)
	return addr, ok && r.trusted.contain(addr)
}

// address returns the address that an element of the header names.
func (r *Resolver) address(element string) (netip.Addr, bool) {
	if r.forwarded {
		return parseForwarded(element)
	}
	return parseHost(unquote(element), isPort)
}

// isUnix reports whether remote names a Unix socket: by its path, or by the "@"
// that stands for the abstract and the unnamed ones. An empty name is none: it
// could be a peer that somebody forgot to set.
func isUnix(remote string) bool {
	return strings.HasPrefix(remote, "@") || strings.HasPrefix(remote, "/")
}
