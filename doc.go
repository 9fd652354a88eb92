// Package stint decides whether a client is still within its rate.
//
// Three ideas carry everything:
//
//   - A bucket is a cell of a few integers, and the zero cell is a bucket never
//     seen. Cells hold debt or use, never tokens left, so a missing, expired,
//     evicted and new key are the same thing.
//   - An [Algorithm] is a pure function from a cell, the compiled limit, the
//     time and a cost to a new cell and a [Verdict], in integers only.
//   - A [Store] settles a list of charges at one instant: all of them or none.
//
// A [Limiter] in front of a store answers with a [Decision]. One decision feeds
// headers, logs, metrics and explanations; nothing is computed twice.
//
// The algorithms are in package algo, the store in this process in package
// memstore, the middleware for net/http in package httplimit. This package
// imports only the standard library.
package stint
