package memstore

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// table keeps the buckets of all policies that share a name, and so counters: a limit
// before and after a reload, the limits of several plans. Each bucket carries the
// number of the variant that counted it last. Those of different algorithms lie side by
// side, so a change of the algorithm moves nothing: each bucket is converted when it is
// asked.
type table struct {
	store *Store

	mu       sync.Mutex // guards splits and the growth of the directory
	dir      atomic.Pointer[directory]
	variants atomic.Pointer[[]*variant] // by their numbers; grown under the store's lock
	vacant   atomic.Bool                // some numbers are free again
}

// newTable makes the table of a name; s.mu is held.
func (s *Store) newTable(name string) *table {
	t := &table{store: s}
	t.variants.Store(new([]*variant))
	t.dir.Store(newDirectory(t))
	s.tables[name] = t
	list := append(*s.list.Load(), t) // Readers of the shorter list do not look behind its end.
	s.list.Store(&list)
	s.memory.Add(tableBytes + int64(len(name)))
	return t
}

// tableBytes is what a table holds besides its segments, directory and variants: the
// places in the list and the map of the store are those of full ones, half used.
const tableBytes = int64(unsafe.Sizeof(table{})) + 24 + 2*8 + 2*(16+8)
