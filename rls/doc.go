// Package rls is the door for Envoy: its rate limit service,
// envoy.service.ratelimit.v3, and a gRPC server to serve it with.
//
// A request names a domain and has descriptors. Where a file of descriptors has the
// domain, each descriptor is charged by the limit it finds there, all of them
// together or none. A domain that no file has is decided by a [stint.Decider], whose
// rules see the entries of the descriptors as fields, or has no limits at all.
//
// Answers are OK or OVER_LIMIT. An error says that nobody could tell, and then
// Envoy's failure_mode_deny decides: InvalidArgument for a request that makes no
// sense, Unavailable where the counts can not be reached, Internal for a fault of
// the service. It is never Unknown.
package rls
