package memstore

import (
	"sync"
	"unsafe"

	"github.com/stint-dev/stint"
)

const (
	// splitAt is the number of buckets from which a segment splits, and splitEarly
	// that of a segment whose table has few of them yet.
	splitAt    = 2048
	splitEarly = 32
	// splitLog is the number of words of lists from which a segment splits.
	splitLog = 1 << 17
	// busy is how often a lock of such a table was not free at once when its segment
	// splits for that.
	busy = 64
)

// segment is a part of a table with a lock of its own.
type segment struct {
	id    uint64 // locks are taken in this order
	depth uint8  // how many of the highest bits its hashes share

	mu     sync.Mutex   // guards all below
	gone   bool         // split
	waits  uint16       // how often the lock was not free at once
	last   stint.Micros // the latest reading of the store's clock here
	hand   int          // where the search for a bucket to evict goes on
	counts int64        // bytes that the store counts for this segment
	buckets
}

// spins is how often the lock of a segment is tried before a goroutine goes to sleep
// for it. Locks are held for less than it takes to fall asleep, and the mutex by
// itself does not spin while other goroutines are ready to run.
const spins = 64

// lock locks the segment.
func (g *segment) lock() {
	if g.mu.TryLock() {
		return
	}
	g.lockBusy()
}

func (g *segment) lockBusy() {
	locked := false
	for i := 0; i < spins && !locked; i++ {
		locked = g.mu.TryLock()
	}
	if !locked {
		g.mu.Lock()
	}
	g.waits = min(g.waits+1, busy)
}

// crowded says whether the segment should split.
func (g *segment) crowded() bool {
	switch {
	case g.used >= splitAt || g.log != nil && len(g.log.words) >= splitLog && g.used > 8:
		return g.depth < maxDepth
	case g.depth < spreadDepth:
		return g.used >= splitEarly || g.waits >= busy && g.used > 1
	}
	return false
}

// drop removes the buckets that are worth nothing at now, but for those of a request
// under way, and returns how many.
func (g *segment) drop(now stint.Micros, keep []item) int {
	n := 0
	for i := 0; i < len(g.slots); {
		if g.slots[i] != 0 && g.expires(i) <= now && !g.isAsked(g.hash(i), keep) {
			g.remove(i) // what moves up to i is looked at next
			n++
			continue
		}
		i += g.width
	}
	return n
}

// isAsked says whether a request under way is about a bucket of g.
func (g *segment) isAsked(hash uint64, items []item) bool {
	for i := range items {
		if items[i].hash == hash && items[i].segment == g {
			return true
		}
	}
	return false
}

// account tells the store what the segment holds now.
func (g *segment) account() {
	n := int64(unsafe.Sizeof(segment{})) + g.size()
	if n != g.counts {
		g.table.store.memory.Add(n - g.counts)
		g.counts = n
	}
}

// clear marks the segment as gone and lets go of its buckets.
func (g *segment) clear() {
	g.gone = true
	g.empty()
	g.table.store.memory.Add(-g.counts)
	g.counts = 0
}

// shrink gives memory back where most of it is empty.
func (g *segment) shrink() {
	switch {
	case g.used == 0:
		g.empty()
	case g.count > 2*minSlots && g.used < g.count/4, g.log.sparse():
		g.rebuild(g.used+g.used/4, g.widest())
	}
	g.account()
}
