// Package gateway is a reverse proxy behind the HTTP door: what the limiter lets
// through goes to one upstream, with HTTP/1.1, HTTP/2, WebSockets, server-sent
// events, trailers and informational answers.
//
// A [Gateway] is a handler; a [Server] serves it, bounds slow clients and drains.
//
// Three things are held so that no request reaches the upstream past its rule:
//
//   - The path is cleaned before rules see it, and the clean path is forwarded.
//     What was matched is what the upstream gets, byte for byte.
//   - Only upgrades to WebSocket pass. An upgrade to another protocol, such as
//     h2c, would open a tunnel in which the upstream takes requests that nobody
//     counts; such a request is forwarded as a plain one.
//   - What clients say about other clients (Forwarded, X-Forwarded-For and their
//     kin) is dropped, unless the peer is a trusted proxy.
//
// The query is forwarded byte for byte, also where it can not be parsed.
package gateway
