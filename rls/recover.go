package rls

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recovered turns a panic into an error. What it says is not for the caller.
func (s *Server) recovered(err *error) {
	fault := recover()
	if fault == nil {
		return
	}
	s.o.Service.panics.Add(1)
	if s.o.OnPanic != nil {
		s.o.OnPanic(fault)
	}
	*err = status.Error(codes.Internal, "a fault of the rate limit service")
}

func (s *Server) recoverUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer s.recovered(&err)
	return handler(ctx, req)
}

func (s *Server) recoverStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer s.recovered(&err)
	return handler(srv, stream)
}
