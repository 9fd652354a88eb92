package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// request is one caller's charges on their way. It belongs to its caller while it
// waits, and to the lane once the caller has gone.
type request struct {
	now  stint.Micros
	slot uint16
	keys []byte // of all charges, one behind the other
	asks []ask

	orphan bool // nobody waits for the answer
	state  atomic.Int32
	done   chan struct{}
	at     stint.Micros
	answer string
	err    error
}

// ask is one charge, as far as the script needs it.
type ask struct {
	home  *home
	end   int // of the key in keys
	cost  int64
	delay float64 // the longest, in microseconds
	width int     // bytes of the answer
	flags byte
	taken stint.Micros // with flagBack, when
}

// Flags of a charge in the script's argument. The last charge of a request has
// flagLast.
const (
	flagForced = 1 << iota
	flagShadow
	flagAgain // a charge before it in the request has the same bucket
	flagSplit // the request has other charges elsewhere
	flagLast
	flagAlone // no other charge of the call has the bucket
	flagBack  // takes back what was charged at an instant; always the last
	flagRare  // the request needs the script's long way
)

// What can be said of a request.
const (
	waiting = iota // for a call
	sent           // and not answered
	answered
	gone // its caller
)

// borrow returns a request nobody uses.
func (s *Store) borrow() *request {
	r, _ := s.requests.Get().(*request)
	if r == nil {
		r = &request{done: make(chan struct{}, 1)}
	}
	r.keys, r.asks = r.keys[:0], r.asks[:0]
	r.answer, r.err, r.orphan = "", nil, false
	r.state.Store(waiting)
	return r
}

// fill copies what the script needs of charges.
func (s *Store) fill(r *request, now stint.Micros, charges []stint.Charge) error {
	r.now = now
	for i := range charges {
		if err := s.add(r, &charges[i]); err != nil {
			return err
		}
	}
	r.asks[len(r.asks)-1].flags |= flagLast
	return nil
}

// add appends a charge to a request.
func (s *Store) add(r *request, c *stint.Charge) error {
	if len(c.Key) > stint.MaxKey {
		return fmt.Errorf("key of %d bytes: at most %d", len(c.Key), stint.MaxKey)
	}
	h, err := s.home(c.Policy)
	if err != nil {
		return err
	}
	r.keys = appendKey(r.keys, s.options.Prefix, c.Policy.Name, c.Key)
	a := ask{home: h, end: len(r.keys), cost: clamp(c.Cost), delay: micros(c.MaxDelay), width: h.width}
	if c.Forced {
		a.flags |= flagForced
	}
	if c.Shadow {
		a.flags |= flagShadow
	}
	r.asks = append(r.asks, a)
	return nil
}

// clamp brings a cost to where doubles hold it. Beyond it all costs are alike.
func clamp(cost int64) int64 {
	return max(-stint.MaxUnits-1, min(cost, stint.MaxUnits+1))
}

// micros is the longest delay as the script reads it: above 0 also where it is less than
// a microsecond, and no more than doubles hold.
func micros(delay time.Duration) float64 {
	if delay > 0 && delay < time.Microsecond {
		return 0.5
	}
	return float64(min(max(delay, 0).Microseconds(), stint.MaxUnits))
}

// wait blocks until the answer is there. On an error the request is no longer the
// caller's.
func (r *request) wait(c *caller) error {
	err := c.wait(r.done)
	if err == nil {
		return nil
	}
	if r.state.CompareAndSwap(waiting, gone) || r.state.CompareAndSwap(sent, gone) {
		return err
	}
	<-r.done
	return nil
}

// end hands the answer to the caller, or returns false if they have gone.
func (r *request) end(at stint.Micros, answer string, err error) bool {
	r.at, r.answer, r.err = at, answer, err
	if r.orphan || !r.state.CompareAndSwap(sent, answered) {
		return false
	}
	r.done <- struct{}{}
	return true
}

// split marks the charges as a part of a request.
func (r *request) split() {
	for i := range r.asks {
		a := &r.asks[i]
		a.flags |= flagSplit
		if a.home.cells == nil {
			a.width += lookWidth
		}
	}
}

// lookWidth is how many bytes the answer about a list has more in a split request.
const lookWidth = 3 * 8

// width is how many bytes the answer has.
func (r *request) width() int {
	n := 0
	for i := range r.asks {
		n += r.asks[i].width
	}
	return n
}

// Flags of a charge in the script's answer.
const (
	flagOK        = 1
	flagForeign   = 2
	flagWrongType = 4
	flagUnasked   = 8  // another charge of the request has one of these
	flagNewer     = 16 // as flagForeign, of a newer release
	flagWanted    = 32 // refused, also all that the request wants of the bucket
	flagUnlent    = 64 // refused, and nothing can be booked ahead
)

// errDiffers can not be: the script and the algorithm decided differently.
var errDiffers = errors.New("the script and the algorithm disagree: servers of different versions share the store")

// read turns the answer into verdicts: the script tells which cell a charge met,
// and the algorithm tells of the cell what the script has decided.
func (r *request) read(charges []stint.Charge, verdicts []stint.Verdict) error {
	if err := r.fault(); err != nil {
		return err
	}
	refused := r.refused()
	rest := r.answer
	for i := range r.asks {
		a := &r.asks[i]
		answer := rest[:a.width]
		if !a.home.read(answer, r.at, r.said(i, answer, charges[i].Ask), refused, &verdicts[i]) {
			return fmt.Errorf("policy %q: %w", a.home.policy.Name, errDiffers)
		}
		rest = rest[a.width:]
	}
	return nil
}

// fault is what the answer says is wrong with the bucket of a charge.
func (r *request) fault() error {
	rest := r.answer
	for i := range r.asks {
		name := r.asks[i].home.policy.Name
		switch rest[0] {
		case flagForeign:
			return fmt.Errorf("policy %q: %w", name, ErrForeign)
		case flagWrongType:
			return fmt.Errorf("policy %q: %w, its type is another", name, ErrForeign)
		case flagNewer:
			return fmt.Errorf("policy %q: %w", name, ErrNewer)
		}
		rest = rest[r.asks[i].width:]
	}
	return nil
}

// refused says whether the answer says that a charge that is no shadow does not
// fit.
func (r *request) refused() bool {
	rest := r.answer
	for i := range r.asks {
		if rest[0] != flagOK && r.asks[i].flags&flagShadow == 0 {
			return true
		}
		rest = rest[r.asks[i].width:]
	}
	return false
}

// read reads the verdict of one charge, in a request that is refused or not. It is
// false if the algorithm does not agree.
func (h *home) read(answer string, at stint.Micros, ask stint.Ask, refused bool, v *stint.Verdict) bool {
	ok := answer[0] == flagOK
	if h.cells == nil {
		*v = stint.Verdict{
			OK: ok, Remaining: word(answer, 0), RetryAfter: wait(word(answer, 1)),
			ResetAfter: wait(word(answer, 2)), NextAfter: wait(word(answer, 3)),
		}
		return true
	}
	cell := cellOf(answer)
	if refused && ok {
		_, *v = h.cells.Take(cell, &h.policy.Params, at, stint.Ask{})
		v.OK, v.RetryAfter = true, 0
		return true
	}
	_, *v = h.cells.Take(cell, &h.policy.Params, at, ask)
	return v.OK == ok
}

// cellOf reads the cell that a charge met.
func cellOf(answer string) stint.Cell {
	c := stint.Cell{At: stint.Micros(word(answer, 0)), Used: word(answer, 1)}
	if len(answer) > 1+2*8 {
		c.Prior = word(answer, 2)
	}
	return c
}

// word reads the i-th number behind the flags.
func word(answer string, i int) int64 {
	b := answer[1+8*i : 9+8*i]
	return int64(math.Float64frombits(binary.LittleEndian.Uint64([]byte(b))))
}

// wait reads a duration; below 0 it is never.
func wait(n int64) time.Duration {
	if n < 0 {
		return stint.Never
	}
	return time.Duration(n) * time.Microsecond
}
