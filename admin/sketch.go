package admin

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/stint-dev/stint"
)

// sketchSize is the number of keys that are followed.
const sketchSize = 100

// shownKey is the most bytes of a key that are kept.
const shownKey = 1024

// sketch finds the keys that are refused most in constant room (Metwally,
// Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in
// Data Streams, 2005). A key that is not followed takes the place of the one with
// the smallest count and inherits it, so a count is never too low, and at most
// the inherited part too high. Every key with more than a hundredth of all
// refusals is there.
//
// The zero sketch is empty.
type sketch struct {
	mu     sync.Mutex
	seeded bool
	seed   maphash.Seed
	n      int
	hashes [sketchSize]uint64
	counts [sketchSize]int64
	rest   [sketchSize]followed
}

// followed is what is not needed to find a key.
type followed struct {
	policy string
	key    []byte // at most shownKey bytes
	excess int64  // how much the count may be too high
	last   stint.Micros
}

// add counts a refusal. It allocates only until all places are taken and the
// room for their keys has grown.
func (s *sketch) add(policy string, key []byte, at stint.Micros) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seeded {
		s.seed, s.seeded = maphash.MakeSeed(), true
	}
	hash := maphash.Bytes(s.seed, key) ^ maphash.String(s.seed, policy)*31
	i := slices.Index(s.hashes[:s.n], hash)
	if i < 0 {
		i = s.place()
		f := &s.rest[i]
		f.policy, f.excess = policy, s.counts[i]
		f.key = append(f.key[:0], key[:min(len(key), shownKey)]...)
		s.hashes[i] = hash
	}
	s.counts[i]++
	s.rest[i].last = at
}

// place returns a free place, or the one with the smallest count.
func (s *sketch) place() int {
	if s.n < sketchSize {
		s.n++
		return s.n - 1
	}
	least := 0
	for i, c := range s.counts {
		if c < s.counts[least] {
			least = i
		}
	}
	return least
}

// refusedKey is a key that was refused often.
type refusedKey struct {
	Policy string
	Key    []byte
	Count  int64
	Excess int64
	Last   stint.Micros
}

// top returns the n keys that were refused most.
func (s *sketch) top(n int) []refusedKey {
	s.mu.Lock()
	all := make([]refusedKey, s.n)
	for i := range all {
		f := &s.rest[i]
		all[i] = refusedKey{f.policy, bytes.Clone(f.key), s.counts[i], f.excess, f.last}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b refusedKey) int {
		return cmp.Or(cmp.Compare(b.Count-b.Excess, a.Count-a.Excess), strings.Compare(a.Policy, b.Policy), bytes.Compare(a.Key, b.Key))
	})
	return all[:min(n, len(all))]
}
