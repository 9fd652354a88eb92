package rls

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/stint-dev/stint"
)

// The names of entries that stand for parts of a request. Of those that come from a
// header Envoy's own name works too.
const (
	entryAddress       = "remote_address"
	entryMaskedAddress = "masked_remote_address"
	entryDomain        = ":domain"
)

// source is the descriptors of a request as rules see them: an entry is a field of
// its name. The method, the path and the host are entries called so, or :method,
// :path and :authority; the address is the entry remote_address. A value is that of
// the first entry that has the name.
type source struct {
	ctx context.Context
	req *pb.RateLimitRequest
}

var _ stint.WaitingSource = (*source)(nil)

// Addr implements [stint.Source].
func (s *source) Addr() netip.Addr {
	if v, ok := s.find(entryAddress); ok {
		if addr, err := netip.ParseAddr(v); err == nil {
			return addr.Unmap().WithZone("")
		}
	}
	if v, ok := s.find(entryMaskedAddress); ok {
		if prefix, err := netip.ParsePrefix(v); err == nil {
			return prefix.Addr().Unmap()
		}
	}
	return netip.Addr{}
}

// Deadline implements [stint.WaitingSource].
func (s *source) Deadline() (time.Time, bool) { return s.ctx.Deadline() }

// Value implements [stint.Source].
func (s *source) Value(f stint.Field) (string, bool) {
	switch f.Kind {
	case stint.FieldDescriptor:
		if f.Name == entryDomain {
			return s.req.GetDomain(), true
		}
		return s.find(f.Name)
	case stint.FieldMethod:
		return s.either(":method", "method")
	case stint.FieldPath:
		path, ok := s.either(":path", "path")
		path, _, _ = strings.Cut(path, "?")
		return path, ok
	case stint.FieldHost:
		host, ok := s.either(":authority", "host")
		return hostOnly(host), ok
	}
	return "", false
}

// hostOnly is a host without its port, in lower case.
func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func (s *source) either(name, other string) (string, bool) {
	if v, ok := s.find(name); ok {
		return v, true
	}
	return s.find(other)
}

// find returns the value of the first entry called name.
func (s *source) find(name string) (string, bool) {
	for _, d := range s.req.GetDescriptors() {
		for _, e := range d.GetEntries() {
			if e.GetKey() == name {
				return e.GetValue(), true
			}
		}
	}
	return "", false
}
