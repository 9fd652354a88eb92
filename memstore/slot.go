package memstore

import "github.com/stint-dev/stint"

const (
	// minWidth is the number of words of a slot, without a third word of a cell.
	minWidth = 3
	// tagShift is the first bit of a variant's number in the first word of a
	// bucket, above what an algorithm uses.
	tagShift = 53
	wordMask = int64(1)<<tagShift - 1
	// noted is the tag of a bucket that has a note.
	noted = maxVariants
)

func (g *buckets) hash(i int) uint64 { return uint64(g.slots[i]) }

func (g *buckets) tag(i int) int64 { return g.slots[i+1] >> tagShift }

// cell returns the bucket at slot i, which is a cell without a note.
func (g *buckets) cell(i int) stint.Cell {
	words := g.slots[i : i+g.width]
	c := stint.Cell{At: stint.Micros(words[1] & wordMask), Used: words[2]}
	if len(words) > minWidth {
		c.Prior = words[minWidth]
	}
	return c
}

// setCell writes a cell to slot i, which has no note, list or lesser width.
func (g *buckets) setCell(i int, tag int64, c stint.Cell) {
	words := g.slots[i : i+g.width]
	words[1], words[2] = int64(c.At)|tag<<tagShift, c.Used
	if len(words) > minWidth {
		words[minWidth] = c.Prior
	}
}

// first is the first word of the bucket at slot i, the variant that counted it and its
// note, if it has one.
func (g *buckets) first(i int) (int64, *variant, *note) {
	word := g.slots[i+1] & wordMask
	if tag := g.tag(i); tag != noted {
		return word, g.table.tagged(tag), nil
	}
	n := &g.notes.all[word]
	return n.first, n.variant, n
}

// list returns the list that begins at the word first of the log, of the bucket at
// slot i. It is valid until the next change.
func (g *buckets) list(i int, first int64) []int64 {
	return g.log.words[first : first+g.slots[i+2]]
}

// view returns the bucket at slot i. Its list is valid until the next change.
func (g *buckets) view(i int) bucket {
	first, v, n := g.first(i)
	b := bucket{variant: v}
	if n != nil {
		b.debt = n.debt
	}
	if v.lists != nil {
		b.list = g.list(i, first)
		return b
	}
	b.cell = g.cell(i)
	b.cell.At = stint.Micros(first)
	return b
}

// expires is the instant from which the bucket at slot i is worth nothing.
func (g *buckets) expires(i int) stint.Micros {
	tag := g.tag(i)
	if tag == noted {
		b := g.view(i)
		return b.expires()
	}
	v := g.table.tagged(tag)
	if v.lists != nil {
		return v.lists.ExpiresList(g.list(i, g.slots[i+1]&wordMask), &v.params)
	}
	return v.cells.Expires(g.cell(i), &v.params)
}

// spent says whether the bucket at slot i refuses a request of cost 1 at now, under the
// limit that counted it last.
func (g *buckets) spent(i int, now stint.Micros) bool {
	first, v, _ := g.first(i)
	var said stint.Verdict
	if v.lists != nil {
		_, said = v.lists.TakeList(g.list(i, first), &v.params, now, stint.Ask{})
	} else {
		c := g.cell(i)
		c.At = stint.Micros(first)
		_, said = v.cells.Take(c, &v.params, now, stint.Ask{})
	}
	return !said.OK
}

// set writes a bucket to slot i in the place of another.
func (g *buckets) set(i int, b *bucket) {
	g.vacate(i)
	g.fill(i, b)
}

// overwrite writes a bucket to slot i if it fits there as it is: counted by the same
// limit, without a note, a list of about the same length.
func (g *buckets) overwrite(i int, b *bucket) bool {
	if g.tag(i) != b.variant.tag || b.debt != (stint.Debt{}) {
		return false
	}
	if b.variant.lists == nil {
		g.setCell(i, b.variant.tag, b.cell)
		return true
	}
	if class(int(g.slots[i+2])) != class(len(b.list)) {
		return false
	}
	copy(g.log.words[g.slots[i+1]&wordMask:], b.list)
	g.slots[i+2] = int64(len(b.list))
	return true
}

// fill writes a bucket to slot i, which is vacant.
func (g *buckets) fill(i int, b *bucket) {
	tag, words := b.variant.tag, g.slots[i:i+g.width]
	if b.variant.lists != nil {
		words[1], words[2] = g.store(b.list), int64(len(b.list))
	} else {
		words[1], words[2] = int64(b.cell.At), b.cell.Used
	}
	if len(words) > minWidth {
		words[minWidth] = b.cell.Prior
	}
	if tag == numberless || b.debt != (stint.Debt{}) {
		words[1], tag = g.note(note{first: words[1], variant: b.variant, debt: b.debt}), noted
	}
	words[1] |= tag << tagShift
}

// vacate frees what slot i holds in the log and the notes.
func (g *buckets) vacate(i int) {
	if g.log == nil && g.notes == nil {
		return
	}
	first, v, n := g.first(i)
	if v.lists != nil {
		g.log.release(first, int(g.slots[i+2]))
	}
	if n != nil {
		g.notes.release(g.slots[i+1] & wordMask)
	}
}
