// Package grpclimit is the door for gRPC: server interceptors that ask a
// [stint.Decider] about each call and refuse those over the limit with
// RESOURCE_EXHAUSTED.
//
//	limit, err := grpclimit.New(grpclimit.Options{Decider: rules})
//	...
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(limit.Unary),
//		grpc.ChainStreamInterceptor(limit.Stream),
//	)
//
// # A call as rules see it
//
// The method is POST, the path is the full method (/package.Service/Method), the
// host is the :authority without port, headers are the request's metadata. There
// are no query parameters, no cookies, and no fields of a body. The address is the
// peer's, or the one that a trusted proxy names in X-Forwarded-For.
//
// # What a client gets
//
// An allowed call has the rate fields in its header, under the names and with the
// numbers of the HTTP door: x-ratelimit-limit, -remaining and -reset, and the IETF
// draft's ratelimit-policy and ratelimit. A refused one has the same fields and
// retry-after in its trailer, and in its status the details RetryInfo (the wait, as
// retry-after has it), QuotaFailure (each policy that refused) and ErrorInfo (the
// reason and the policy that decided). The code is
//
//	RESOURCE_EXHAUSTED  over a limit, or a value too large to be read
//	PERMISSION_DENIED   the call lacks the value that tells clients apart
//	UNAVAILABLE         the limiter could not tell, and refuses then
//
// since clients repeat by themselves what was UNAVAILABLE. The trailer of every refusal
// tells their libraries when (grpc-retry-pushback-ms): after the wait, or never.
package grpclimit
