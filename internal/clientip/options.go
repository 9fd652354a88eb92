package clientip

import (
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"
)

// Options say whom a Resolver trusts. The zero value trusts nobody.
type Options struct {
	// TrustedProxies are the networks whose word about a client is believed.
	// None means that the peer is always the client. IPv4-mapped networks mean
	// the IPv4 networks they stand for; an IPv6 network never holds an IPv4
	// address, so that ::/0 trusts IPv6 only. Trust adds to them.
	TrustedProxies []netip.Prefix

	// TrustUnix believes peers on Unix sockets, which have no address of their
	// own. Without it such a peer's headers are not read and its client is
	// missing.
	TrustUnix bool

	// Header is the one header that names the client. Empty means
	// X-Forwarded-For. "Forwarded" is read as RFC 7239 has it, by its "for"
	// parameters; any other header, also one of a single value such as
	// X-Real-IP, as a list of addresses.
	Header string
}

// A FieldError says which setting is unusable, and what to write instead. All
// errors of this package are of this type, or several of it joined.
type FieldError struct {
	Field string // As the operator's file calls it, such as "trusted_proxies".
	Value string // What was given.
	Hint  string // What is wrong, or what to write instead.
}

// Error returns field, value and hint in one line.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Field, e.Value, e.Hint)
}

// New returns a Resolver for o, or all that is wrong with o as joined
// FieldErrors. It keeps nothing of o.
func New(o Options) (*Resolver, error) {
	trusted, trustedErr := newNetworks(o.TrustedProxies)
	header, headerErr := headerName(o.Header)
	if err := errors.Join(trustedErr, headerErr); err != nil {
		return nil, err
	}
	return &Resolver{
		trusted:   trusted,
		trustUnix: o.TrustUnix,
		header:    header,
		forwarded: header == "Forwarded",
	}, nil
}

// headerName returns the canonical form of name, which may be empty.
func headerName(name string) (string, error) {
	if name == "" {
		return "X-Forwarded-For", nil
	}
	for i := range len(name) {
		if !isTokenByte(name[i]) {
			return "", &FieldError{
				"header", strconv.Quote(name),
				"not the name of one header: write one such as X-Forwarded-For, X-Real-IP or Forwarded",
			}
		}
	}
	return textproto.CanonicalMIMEHeaderKey(name), nil
}

// isTokenByte reports whether c may stand in a token of RFC 9110.
func isTokenByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
