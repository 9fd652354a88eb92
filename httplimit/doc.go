// Package httplimit is the door for net/http: a middleware that asks a
// [stint.Decider] about each request, says in headers what the answer was, and
// answers refused requests itself.
//
// A single limit takes a policy, a limiter and a key:
//
//	policy, err := stint.NewPolicy("api", stint.Limit{Count: 100, Window: time.Minute}, algo.TokenBucket)
//	single := &httplimit.Single{Limiter: limiter, Policy: policy, Key: httplimit.ByIP}
//	limit, err := httplimit.New(httplimit.Options{Decider: single})
//	err = http.ListenAndServe(addr, limit(mux))
//
// Rules are a Decider too; nothing else changes.
//
// The middleware decides before the handler runs and never wraps the
// http.ResponseWriter, so streaming, hijacking and response controllers work as
// without it. Its headers are set before the handler is called: they hold the
// numbers of the decision, from the one reading of the clock that it was made
// with, and the handler may still change them. A request that meets the same
// Decider twice in one chain is decided once.
//
// Put the limiter inside of middleware that adds CORS headers, so that scripts
// can read refusals, and outside of everything that costs.
package httplimit
