package redisstore

import (
	"errors"
	"slices"
	"sync"

	"github.com/stint-dev/stint"
)

// lane is where requests wait that may leave in one call.
type lane struct {
	store *Store

	mu    sync.Mutex
	queue []*request
	calls int // under way
}

// add puts a request into the queue and sees that it leaves.
func (l *lane) add(r *request) error {
	l.mu.Lock()
	if l.store.closed.Load() {
		l.mu.Unlock()
		return ErrClosed
	}
	if len(l.queue) >= l.store.options.MaxWaiting {
		l.forget()
		if len(l.queue) >= l.store.options.MaxWaiting {
			l.mu.Unlock()
			return unavailable(errOverloaded)
		}
	}
	l.queue = append(l.queue, r)
	start := l.calls < l.store.options.MaxInFlight
	if start {
		l.calls++
		l.store.running.Add(1)
	}
	l.mu.Unlock()
	if start {
		l.store.crew.send(l)
	}
	return nil
}

// forget drops requests whose callers have gone; mu is held.
func (l *lane) forget() {
	kept := l.queue[:0]
	for _, r := range l.queue {
		if r.state.Load() == gone {
			l.store.requests.Put(r)
		} else {
			kept = append(kept, r)
		}
	}
	clear(l.queue[len(kept):])
	l.queue = kept
}

// run makes calls until nobody waits.
func (l *lane) run(b *batch) {
	defer l.store.running.Done()
	for l.load(b) {
		at, answer, err := l.store.ask(b)
		b.deliver(l.store, at, answer, err)
	}
}

// load takes as many requests from the queue as leave in one call, and marks them
// as sent. Without any, the lane has one call less.
func (l *lane) load(b *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.requests, b.weight = b.requests[:0], 0
	n := 0
	for _, r := range l.queue {
		if !b.fits(r, l.store.options.MaxBatch) {
			break
		}
		n++
		if !r.state.CompareAndSwap(waiting, sent) {
			l.store.requests.Put(r)
			continue
		}
		b.requests = append(b.requests, r)
		b.weight += r.weight()
	}
	l.queue = append(l.queue[:0], l.queue[n:]...)
	if len(b.requests) == 0 {
		l.calls--
		return false
	}
	return true
}

// batch is the requests of one call.
type batch struct {
	requests []*request
	weight   int

	keys     []string
	arg      []byte
	tail     []byte // of arg, the charges
	arena    []byte
	format   []byte
	formats  string // format, as it was sent
	index    map[string]int
	buckets  []int // of all charges, their numbers less 1
	asked    []int // of all buckets, by how many charges
	policies map[*home]int
	kinds    map[kind]int
	homes    []*home
	listed   []kind
}

func newBatch() *batch {
	return &batch{index: make(map[string]int), policies: make(map[*home]int), kinds: make(map[kind]int)}
}

// kind is what the script is told of charges that differ only in their buckets.
type kind struct {
	policy int
	flags  byte
	cost   int64
	delay  float64
}

// fits says whether r may leave with those that are in the batch already: all of
// one call are settled at one instant, and a call is no longer for charges that cost
// more.
func (b *batch) fits(r *request, most int) bool {
	return len(b.requests) == 0 || b.weight+r.weight() <= most && r.now == b.requests[0].now
}

// weight is what the charges cost Redis, in charges on cells.
func (r *request) weight() int {
	n := 0
	for i := range r.asks {
		n += r.asks[i].home.weight
	}
	return n
}

// keepLonger is how many milliseconds longer buckets are kept whose clock is the
// client's.
const keepLonger = 3_600_000

// pack makes the general script's keys and arguments.
func (b *batch) pack() {
	clear(b.index)
	clear(b.policies)
	clear(b.kinds)
	b.homes, b.listed, b.tail = b.homes[:0], b.listed[:0], b.tail[:0]
	b.format = append(b.format[:0], "<d"...)
	b.arena = b.arena[:0]
	for _, r := range b.requests {
		b.arena = append(b.arena, r.keys...)
	}
	b.number(string(b.arena))
	i := 0
	for _, r := range b.requests {
		b.packRequest(r, b.buckets[i:i+len(r.asks)])
		i += len(r.asks)
	}
	b.packHead()
	if b.formats != string(b.format) {
		b.formats = string(b.format)
	}
}

// packHead puts what all charges share in front of them.
func (b *batch) packHead() {
	slack := 0
	if b.requests[0].now != 0 {
		slack = keepLonger
	}
	b.arg = appendDouble(b.arg[:0], float64(b.requests[0].now))
	b.arg = appendDouble(b.arg, float64(slack))
	b.arg = appendDouble(b.arg, float64(len(b.homes)))
	b.arg = appendDouble(b.arg, float64(len(b.listed)))
	for _, h := range b.homes {
		b.arg = append(b.arg, h.packed...)
	}
	for _, k := range b.listed {
		b.arg = appendDouble(b.arg, float64(k.policy))
		b.arg = appendDouble(b.arg, float64(k.flags))
		b.arg = appendDouble(b.arg, float64(k.cost))
		b.arg = appendDouble(b.arg, k.delay)
	}
	b.arg = append(b.arg, b.tail...)
}

// packRequest appends the charges of a request, on the buckets of these numbers.
func (b *batch) packRequest(r *request, buckets []int) {
	rare := b.isRare(r, buckets)
	for j := range r.asks {
		a := &r.asks[j]
		flags := a.flags
		switch {
		case flags >= flagBack:
		case rare && slices.Contains(buckets[:j], buckets[j]):
			flags |= flagAgain
		case !rare && b.asked[buckets[j]] == 1:
			flags |= flagAlone
		}
		if rare {
			flags |= flagRare
		}
		b.format = append(b.format, "Bddddddd"[:1+(a.width-1)/8]...)
		b.tail = appendDouble(b.tail, float64(b.kind(a, flags)))
		b.tail = appendDouble(b.tail, float64(buckets[j]+1))
		if flags&flagBack != 0 {
			b.tail = appendDouble(b.tail, float64(a.taken))
		}
	}
}

// isRare says whether the script goes its long way to settle a request on the
// buckets of these numbers: it has a bucket twice, takes a charge back, or asks a
// list and more.
func (b *batch) isRare(r *request, buckets []int) bool {
	for i := range r.asks {
		a := &r.asks[i]
		if a.flags >= flagBack || slices.Contains(buckets[:i], buckets[i]) {
			return true
		}
		if a.home.cells == nil && (len(r.asks) > 1 || a.flags&flagSplit != 0) {
			return true
		}
	}
	return false
}

// kind numbers the kinds of charges, and policies.
func (b *batch) kind(a *ask, flags byte) int {
	p, ok := b.policies[a.home]
	if !ok {
		b.homes = append(b.homes, a.home)
		p = len(b.homes)
		b.policies[a.home] = p
	}
	k := kind{p, flags, a.cost, a.delay}
	n, ok := b.kinds[k]
	if !ok {
		b.listed = append(b.listed, k)
		n = len(b.listed)
		b.kinds[k] = n
	}
	return n
}

// number gives each bucket a number. keys are those of all charges, one behind the
// other.
func (b *batch) number(keys string) {
	b.keys, b.buckets, b.asked = b.keys[:0], b.buckets[:0], b.asked[:0]
	for _, r := range b.requests {
		start := 0
		for i := range r.asks {
			key := keys[start:r.asks[i].end]
			start = r.asks[i].end
			k, ok := b.index[key]
			if !ok {
				k = len(b.keys)
				b.index[key] = k
				b.keys, b.asked = append(b.keys, key), append(b.asked, 0)
			}
			b.asked[k]++
			b.buckets = append(b.buckets, k)
		}
		keys = keys[start:]
	}
}

// errAnswer means that what answered is not the script.
var errAnswer = errors.New("an answer of another length than the script's")

// ask makes the call and checks the length of its answer.
func (s *Store) ask(b *batch) (stint.Micros, string, error) {
	answer, err := "", error(nil)
	if l := b.lone(); l != nil {
		answer, err = s.askLone(b, l)
	}
	if answer == "" && err == nil {
		b.pack()
		answer, err = s.call(&s.script, b.keys, string(b.arg), b.formats)
	}
	if err != nil {
		return 0, "", err
	}
	want := 8
	for _, r := range b.requests {
		want += r.width()
	}
	if len(answer) != want {
		return 0, "", unavailable(errAnswer)
	}
	return instant(answer), answer[8:], nil
}

// deliver gives each request its part of the answer.
func (b *batch) deliver(s *Store, at stint.Micros, answer string, err error) {
	for i, r := range b.requests {
		part := ""
		if err == nil {
			n := r.width()
			part, answer = answer[:n], answer[n:]
		}
		if !r.end(at, part, err) {
			s.requests.Put(r)
		}
		b.requests[i] = nil
	}
}
