// Package server is the decision service over HTTP: programs in any language, and
// proxies that ask before they pass a request on, get the answers that the gateway
// gives.
//
//	POST /v1/check         one check, or up to 1,000 of them
//	POST /v1/refund        gives units back
//	/v1/auth               forward auth: the request as its proxy forwards it
//	GET /v1/openapi.json   what all of this looks like
//
// A check describes a request, which the rules then look at as at any other, or
// names rules and the values of their keys: for limits inside a service. Who can
// reach the service can name any client and give back any units, so it listens
// where only trusted programs are. Forward auth reads the headers that describe a
// request from trusted proxies only.
package server
