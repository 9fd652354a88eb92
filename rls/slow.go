package rls

import (
	"context"
	"time"

	"google.golang.org/grpc/tap"
)

// DefaultCallTimeout is the longest a call may take, its message included, if
// ServerOptions say nothing else.
const DefaultCallTimeout = 10 * time.Second

// bound gives a call that opens an end: without one a client can open calls, send no
// message, and have the server keep them for ever. Calls that are streams by their
// nature, such as the watching of health, have none.
func (s *Server) bound(ctx context.Context, info *tap.Info) (context.Context, error) {
	if !s.unary[info.FullMethodName] {
		return ctx, nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < s.o.CallTimeout {
		return ctx, nil
	}
	bounded, cancel := context.WithTimeout(ctx, s.o.CallTimeout)
	_ = cancel // The end of the call ends ctx, and bounded with it.
	return bounded, nil
}

// unaryMethods are the names of the methods that have one message.
func (s *Server) unaryMethods() map[string]bool {
	names := make(map[string]bool)
	for service, info := range s.grpc.GetServiceInfo() {
		for _, m := range info.Methods {
			if !m.IsClientStream && !m.IsServerStream {
				names["/"+service+"/"+m.Name] = true
			}
		}
	}
	return names
}
