package config

import (
	"errors"
	"fmt"
	"strings"
)

// Store is where the counts are kept. In this version that is the memory of the
// process.
type Store struct {
	// MaxBuckets bounds the buckets kept. 0 means the store's own default.
	MaxBuckets int64
	// RefuseNew refuses new keys when all buckets are in use. By default those
	// nearest their reset make room.
	RefuseNew bool
}

// ParseStore reads a store written as one word: memory. The error says what to
// write instead, and does not repeat a URL, which can hold a password.
func ParseStore(s string) (Store, error) {
	if s == "memory" {
		return Store{}, nil
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok || strings.HasPrefix(s, "redis") {
		return Store{}, fmt.Errorf("%s: this version keeps counts in memory: write memory", cut(scheme+"://…"))
	}
	if strings.Contains(s, "@") {
		return Store{}, errors.New("is not known: write memory")
	}
	return Store{}, fmt.Errorf("%q is not known: write memory", cut(s))
}

// store is where counts are kept, as it is written.
type store struct {
	n *node
	storeFields
}

// storeFields are the fields of store.
type storeFields struct {
	Memory memory `yaml:"memory" doc:"In this process."`
	Redis  later  `yaml:"redis" hint:"this version keeps counts in memory, write memory"`
}

// memory is the fields of a store in memory.
type memory struct {
	n *node
	memoryFields
}

// memoryFields are the fields of memory.
type memoryFields struct {
	MaxBuckets whole `yaml:"max_buckets" doc:"How many buckets are kept at most. Left out, it is 10000000."`
	WhenFull   word  `yaml:"when_full" enum:"evict refuse" doc:"evict makes room by dropping what is nearest its reset, refuse refuses new keys. Left out, it is evict."`
}

func (m *memory) set(d *decoder, n *node, t tag) {
	if n.kind == null {
		m.n = n
		return
	}
	if !d.fields(n, &m.memoryFields, t) {
		return
	}
	m.n = n
	if b := m.MaxBuckets.n; b != nil && m.MaxBuckets.v == 0 {
		d.fault(b, t.name+".max_buckets 0 would count nothing", "write at least 1, or leave it out for 10000000")
	}
}

func (s *store) set(d *decoder, n *node, t tag) {
	if n.kind == mapping {
		if d.fields(n, &s.storeFields, t) {
			s.n = n
		}
		return
	}
	var w word
	if w.set(d, n, t); w.n == nil {
		return
	}
	if _, err := ParseStore(w.v); err != nil {
		message, hint := cutHint(err.Error())
		if n.filled {
			message = n.shown()[1:] + " is not known once the environment is filled in"
		}
		n.hide()
		d.fault(n, "store "+message, hint)
		return
	}
	s.n = n
}

// settings returns the store that was written.
func (s *store) settings() Store {
	return Store{MaxBuckets: s.Memory.MaxBuckets.v, RefuseNew: s.Memory.WhenFull.v == "refuse"}
}
