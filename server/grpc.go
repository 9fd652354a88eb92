package server

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The service is, in the language of protocol buffers,
//
//	package stint.v1;
//	service Decisions {
//	  rpc Check(google.protobuf.BytesValue) returns (google.protobuf.BytesValue);
//	  rpc Refund(google.protobuf.BytesValue) returns (google.protobuf.BytesValue);
//	}
//
// The bytes are the JSON of /v1/check and /v1/refund. So no codec has to be known to
// a whole process, and no code generated, on either side.

// RegisterGRPC adds the service stint.v1.Decisions to a server of gRPC: the checks
// and refunds of the HTTP API. A question that is not understood is an
// InvalidArgument.
func (s *Server) RegisterGRPC(r grpc.ServiceRegistrar) {
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: "stint.v1.Decisions",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Check", Handler: method("Check", aCheck)},
			{MethodName: "Refund", Handler: method("Refund", aRefund)},
		},
		Metadata: "stint/v1/decisions.proto",
	}, s)
}

// method returns the handler of a method.
func method(name string, k kind) grpc.MethodHandler {
	full := "/stint.v1.Decisions/" + name
	return func(srv any, ctx context.Context, dec func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.BytesValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, in any) (any, error) { return answerGRPC(ctx, srv, in, k) }
		if wrap == nil {
			return handle(ctx, in)
		}
		return wrap(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, handle)
	}
}

// answerGRPC answers a question. srv and in are what method was given, unless an
// interceptor put something else there.
func answerGRPC(ctx context.Context, srv, in any, k kind) (any, error) {
	s, ok := srv.(*Server)
	question, is := in.(*wrapperspb.BytesValue)
	if !ok || !is {
		return nil, status.Error(codes.Internal, "an interceptor has changed the question")
	}
	c := s.borrow()
	defer s.putBack(c)
	c.body = append(c.body, question.GetValue()...)
	if p := s.decideAll(ctx, c, k); p != nil {
		return nil, p.grpc()
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	return &wrapperspb.BytesValue{Value: append([]byte(nil), c.answer...)}, nil
}

// grpc is the problem as an error of gRPC.
func (p *problem) grpc() error {
	code := codes.InvalidArgument
	if p.status != http.StatusBadRequest {
		code = codes.Internal
	}
	if p.pointer == "" {
		return status.Error(code, p.detail)
	}
	return status.Error(code, p.pointer+": "+p.detail)
}
