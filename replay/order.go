package replay

import (
	"math"
	"time"

	"github.com/stint-dev/stint/internal/accesslog"
)

// Disorder is how far a line may be out of order, in log time, and still be put
// in its place.
const Disorder = 2 * time.Minute

// maxWaiting bounds the lines that wait for those before them. A log with more
// lines than that within Disorder is put in order as far as they reach.
const maxWaiting = 1 << 16

// waiting is a line that may not be the next one yet.
type waiting struct {
	at    int64 // nanoseconds since 1970
	seq   uint64
	entry *accesslog.Entry
}

// earlier orders lines by time, and those of the same time as they came.
func earlier(a, b waiting) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// order holds lines back until none that comes can belong before them.
type order struct {
	heap   heap[waiting]
	seq    uint64
	latest int64 // time seen
	passed int64 // the latest time given out
	late   int64 // lines that came after a later one was given out
	spare  []*accesslog.Entry
}

func newOrder() *order {
	return &order{heap: heap[waiting]{less: earlier}}
}

// blank returns an entry to read into.
func (o *order) blank() *accesslog.Entry {
	if n := len(o.spare); n > 0 {
		e := o.spare[n-1]
		o.spare = o.spare[:n-1]
		return e
	}
	return new(accesslog.Entry)
}

// free takes an entry that nobody needs any more.
func (o *order) free(e *accesslog.Entry) { o.spare = append(o.spare, e) }

// add takes a line in.
func (o *order) add(e *accesslog.Entry) {
	w := waiting{at: e.Time.UnixNano(), seq: o.seq, entry: e}
	o.seq++
	if w.seq == 0 {
		o.latest, o.passed = w.at, math.MinInt64
	}
	o.latest = max(o.latest, w.at)
	o.heap.push(w)
}

// next gives out the line whose turn it is, nil if there is none yet. At the end
// of the logs all that wait come out.
func (o *order) next(end bool) *accesslog.Entry {
	if len(o.heap.items) == 0 {
		return nil
	}
	first := o.heap.items[0]
	if !end && o.latest-first.at <= int64(Disorder) && len(o.heap.items) <= maxWaiting {
		return nil
	}
	o.heap.pop()
	if first.at < o.passed {
		o.late++
	}
	o.passed = max(o.passed, first.at)
	return first.entry
}
