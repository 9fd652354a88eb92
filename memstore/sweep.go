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
		for g := range t.all() {
			g.mu.Lock()
			if !g.gone {
				s.live.Add(-int64(g.drop(now)))
				g.shrink()
			}
			g.mu.Unlock()
		}
	}
}

// shrink gives slots back when most are empty.
func (g *segment) shrink() {
	switch {
	case g.used == 0:
		g.slots, g.log = nil, arena{}
	case g.count() > 16 && g.used < g.count()/4:
		g.reserve(g.used + g.used/4)
	}
}
