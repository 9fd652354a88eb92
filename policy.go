package stint

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// MaxName is the longest name of a policy, in bytes.
const MaxName = 128

// Policy is a named limit, compiled. Its name is the name of its counters: a
// policy with the same name and another limit goes on counting where the first
// one stood. A Policy is made by [NewPolicy] and never changed afterwards; it is
// safe for concurrent use.
type Policy struct {
	// Name identifies the counters in a store. Policies of one name share them, also
	// under different limits and by different algorithms.
	Name string
	// Limit is the limit as it was given.
	Limit Limit
	// Algorithm counts. It is nil for a policy made by [Unlimited].
	Algorithm Algorithm
	// Params is the limit compiled by Algorithm.
	Params Params
	// OnStoreFailure is what the policy wants while a shared store can not answer.
	// It is set before the policy is used.
	OnStoreFailure FailureMode

	capacity int64
	queues   bool
	home     atomic.Pointer[Home]
}

// Home is where a store keeps the counts of a policy. It saves the store a
// look-up; a policy remembers the home that was set last.
type Home struct {
	// Store is the one that set the home.
	Store Store
	// Counts is the store's own.
	Counts any
}

// Home returns the home set last, nil if there is none. It may be another
// store's.
func (p *Policy) Home() *Home { return p.home.Load() }

// SetHome is for stores.
func (p *Policy) SetHome(h *Home) { p.home.Store(h) }

// NewPolicy compiles a limit. The error says what the algorithm can not keep and
// what to write instead.
func NewPolicy(name string, limit Limit, algorithm Algorithm) (*Policy, error) {
	if name == "" {
		return nil, errors.New("a policy needs a name: it is the name of its counters")
	}
	if len(name) > MaxName {
		return nil, fmt.Errorf("policy name of %d bytes: at most %d", len(name), MaxName)
	}
	if algorithm == nil {
		return nil, fmt.Errorf("policy %q has no algorithm: give one, for example algo.TokenBucket", name)
	}
	switch algorithm.(type) {
	case CellAlgorithm, ListAlgorithm:
	default:
		return nil, fmt.Errorf("policy %q: the algorithm %s is neither a CellAlgorithm nor a ListAlgorithm", name, algorithm.Name())
	}
	params, err := algorithm.Compile(limit)
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", name, err)
	}
	p := &Policy{Name: name, Limit: limit, Algorithm: algorithm, Params: params}
	p.capacity = algorithm.Capacity(&p.Params)
	_, p.queues = algorithm.(QueueAlgorithm)
	return p, nil
}

// Unlimited returns a policy that never refuses and never reaches a store; it
// shows in decisions, so that its requests can be counted.
func Unlimited(name string) *Policy { return &Policy{Name: name} }

// Capacity is the most requests of cost 1 that can pass at once, 0 if nothing
// ever passes. For an unlimited policy it is 0 too.
func (p *Policy) Capacity() int64 { return p.capacity }
