package grpclimit

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/clientip"
)

// source is a call as rules see it.
type source struct {
	ctx     context.Context
	method  string
	clients *clientip.Resolver

	addr    netip.Addr
	hasAddr bool
}

var _ stint.WaitingSource = (*source)(nil)

// Addr implements [stint.Source].
func (s *source) Addr() netip.Addr {
	if !s.hasAddr {
		var lines []string
		if s.clients.TrustsAny() {
			lines = metadata.ValueFromIncomingContext(s.ctx, strings.ToLower(s.clients.Header()))
		}
		s.addr, s.hasAddr = s.clients.Client(remote(s.ctx), lines), true
	}
	return s.addr
}

// remote is the connection's peer as clientip takes it, empty if there is none.
func remote(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	name := p.Addr.String()
	if p.Addr.Network() == "unix" && !strings.HasPrefix(name, "/") {
		return "@"
	}
	return name
}

// Deadline implements [stint.WaitingSource].
func (s *source) Deadline() (time.Time, bool) { return s.ctx.Deadline() }

// Value implements [stint.Source].
func (s *source) Value(f stint.Field) (string, bool) {
	switch f.Kind {
	case stint.FieldMethod:
		return http.MethodPost, true
	case stint.FieldPath:
		return s.method, true
	case stint.FieldHost:
		authority, _ := s.first(":authority")
		host := strings.ToLower(clientip.BareHost(authority))
		return host, host != ""
	case stint.FieldHeader:
		if f.Name == "Host" {
			return s.first(":authority")
		}
		return s.first(f.Name)
	}
	return "", false
}

// first is the first value of a metadata key. Keys are in lower case; a name in
// another case finds them too.
func (s *source) first(name string) (string, bool) {
	values := metadata.ValueFromIncomingContext(s.ctx, name)
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}
