package admin

import (
	"fmt"
	"time"
)

// Options configure an Admin. The zero Options are a process without a store of
// its own that is ready from the start.
type Options struct {
	// Version of the program, for the page and the metric stint_build_info.
	Version string
	// Ready says why requests can not be answered yet; nil, the result and the
	// function, means that they can.
	Ready func() error
	// Store returns the counters of the store in memory. Nil means there is none.
	Store func() StoreStats
	// Shared returns the counters of a store that is shared with other servers. Nil
	// means there is none.
	Shared func() SharedStats
	// KeyText writes the key of a bucket for people, without secrets. Nil means
	// hexadecimal.
	KeyText func(key []byte) string
	// Now is the clock of the page. Nil means time.Now.
	Now func() time.Time
}

// Listener is an address that takes requests.
type Listener struct {
	// Name is what it is for, such as gateway.
	Name string
	// Address is host and port.
	Address string
}

// Rule is a rule to show.
type Rule struct {
	// ID is the rule's.
	ID string
	// Sentence says what the rule admits.
	Sentence string
	// Policies are the names of the policies that the rule counts with.
	Policies []string
}

// StoreStats are counters of a store in memory.
type StoreStats struct {
	// Buckets are those kept now, MaxBuckets is their bound.
	Buckets, MaxBuckets int64
	// Memory is what they take, in bytes, MaxMemory is the bound of that.
	Memory, MaxMemory int64
	// Evicted buckets made room for others, EvictedInUse are those of them that
	// still carried counts.
	Evicted, EvictedInUse int64
}

// SharedStats are counters of a store that is shared with other servers.
type SharedStats struct {
	// Name says what and where it is, without secrets.
	Name string
	// Up is false while the store, or a part of it, is left alone because it failed.
	Up bool
	// Failed calls got no answer, Timeouts of them ran into the deadline.
	Failed, Timeouts int64
	// Cancelled calls were given up by their callers.
	Cancelled int64
	// Degraded decisions were made without the store.
	Degraded int64
	// Repeated refusals were known, and the store was not asked again.
	Repeated int64
	// Fleet is how many servers share the store, as far as is known, with this one.
	Fleet int
}

// keyText is the default of Options.KeyText.
func keyText(key []byte) string { return fmt.Sprintf("%x", key) }
