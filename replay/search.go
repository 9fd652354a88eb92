package replay

import (
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"github.com/stint-dev/stint"
)

// search finds limits for one history.
type search struct {
	ctx     context.Context
	history *history
	spool   *spool
	keys    int // numbered keys
	cells   []stint.Cell
	lists   [][]int64
	err     error
}

// limits are what a search found. A zero Limit means that there is none.
type limits struct {
	perMille, percent stint.Limit
	err               error
}

// searchAll finds the limits of all histories, as many at a time as there are
// processors.
func searchAll(all []*search) []limits {
	found := make([]limits, len(all))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		workers.Go(func() {
			for i := range next {
				found[i] = all[i].run()
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	workers.Wait()
	return found
}

// run finds both limits.
func (s *search) run() limits {
	defer func() { s.cells, s.lists = nil, nil }()
	if s.history.cost == 0 {
		return limits{}
	}
	asked := s.history.asked - s.history.unknown
	percent, ok := s.smallest(1, asked/100)
	if !ok {
		return limits{err: s.err}
	}
	perMille, ok := s.smallest(percent, asked/1000)
	if !ok {
		return limits{percent: s.limit(percent), err: s.err}
	}
	return limits{percent: s.limit(percent), perMille: s.limit(perMille)}
}

// smallest returns the smallest count from low on under which at most most
// charges are refused. ok is false if the algorithm can keep none.
func (s *search) smallest(low, most int64) (count int64, ok bool) {
	if s.fits(low, most) {
		return low, true
	}
	high := 2 * low
	for ; !s.fits(high, most); high *= 2 {
		if s.err != nil || high > stint.MaxUnits/2 {
			return 0, false
		}
		low = high
	}
	for low+1 < high {
		if middle := low + (high-low)/2; s.fits(middle, most) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, s.err == nil
}

// limit is the history's limit with another count.
func (s *search) limit(count int64) stint.Limit {
	l := s.history.policy.Limit
	if l.Burst != 0 && l.Count != 0 {
		l.Burst = max(1, int64(math.Ceil(float64(l.Burst)*(float64(count)/float64(l.Count)))))
	}
	l.Count = count
	return l
}

// fits says whether at most most charges are refused under another count. It
// stops at the first one too many.
func (s *search) fits(count, most int64) bool {
	if s.err != nil {
		return false
	}
	var params stint.Params
	if params, s.err = s.history.policy.Algorithm.Compile(s.limit(count)); s.err != nil {
		return false
	}
	ask := s.asker(&params)
	refused, at := int64(0), stint.Micros(0)
	for bytes, err := range s.spool.read(&s.history.charges) {
		if err == nil {
			err = s.ctx.Err()
		}
		if err != nil {
			s.err = err
			return false
		}
		for len(bytes) > 0 {
			ahead, n := binary.Varint(bytes)
			key, m := binary.Uvarint(bytes[n:])
			bytes = bytes[n+m:]
			at += stint.Micros(ahead)
			if !ask(key, at) {
				if refused++; refused > most {
					return false
				}
			}
		}
	}
	return true
}

// asker returns a function that charges the bucket of a key, from buckets never
// seen.
func (s *search) asker(params *stint.Params) func(key uint64, at stint.Micros) bool {
	ask := stint.Ask{Cost: s.history.cost}
	switch a := s.history.policy.Algorithm.(type) {
	case stint.CellAlgorithm:
		s.cells = zeroed(s.cells, s.keys)
		return func(key uint64, at stint.Micros) bool {
			after, v := a.Take(s.cells[key], params, at, ask)
			s.cells[key] = after
			return v.OK
		}
	case stint.ListAlgorithm:
		s.lists = zeroed(s.lists, s.keys)
		return func(key uint64, at stint.Micros) bool {
			after, v := a.TakeList(s.lists[key], params, at, ask)
			s.lists[key] = after
			return v.OK
		}
	}
	return func(uint64, stint.Micros) bool { return true }
}

// zeroed returns n zero values, in old if that is there.
func zeroed[T any](old []T, n int) []T {
	if old == nil {
		return make([]T, n)
	}
	clear(old)
	return old
}
