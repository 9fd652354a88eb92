package memstore

import "github.com/stint-dev/stint"

// Sweep drops all buckets that are worth nothing at now and gives their memory
// back. 0 means the store's own clock. It holds the lock of one segment at a time,
// for some microseconds. A server calls it every few seconds; without it, room is
// made only where it is needed.
func (s *Store) Sweep(now stint.Micros) {
	if now == 0 {
		now = s.clock()
	}
	for _, t := range *s.list.Load() {
		exhausted := len(*t.variants.Load()) == maxVariants
		var used [maxVariants]bool
		for g := range t.locked() {
			s.live.Add(-int64(g.drop(now, nil)))
			g.shrink()
			if exhausted {
				g.markUsed(&used)
			}
		}
		if exhausted {
			t.retire(&used)
		}
	}
}

// markUsed notes the numbers of variants that buckets have.
func (g *segment) markUsed(used *[maxVariants]bool) {
	for i := range g.all() {
		if tag := g.tag(i); tag != noted {
			used[tag] = true
		}
	}
}
