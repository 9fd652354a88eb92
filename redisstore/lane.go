package redisstore

import (
	"encoding/binary"
	"errors"
	"math"
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
		go l.run()
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
func (l *lane) run() {
	defer l.store.running.Done()
	b := batch{keys: make([]string, 0, 8)}
	for l.load(&b) {
		b.pack()
		at, answer, err := l.store.ask(&b)
		b.deliver(l.store, at, answer, err)
	}
}

// load takes as many requests from the queue as leave in one call, and marks them
// as sent. Without any, the lane has one call less.
func (l *lane) load(b *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.requests, b.charges = b.requests[:0], 0
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
		b.charges += len(r.asks)
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
	charges  int

	keys     []string
	arg      []byte
	arena    []byte
	format   []byte
	index    map[string]int
	buckets  []int // of all charges, their numbers less 1
	asked    []int // of all buckets, by how many charges
	policies map[*home]int
}

// fits says whether r may leave with those that are in the batch already: all of
// one call are settled at one instant.
func (b *batch) fits(r *request, most int) bool {
	return len(b.requests) == 0 || b.charges+len(r.asks) <= most && r.now == b.requests[0].now
}

// keepLonger is how many milliseconds longer buckets are kept whose clock is the
// client's.
const keepLonger = 3_600_000

// pack makes the script's keys and arguments.
func (b *batch) pack() {
	if b.index == nil {
		b.index, b.policies = make(map[string]int), make(map[*home]int)
	}
	clear(b.index)
	clear(b.policies)
	b.arg = append(b.arg[:0], make([]byte, 3*8)...)
	b.format = append(b.format[:0], "<d"...)
	b.arena = b.arena[:0]
	for _, r := range b.requests {
		b.arena = append(b.arena, r.keys...)
		for i := range r.asks {
			h := r.asks[i].home
			b.format = append(b.format, "Bddddddd"[:1+(r.asks[i].width-1)/8]...)
			if _, ok := b.policies[h]; !ok {
				b.policies[h] = len(b.policies) + 1
				b.arg = h.appendTo(b.arg)
			}
		}
	}
	slack := 0
	if b.requests[0].now != 0 {
		slack = keepLonger
	}
	appendDouble(appendDouble(appendDouble(b.arg[:0], float64(b.requests[0].now)), float64(slack)), float64(len(b.policies)))
	b.packCharges()
}

// packCharges numbers the buckets, each once, and appends the charges.
func (b *batch) packCharges() {
	b.number(string(b.arena))
	i := 0
	for _, r := range b.requests {
		alone := byte(flagAlone)
		for j := range r.asks {
			if b.asked[b.buckets[i+j]] > 1 {
				alone = 0
			}
		}
		for j := range r.asks {
			a, flags := &r.asks[j], r.asks[j].flags|alone
			if a.flags >= flagBack {
				flags = a.flags
			} else if alone == 0 && slices.Contains(b.buckets[i:i+j], b.buckets[i+j]) {
				flags |= flagAgain
			}
			b.arg = appendDouble(b.arg, float64(b.policies[a.home]))
			b.arg = appendDouble(b.arg, float64(b.buckets[i+j]+1))
			b.arg = appendDouble(b.arg, float64(flags))
			b.arg = appendDouble(b.arg, float64(a.cost))
			if flags >= flagBack {
				b.arg = appendDouble(b.arg, float64(a.taken))
			}
		}
		i += len(r.asks)
	}
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

// ask calls the script and checks the length of its answer.
func (s *Store) ask(b *batch) (stint.Micros, string, error) {
	answer, err := s.call(b.keys, string(b.arg), string(b.format))
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
	at := stint.Micros(math.Float64frombits(binary.LittleEndian.Uint64([]byte(answer[:8]))))
	return at, answer[8:], nil
}

// deliver gives each request its part of the answer.
func (b *batch) deliver(s *Store, at stint.Micros, answer string, err error) {
	for i, r := range b.requests {
		part := ""
		if err == nil {
			n := r.width()
			part, answer = answer[:n], answer[n:]
			for j := range r.asks {
				r.asks[j].home.since.CompareAndSwap(0, int64(at))
			}
		}
		if !r.end(at, part, err) {
			s.requests.Put(r)
		}
		b.requests[i] = nil
	}
}
