// Package rules turns a request into charges.
//
// A [Spec] is what an operator wrote; [Compile] checks it and makes a [Set],
// which is immutable and safe for concurrent use. A [Decider] puts a set in front
// of a limiter and lets the set be replaced while requests go on.
//
// # Evaluation
//
// Rules are looked at in order. A rule that matches adds one charge for each of
// its limits; all charges of a request are settled together. An exempt rule ends
// the evaluation without a charge of its own, a stop rule after its charges. A
// rule in shadow never ends it, nor does a rule that does not apply: one with
// missing: skip for a request without its key, or with plans of which none is
// the request's and no default.
//
// A key whose value is empty counts as absent. So does a value of the key of
// plans that no plan knows, in every rule: for has and lacks, for the key and for
// the plan. Otherwise any made-up value would earn a bucket of its own. A header,
// query parameter or cookie of a match may be empty, as in /?debug.
//
// # Paths
//
// Patterns are matched with the path as package cleanpath spells it. {name} is
// one segment, * any run of characters within a segment and alone exactly one
// segment that is not empty, ** as the last segment any number of segments, also
// none. Unless StrictSlash is set, a slash at the end means nothing. A character
// and its escape are the same, in the pattern and in the path, but for slashes,
// backslashes and percent signs, which are data in a segment where they came as
// escapes; a star, or a brace, of the path itself is written as its escape in a
// pattern. A semicolon is a character as any other: /login;x is not /login.
//
// # Bounds
//
// At most [MaxRules] rules, [MaxParts] parts of a key, [stint.MaxCharges] charges
// for a request. A value of a key longer than 64 bytes is hashed, never cut; a
// request that has one longer than [MaxValue], or a longer path, is refused. A
// bucket's key is at most 528 bytes.
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
	// IPv4Prefix is how many bits of an IPv4 address tell one client from another.
	// 0 means 32.
	IPv4Prefix int
	// IPv6Prefix is the same for IPv6. 0 means 64, which is what one site has.
	IPv6Prefix int
}

// Key is a named value of a request. Exactly one of Header, Query, Cookie, Param,
// JSON and Descriptor is set.
type Key struct {
	Name   string
	Header string // a header's name
	Query  string // a query parameter's name
	Cookie string // a cookie's name
	Param  string // a {name} in the matching rule's path pattern
	JSON   string // a field of a JSON body, as a path such as user.phone
	// Descriptor is the key of an entry of the descriptors that Envoy sends.
	Descriptor string
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
	// ID names the rule and its counters: at most 64 of the characters A-Z, a-z,
	// 0-9, dot, underscore and hyphen, and no two rules have the same.
	ID    string
	Match Match
	// Key is the parts of the key, by name. The single part "global" makes one
	// bucket for all. Exempt and unlimited rules need none.
	Key []string
	// Missing says what to do with a request that lacks a part of the key. The
	// zero value is MissingIP.
	Missing Missing
	// Algorithm is a name of package algo; empty means token_bucket.
	Algorithm string
	// Queue, with leaky_bucket, delays requests instead of refusing them.
	Queue *Queue
	// Limits all hold, each with counters of its own. Usually there is one, whose
	// policy is named by the rule's ID; several are named ID/window, such as
	// login/minute, and a second one with the same window login/minute#2.
	Limits []stint.Limit
	// Plans gives a limit for each plan instead of Limits; the name default
	// stands for callers of any other plan and of none. Without a default the rule
	// does not apply to them. All count in the same counters, so that use carries
	// over when a caller's plan changes.
	Plans map[string]stint.Limit
	// Cost of a request in units. 0 means 1, unless Free is set.
	Cost int64
	// Free requests cost nothing and pass only while something is left.
	Free bool
	// Shadow decides and counts but never refuses, not even a request without the
	// key, and never stops later rules.
	Shadow bool
	// Exempt lets what matches through without a limit or a later rule.
	Exempt bool
	// Stop makes this rule the last one for what it matches.
	Stop bool
	// Unlimited rules are counted in metrics and refuse nothing.
	Unlimited bool
	// OnStoreFailure says what a shared store's failure means for this rule.
	OnStoreFailure stint.FailureMode
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
	Host   []string            // names, or *.example.com for all below it
	Header map[string][]string // values; an empty list means present
	Query  map[string][]string
	Cookie map[string][]string
	// Descriptor is about entries of the descriptors that Envoy sends, by their keys.
	Descriptor map[string][]string
	IP         []netip.Prefix
	Has        []string // keys that must be there
	Lacks      []string // keys that must not be there
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
