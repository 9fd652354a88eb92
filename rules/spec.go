// Package rules turns a request into charges.
//
// A [Spec] is what an operator wrote; [Compile] checks it and makes a [Set],
// which is immutable and safe for concurrent use. A [Decider] puts a set in front
// of a limiter and lets the set be replaced while requests go on.
package rules

import (
	"net/netip"
	"time"

	"github.com/stint-dev/stint"
)

// Spec is a set of rules as an operator writes them. The zero Spec has no rules
// and lets everything through.
type Spec struct {
	// Keys are the named ways to tell one client from another. The names ip,
	// method, path, host and global are built in.
	Keys []Key
	// Plans maps the values of one key to plans. Nil means there are none.
	Plans *Plans
	// Rules in the order in which they are evaluated.
	Rules []Rule
	// HashKey keys the hash of secret and long key values. All servers that share
	// a store need the same. Empty means a fixed default.
	HashKey []byte
	// IgnoreCase matches paths without regard to case.
	IgnoreCase bool
	// StrictSlash makes /a/ another path than /a; by default patterns match both.
	StrictSlash bool
}

// Key is a named value of a request. Exactly one of Header, Query, Cookie, Param
// and JSON is set.
type Key struct {
	Name   string
	Header string // a header's name
	Query  string // a query parameter's name
	Cookie string // a cookie's name
	Param  string // a {name} in the matching rule's path pattern
	JSON   string // a field of a JSON body, as a path such as user.phone
	// Secret values are hashed before they leave the rules.
	Secret bool
}

// Plans maps values of a key to plan names.
type Plans struct {
	// Key is the name of the key whose values Of lists.
	Key string
	// Of maps a value to its plan. A value that is not there counts as absent.
	Of map[string]string
}

// Rule limits the requests that match it, for each value of its key.
type Rule struct {
	// ID names the rule and its counters.
	ID    string
	Match Match
	// Key is the parts of the key, by name. The single part "global" makes one
	// bucket for all.
	Key []string
	// Missing says what to do with a request that lacks a part of the key. The
	// zero value is MissingIP.
	Missing Missing
	// Algorithm is a name of package algo; empty means token_bucket.
	Algorithm string
	// Queue, with leaky_bucket, delays requests instead of refusing them.
	Queue *Queue
	// Limits all hold, each with counters of its own. Usually there is one.
	Limits []stint.Limit
	// Plans gives a limit for each plan instead of Limits; the name default
	// stands for callers of any other plan and of none.
	Plans map[string]stint.Limit
	// Cost of a request in units. 0 means 1, unless Free is set.
	Cost int64
	// Free requests cost nothing and pass only while something is left.
	Free bool
	// Shadow decides and counts but never refuses.
	Shadow bool
	// Exempt lets what matches through without a limit or a later rule.
	Exempt bool
	// Stop makes this rule the last one for what it matches.
	Stop bool
	// Unlimited rules are counted in metrics and refuse nothing.
	Unlimited bool
	// OnStoreFailure says what a shared store's failure means for this rule.
	OnStoreFailure FailureMode
}

// Queue bounds those that wait in a leaky bucket.
type Queue struct {
	MaxWait    time.Duration
	MaxWaiting int64
}

// Match says which requests a rule is for. All that is set must hold; within one
// list any element is enough. The zero Match is for every request.
type Match struct {
	Plan   []string
	Path   []string // patterns: /v1/orders/{id}, /v1/*, /v1/**
	Method []string
	Host   []string            // names, or *.example.com
	Header map[string][]string // values; an empty list means present
	Query  map[string][]string
	Cookie map[string][]string
	IP     []netip.Prefix
	Has    []string // keys that must be there
	Lacks  []string // keys that must not be there
}

// Missing is what happens to a request without the rule's key.
type Missing string

// The ways to treat a request without the key.
const (
	MissingIP    Missing = "ip"    // the address counts, in a bucket of its own kind
	MissingSkip  Missing = "skip"  // the rule does not apply
	MissingDeny  Missing = "deny"  // the request is refused
	MissingShare Missing = "share" // all such requests share one bucket
)

// FailureMode is what a rule does while a shared store can not answer.
type FailureMode string

// The failure modes. The zero value is FailLocal.
const (
	FailLocal FailureMode = "local" // a local limiter with this server's share
	FailAllow FailureMode = "allow"
	FailDeny  FailureMode = "deny"
)

// Error is one fault in a Spec.
type Error struct {
	// Path says where: rules[2].match.path[0], keys.api_key, plans.of.k_acme. The
	// indexes are those of the Spec's slices; keys are named.
	Path string
	// Message says what is wrong with which value, and what to write instead.
	Message string
	// Warning faults do not stop the rules from working.
	Warning bool
}

// Error implements error.
func (e *Error) Error() string { return e.Path + ": " + e.Message }
