package httplimit

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"sync"

	"github.com/stint-dev/stint"
)

// Key appends to dst what tells one client from another and returns the longer
// slice. It says no if the request does not have it; appending nothing is the
// same. ctx is the context of the request. A Key is called by many goroutines at
// once and keeps neither src nor dst.
type Key func(ctx context.Context, src stint.Source, dst []byte) ([]byte, bool)

// ByIP tells clients apart by their address, IPv6 ones by the /64 it is in. A
// peer on a Unix socket has none.
func ByIP(_ context.Context, src stint.Source, dst []byte) ([]byte, bool) {
	addr := src.Addr()
	if !addr.IsValid() {
		return dst, false
	}
	if addr = addr.Unmap(); addr.Is4() {
		return addr.AppendTo(dst), true
	}
	const network = 64
	return netip.PrefixFrom(addr, network).Masked().AppendTo(dst), true
}

// ByHeader tells clients apart by the first line of a header, which is hashed:
// the value, perhaps a secret, never reaches a store.
func ByHeader(name string) Key {
	field := stint.Field{Kind: stint.FieldHeader, Name: http.CanonicalHeaderKey(name)}
	return func(_ context.Context, src stint.Source, dst []byte) ([]byte, bool) {
		value, ok := src.Value(field)
		if !ok || value == "" {
			return dst, false
		}
		return appendHash(dst, value), true
	}
}

// Global puts all requests into one bucket.
func Global(_ context.Context, _ stint.Source, dst []byte) ([]byte, bool) {
	return append(dst, '*'), true
}

// appendHash appends 128 bits of a hash of value.
func appendHash(dst []byte, value string) []byte {
	const size = 16
	sum := sha256.Sum256([]byte(value))
	return append(dst, sum[:size]...)
}

// Missing says what a request without the key means to a [Single].
type Missing uint8

const (
	// MissingIP counts the request by its address, in buckets apart from those of
	// the key. A request without an address is refused then. It is the default.
	MissingIP Missing = iota
	// MissingSkip lets the request through and counts nothing.
	MissingSkip
	// MissingDeny refuses the request.
	MissingDeny
	// MissingShare counts all such requests in one bucket.
	MissingShare
)

// Single is a Decider with one policy: each request costs one unit of the bucket
// of its key. It must not be copied after its first use.
type Single struct {
	// Limiter settles the charges. Needed.
	Limiter *stint.Limiter
	// Policy is the limit. Needed.
	Policy *stint.Policy
	// Key tells clients apart. Needed: there is no key that is right for everyone.
	// Common ones are ByIP, ByHeader("X-Api-Key") and Global.
	Key Key
	// Missing says what a request without the key means.
	Missing Missing

	scratch sync.Pool
}

// charge is the storage of one charge.
type charge struct {
	charges [1]stint.Charge
	key     []byte
}

var _ stint.Decider = (*Single)(nil)

// Decide implements [stint.Decider].
func (s *Single) Decide(ctx context.Context, src stint.Source, d *stint.Decision) error {
	if err := s.check(); err != nil {
		d.Clear()
		return err
	}
	c, _ := s.scratch.Get().(*charge)
	if c == nil {
		c = new(charge)
	}
	err := s.decide(ctx, src, c, d)
	d.OwnKeys()
	if cap(c.key) <= stint.MaxKey {
		s.scratch.Put(c)
	}
	return err
}

func (s *Single) decide(ctx context.Context, src stint.Source, c *charge, d *stint.Decision) error {
	const own = "key:"
	ok := false
	c.key, ok = s.Key(ctx, src, append(c.key[:0], own...))
	if !ok || len(c.key) <= len(own) {
		if s.Missing == MissingSkip {
			d.Clear()
			d.Allowed = true
			return nil
		}
		if c.key, ok = s.instead(ctx, src, c.key[:0]); !ok {
			return s.refuse(d, stint.ReasonMissingKey)
		}
	}
	if len(c.key) > stint.MaxKey {
		return s.refuse(d, stint.ReasonTooLarge)
	}
	c.charges[0] = stint.Charge{Policy: s.Policy, Key: c.key, Ask: stint.Ask{Cost: 1}}
	stint.BoundDelays(src, c.charges[:])
	return s.Limiter.Decide(ctx, c.charges[:], d)
}

// instead is the key of a request without one.
func (s *Single) instead(ctx context.Context, src stint.Source, dst []byte) ([]byte, bool) {
	switch s.Missing {
	case MissingIP:
		return ByIP(ctx, src, append(dst, "ip:"...))
	case MissingShare:
		return append(dst, "none"...), true
	}
	return dst, false
}

func (s *Single) refuse(d *stint.Decision, reason stint.Reason) error {
	d.Clear()
	d.Refuse(reason, stint.Result{Policy: s.Policy.Name, Limit: s.Policy.Limit, Capacity: s.Policy.Capacity(), Cost: 1})
	return nil
}

// check says all that is not set.
func (s *Single) check() error {
	if s != nil && s.Limiter != nil && s.Policy != nil && s.Key != nil && s.Missing <= MissingShare {
		return nil
	}
	if s == nil {
		return errors.New("single is nil: give one with a limiter, a policy and a key")
	}
	var errs []error
	if s.Limiter == nil {
		errs = append(errs, errors.New("single has no limiter"))
	}
	if s.Policy == nil {
		errs = append(errs, errors.New("single has no policy: make one with stint.NewPolicy"))
	}
	if s.Key == nil {
		errs = append(errs, errors.New("single has no key: choose one, for example httplimit.ByIP"))
	}
	if s.Missing > MissingShare {
		errs = append(errs, errors.New("single has an unknown Missing: write MissingIP, MissingSkip, MissingDeny or MissingShare"))
	}
	return errors.Join(errs...)
}
