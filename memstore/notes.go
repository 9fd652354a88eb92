package memstore

import "github.com/stint-dev/stint"

// note is what does not fit into the slot of a bucket. It is rare: while limits take
// turns, or where more limits share a name than a table has numbers for.
type note struct {
	first   int64      // the first word of the bucket; of a free note, the next free one plus 1
	variant *variant   // that counted the bucket
	debt    stint.Debt // what that one has let off
}

// notes are those of a segment.
type notes struct {
	all  []note
	free int64 // the first free one plus 1, 0 if there is none
}

// note keeps a note and returns its place.
func (g *buckets) note(n note) int64 {
	if g.notes == nil {
		g.notes = new(notes)
	}
	if at := g.notes.free - 1; at >= 0 {
		g.notes.free = g.notes.all[at].first
		g.notes.all[at] = n
		return at
	}
	g.notes.all = append(g.notes.all, n)
	return int64(len(g.notes.all) - 1)
}

// full says whether one more note needs memory.
func (n *notes) full() bool { return n == nil || n.free == 0 && len(n.all) == cap(n.all) }

func (n *notes) release(at int64) {
	n.all[at] = note{first: n.free}
	n.free = at + 1
}
