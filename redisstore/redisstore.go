// Package redisstore keeps buckets in Redis or Valkey, for servers that share
// their limits.
//
// All charges of a request are settled by one call of a script, at one instant of
// the clock of Redis, all or none. Requests that come while a call is under way
// leave together in the next one; there is no timer, and a request that comes
// alone leaves at once. A call is never sent twice: one whose answer is missing may
// have counted.
package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/stint-dev/stint"
)

// Store keeps buckets in Redis. It is safe for concurrent use. It connects when it
// is first asked and as often as it must; until then every answer is an
// [ErrUnavailable].
type Store struct {
	options Options
	script  script  // the general one
	lones   []*lone // of each twin, nil if it has none
	link    link
	refuser *home // refuses everything; see hold

	homes    sync.Map // *stint.Policy → *home, for policies at home in another store
	homesMu  sync.Mutex
	lanes    []atomic.Pointer[lane]
	callers  sync.Pool // *caller
	requests sync.Pool
	running  sync.WaitGroup // calls under way
	crew     crew           // who makes them
	closed   atomic.Bool
}

var _ stint.PartedStore = (*Store)(nil)

// New returns a store. It does not connect; its errors are those of the options.
func New(o Options) (*Store, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, script: newScript(), lones: newLones()}
	s.link.options = o
	if s.refuser, err = s.newRefuser(); err != nil {
		return nil, err
	}
	n := 1
	if o.Cluster {
		n = slots
	}
	s.lanes = make([]atomic.Pointer[lane], n)
	return s, nil
}

// Open is New for a URL; see [ParseURL].
func Open(url string) (*Store, error) {
	o, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return New(o)
}

// Close ends the store: requests that wait get [ErrClosed], calls under way are
// waited for.
func (s *Store) Close() {
	if s.closed.Swap(true) {
		return
	}
	s.link.close()
	for i := range s.lanes {
		if l := s.lanes[i].Load(); l != nil {
			l.mu.Lock()   // whoever saw the store open has begun its call
			l.mu.Unlock() //nolint:staticcheck // empty on purpose
		}
	}
	s.running.Wait()
	s.crew.close()
}

// Take implements [stint.Store]. now is ignored unless the options say that the
// clock is the client's. If ctx ends before the answer is there Take returns its
// error; whether the charges were counted is then not known. Where Redis is well and
// the error is about the charges, or where only parts of a cluster have failed, the
// error is a [stint.PartError] too.
func (s *Store) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	c := s.begin(ctx, 0)
	defer s.end(c)
	return s.take(c, now, charges, verdicts)
}

// take is Take for a caller.
func (s *Store) take(c *caller, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if len(charges) != len(verdicts) || len(charges) > stint.MaxCharges {
		return 0, &stint.PartError{Err: fmt.Errorf("%d charges and %d verdicts: as many of each, at most %d",
			len(charges), len(verdicts), stint.MaxCharges)}
	}
	if len(charges) == 0 {
		return now, nil
	}
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if !s.options.ClientClock {
		now = 0
	}
	if s.options.Cluster {
		return s.takeGroups(c, now, charges, verdicts)
	}
	r := s.borrow()
	if err := s.fill(r, now, charges); err != nil {
		s.requests.Put(r)
		return 0, &stint.PartError{Err: err}
	}
	return s.settle(c, r, charges, verdicts)
}

// settle sends a request, waits for its answer and reads it.
func (s *Store) settle(c *caller, r *request, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	if err := s.lane(r.slot).add(r); err != nil {
		s.requests.Put(r)
		return 0, err
	}
	if err := r.wait(c); err != nil {
		return 0, err
	}
	at, err := r.at, r.err
	if err == nil {
		err = r.read(charges, verdicts)
	}
	s.requests.Put(r)
	if err != nil && isOfCharges(err) {
		return 0, &stint.PartError{Err: err}
	}
	return at, err
}

// lane finds or makes the lane of a slot.
func (s *Store) lane(slot uint16) *lane {
	if len(s.lanes) == 1 {
		slot = 0
	}
	if l := s.lanes[slot].Load(); l != nil {
		return l
	}
	s.lanes[slot].CompareAndSwap(nil, &lane{store: s})
	return s.lanes[slot].Load()
}

// retries is how often a call may be repeated that a cluster did not run because a
// slot is being moved; the first time a millisecond later, then after twice as long
// each time.
const retries = 6

// call runs a script once. A call that was not run, because the server does not
// know the script or has only a part of the keys, is repeated.
func (s *Store) call(t *script, keys []string, args ...string) (string, error) {
	c, err := s.link.client()
	if err != nil {
		return "", err
	}
	answer, err := t.eval(c, keys, args)
	for i := 0; i < retries && isTryAgain(err); i++ {
		time.Sleep(time.Millisecond << i)
		answer, err = t.eval(c, keys, args)
	}
	if err != nil {
		if isScriptFault(err) {
			return "", fmt.Errorf("%w: %w", errScript, err)
		}
		return "", unavailable(err)
	}
	return answer, nil
}

// eval sends EVALSHA, and EVAL if the server does not know the script.
func (s *script) eval(c rueidis.Client, keys, args []string) (string, error) {
	n := int64(len(keys))
	answer, err := do(c, c.B().Evalsha().Sha1(s.sha).Numkeys(n).Key(keys...).Arg(args...).Build()).ToString()
	if isNoScript(err) {
		return do(c, c.B().Eval().Script(s.text).Numkeys(n).Key(keys...).Arg(args...).Build()).ToString()
	}
	return answer, err
}
