package stint

import (
	"math"
	"time"
)

// Micros is an instant: microseconds since the Unix epoch on a store's clock.
// The zero Micros, where a store takes one, means the store's own clock.
type Micros int64

// MicrosOf returns t in microseconds, rounded down.
func MicrosOf(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Time returns m as a time in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Never is the wait of a request that can not pass however long it waits: its
// cost is above the capacity, or the limit is 0.
const Never = time.Duration(math.MaxInt64)

// MaxUnits is the largest number an algorithm counts with. Every quantity an
// algorithm stores or computes stays below 2^53, so that int64 and IEEE doubles
// agree to the bit.
const MaxUnits = int64(1) << 52

// Cell is the state of one bucket. The zero Cell is a bucket never seen. Each
// word is from 0 to 2^53-1.
type Cell struct {
	// At is the instant of the last charge.
	At Micros
	// Used is what was owed or counted then, in the algorithm's unit.
	Used int64
	// Prior is a second count, for algorithms that have three words.
	Prior int64
}

// Params is a limit compiled by an algorithm. Two limits with equal Params are
// the same limit to the algorithm.
type Params [6]int64

// Ask is what one charge wants of a bucket.
type Ask struct {
	// Cost in units. 0 looks and changes nothing: the verdict is the one a cost
	// of 1 would get. Below 0 gives units back, never beyond a full bucket.
	Cost int64
	// Forced takes the cost whatever the limit says and leaves debt behind.
	Forced bool
	// MaxDelay is the longest Delay that the caller would wait out, in whole
	// microseconds. A bucket, which by itself delays nothing, admits a charge that
	// comes too early by no more than that, with the Delay after which it fits: it is
	// booked ahead. A queue delays by no more than its own bounds and this one. 0
	// means that a bucket admits only what fits now, and a queue what its bounds allow.
	// Window counters and logs book nothing ahead, nor does a bucket while what a smaller
	// limit has let off is kept beside it.
	MaxDelay time.Duration
}

// Verdict is what one bucket says to one charge. Durations are whole
// microseconds and never negative.
type Verdict struct {
	// OK says that the charge fits.
	OK bool
	// Remaining is the number of requests of cost 1 that would pass at this
	// instant, after this charge. Never negative.
	Remaining int64
	// Delay is how long an admitted request has to wait before it may go on. Queues
	// set it, and buckets for an ask with a MaxDelay.
	Delay time.Duration
	// RetryAfter is, for a refused charge, the smallest wait after which the same
	// charge would pass if nothing else came. [Never] if no wait helps. On a bucket that
	// a limit with a shorter memory counted last, it may pass sooner.
	RetryAfter time.Duration
	// ResetAfter is the time until nothing is used any more; for window counters
	// the time to the end of the window.
	ResetAfter time.Duration
	// NextAfter is the time until Remaining grows, 0 when nothing is used.
	NextAfter time.Duration
}

// Algorithm is a way of counting. Its values are safe for concurrent use and
// comparable with ==. Each is also a [CellAlgorithm] or a [ListAlgorithm].
type Algorithm interface {
	// Name is the algorithm's name in a rules file.
	Name() string
	// Compile prepares a limit. It refuses, with a hint, what it can not keep
	// exactly or within a relative error of one in a million.
	Compile(Limit) (Params, error)
	// Capacity is the most that Remaining can be under p.
	Capacity(p *Params) int64
	// Explain says in one sentence what the limit admits, and warns of traps.
	Explain(Limit) (sentence string, warnings []string)
}

// CellAlgorithm keeps each bucket in a [Cell]. Its methods are pure.
type CellAlgorithm interface {
	Algorithm
	// Words is how many words of the cell the algorithm uses, 2 or 3.
	Words() int
	// Take asks c at now. On a refusal the cell comes back as it was, unless the
	// clock was set back so far that the cell had to be moved to now. A look
	// never changes the cell.
	Take(c Cell, p *Params, now Micros, ask Ask) (Cell, Verdict)
	// Expires is the instant from which c is worth no more than the zero Cell.
	Expires(c Cell, p *Params) Micros
	// Owes is what c owes at its last charge, forgiven at the rate of p. It is nothing
	// where p admits nothing.
	Owes(c Cell, p *Params) Debt
	// Assume is the bucket, as p would have counted it, that owes d: spent at the same
	// instant, by at most all that p admits at once, so that the longest wait of a
	// request of cost 1 is one that p alone could tell. whole says that no limit will
	// miss anything of d that is not in c.
	Assume(d Debt, p *Params) (c Cell, whole bool)
	// Convert is c, which was counted under the limit old, as p would have counted it.
	// It is what Assume makes of what c owes, but keeps counts where the two windows
	// are alike.
	Convert(c Cell, old, p *Params) (view Cell, whole bool)
}

// ListAlgorithm keeps each bucket in a list whose length is bounded by the
// limit. The empty list is a bucket never seen. Its methods are pure but for
// the list, which they may change in place and extend.
type ListAlgorithm interface {
	Algorithm
	// TakeList asks list at now and returns the list to keep. It grows by at most
	// two words.
	TakeList(list []int64, p *Params, now Micros, ask Ask) ([]int64, Verdict)
	// ExpiresList is the instant from which list is worth no more than none.
	ExpiresList(list []int64, p *Params) Micros
	// OwesList, AssumeList and ConvertList are Owes, Assume and Convert of a
	// [CellAlgorithm] for lists. ConvertList changes nothing: the list that p counts
	// is the same.
	OwesList(list []int64, p *Params) Debt
	AssumeList(d Debt, p *Params) (list []int64, whole bool)
	ConvertList(list []int64, old, p *Params) (whole bool)
}

// BookingAlgorithm is a CellAlgorithm that heeds [Ask.MaxDelay]: a charge that comes
// too early can be booked ahead.
type BookingAlgorithm interface {
	CellAlgorithm
	// Worth is the time in which p lets units through, rounded down to the nanosecond.
	Worth(p *Params, units int64) time.Duration
}

// QueueAlgorithm is a BookingAlgorithm that delays requests without being asked to.
type QueueAlgorithm interface {
	BookingAlgorithm
	// MaxDelay is the longest Delay of an admitted request.
	MaxDelay(p *Params) time.Duration
}

// WindowAlgorithm is an Algorithm that books nothing ahead but can tell how far apart
// charges pass.
type WindowAlgorithm interface {
	Algorithm
	// Apart is how long after a charge that had to wait another one that had to wait
	// passes at the earliest, if with those between them the two cost units. It grows
	// with units.
	Apart(p *Params, units int64) time.Duration
}
