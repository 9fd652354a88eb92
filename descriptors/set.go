package descriptors

import (
	"slices"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// Options say what files leave open. The zero Options are those of
// envoyproxy/ratelimit.
type Options struct {
	// Algorithm counts for limits that name none. Nil is algo.FixedWindow.
	Algorithm stint.Algorithm
	// OnStoreFailure is for limits that have none. Empty is [stint.FailLocal].
	OnStoreFailure stint.FailureMode
	// MergeDomains lets several files add to one domain. Otherwise that is an error.
	MergeDomains bool
	// HashKey keys the hashes of long values. All servers that share a store need the
	// same one. Empty is a fixed one.
	HashKey []byte
}

// algorithm is the default algorithm.
func (o *Options) algorithm() stint.Algorithm {
	if o.Algorithm == nil {
		return algo.FixedWindow
	}
	return o.Algorithm
}

// Set is the domains of all files. It is read only but for what it remembers of
// limits in requests, and safe for concurrent use. It is made by [Load] or [Parse].
type Set struct {
	options   Options
	domains   map[string]*Domain
	rules     []*Rule
	files     []string
	hasher    hasher
	overrides overrides
}

func newSet(o Options) *Set {
	s := &Set{options: o, domains: make(map[string]*Domain)}
	s.hasher.salt = slices.Clone(o.HashKey)
	if len(s.hasher.salt) == 0 {
		s.hasher.salt = []byte("stint: the default hash key")
	}
	return s
}

// Domain returns the tree of a domain, nil if no file has it.
func (s *Set) Domain(name string) *Domain { return s.domains[name] }

// Domains are the names of the domains in alphabetical order.
func (s *Set) Domains() []string {
	names := make([]string, 0, len(s.domains))
	for name := range s.domains {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Rules are all limits in the order of the files. The slice is the set's.
func (s *Set) Rules() []*Rule { return s.rules }

// Files are the files that were read. The slice is the set's.
func (s *Set) Files() []string { return s.files }
