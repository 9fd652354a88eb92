// Package admin is what an operator looks at: whether the process lives and is
// ready, its metrics, and a page with the rules, what they decided, and the keys
// that are refused most.
//
// An [Admin] is fed from outside and knows neither rules nor stores: its Observe
// goes into stint.Limiter, its Timed around the store, Reloaded and SetRules to
// whoever reads the file. Its handler only reads; keep it off public listeners.
package admin
