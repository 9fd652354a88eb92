package shield

import (
	"sync"
	"sync/atomic"
)

// tally is a counter that many processors raise at once. One word would pass from
// cache to cache with each refusal; here each processor has one of its own, as far
// as the pool can tell. The zero tally is 0.
type tally struct {
	counts [64]count
	given  atomic.Uint32
	mine   sync.Pool // *count
}

// count is a word with a cache line and its neighbour to itself.
type count struct {
	atomic.Int64
	_ [120]byte
}

func (t *tally) add() {
	c, ok := t.mine.Get().(*count)
	if !ok {
		c = &t.counts[t.given.Add(1)%uint32(len(t.counts))]
	}
	c.Add(1)
	t.mine.Put(c)
}

func (t *tally) sum() int64 {
	n := int64(0)
	for i := range t.counts {
		n += t.counts[i].Load()
	}
	return n
}
