package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// Twins sends n random requests to two empty stores and demands the same verdicts
// from both. A failure names the seed; [Pair] repeats it.
func Twins(t *testing.T, a, b stint.Store, n int) {
	t.Helper()
	if err := (Pair{A: a, B: b, Seed: Seed()}).Differ(n); err != nil {
		t.Fatal(err)
	}
}

// Seed is what random tests begin with: the number in STINT_SEED, or 1, so that a
// run repeats the one before it. A campaign gives other numbers.
func Seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("STINT_SEED"), 10, 64); err == nil {
		return n
	}
	return 1
}

// Pair is two empty stores and the seed of what they are asked.
type Pair struct {
	A, B stint.Store
	Seed uint64
}

// Differ sends n requests to both stores and returns the first difference between
// their verdicts, nil if there is none.
func (p Pair) Differ(n int) error {
	w := newWorld(p.Seed)
	for i := range n {
		w.turn(i)
		if err := p.compare(w, w.request()); err != nil {
			return fmt.Errorf("seed %d, request %d at %+d µs:\n%w", p.Seed, i, w.now-Start, err)
		}
	}
	return nil
}

// compare settles one request in both stores, and in the world's own.
func (p Pair) compare(w *world, request []stint.Charge) error {
	var said [3][]stint.Verdict
	for i, store := range []stint.Store{p.A, p.B, w.guide} {
		said[i] = make([]stint.Verdict, len(request))
		at, err := store.Take(context.Background(), w.now, request, said[i])
		if err != nil {
			return err
		}
		if at != w.now {
			return fmt.Errorf("store %d settled at %d, given %d", i, at, w.now)
		}
	}
	w.noticeExpired()
	if slices.Equal(said[0], said[1]) {
		return nil
	}
	var text strings.Builder
	for i := range request {
		c := &request[i]
		fmt.Fprintf(&text, "charge %d: %s %v %q cost %d forced %v shadow %v\n  %+v\n", i,
			c.Policy.Name, c.Policy.Limit, c.Key, c.Cost, c.Forced, c.Shadow, said[0][i])
		if said[0][i] != said[1][i] {
			fmt.Fprintf(&text, "  %+v\n", said[1][i])
		}
	}
	return errors.New(text.String())
}

// world is where random requests come from.
type world struct {
	*rand.Rand
	now      stint.Micros
	policies []*stint.Policy
	keys     int
	era      int
	earlier  map[string][]*stint.Policy // limits by the name of their buckets
	// guide knows what the buckets hold. A bucket that was worth nothing at some
	// instant may have been forgotten: time must not go back to before then.
	guide   *Reference
	expired map[name]stint.Micros
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), now: Start, keys: 3, earlier: make(map[string][]*stint.Policy)}
	for i, a := range append(slices.Clone(algo.All), algo.All...) {
		w.policies = append(w.policies, w.newPolicy("p"+strconv.Itoa(i), a))
	}
	for i, q := range []algo.LeakyQueue{{MaxWaiting: 3}, {MaxWait: 1e9}, {MaxWait: 2e9, MaxWaiting: 5}} {
		w.policies = append(w.policies, w.newPolicy("q"+strconv.Itoa(i), q))
	}
	w.newEra()
	return w
}

// newEra goes on with keys that nobody has seen.
func (w *world) newEra() {
	w.era++
	w.guide, w.expired = NewReference(), make(map[name]stint.Micros)
}

// newPolicy makes one with a random limit.
func (w *world) newPolicy(name string, a stint.Algorithm) *stint.Policy {
	counts := []int64{1, 2, 3, 5, 7, 10, 17, 60, 100}
	windows := []int64{1, 1000, 99_991, 1_000_000, 1_000_003, 10_000_000, 60_000_000, 3_600_000_000}
	for {
		l := stint.Limit{Count: counts[w.IntN(len(counts))]}
		l.Window = time.Duration(windows[w.IntN(len(windows))]) * time.Microsecond
		if w.IntN(3) == 0 {
			l.Burst = counts[w.IntN(len(counts))]
		}
		if p, err := stint.NewPolicy(name, l, a); err == nil {
			return p
		}
	}
}

// turn moves the time and now and then a limit.
func (w *world) turn(i int) {
	if i%400 == 399 {
		w.newEra()
	}
	scale := []int64{1, 100, 10_000, 1_000_000, 30_000_000}[w.IntN(5)]
	switch n := w.IntN(100); {
	case n < 40:
		w.now += stint.Micros(w.Int64N(scale))
	case n < 55:
		w.stepBack(w.Int64N(scale))
	case n < 56:
		w.stepBack(w.Int64N(8_000_000_000))
	case n < 57:
		w.now += stint.Micros(w.Int64N(8_000_000_000))
	case n < 59:
		w.changeLimit(w.IntN(len(w.policies)))
	}
}

// stepBack sets the clock back, but not to before a bucket may have been
// forgotten.
func (w *world) stepBack(by int64) {
	to := w.now - stint.Micros(by)
	for _, at := range w.expired {
		to = max(to, at)
	}
	w.now = min(w.now, to)
}

// noticeExpired notes which buckets may be forgotten from now on.
func (w *world) noticeExpired() {
	for n, b := range w.guide.buckets {
		delete(w.expired, n)
		if at := b.expires(); at <= w.now {
			w.expired[n] = at
		}
	}
}

// changeLimit changes a limit, or takes turns with an earlier one of the same name.
func (w *world) changeLimit(i int) {
	old := w.policies[i]
	earlier := w.earlier[old.Name]
	if len(earlier) > 0 && w.IntN(2) == 0 {
		w.policies[i] = earlier[w.IntN(len(earlier))]
		return
	}
	w.policies[i] = w.newPolicy(old.Name, old.Algorithm)
	w.earlier[old.Name] = append(earlier, w.policies[i])
}

func (w *world) key(i int) string { return strconv.Itoa(w.era) + "/" + strconv.Itoa(i) }

// request makes up the charges of one request.
func (w *world) request() []stint.Charge {
	n := 1
	if w.IntN(3) == 0 {
		n = 1 + w.IntN(5)
	}
	if w.IntN(200) == 0 {
		n = stint.MaxCharges
	}
	request := make([]stint.Charge, n)
	for i := range request {
		request[i] = of(w.policies[w.IntN(len(w.policies))], w.key(w.IntN(w.keys)), w.cost())
		request[i].Forced = w.IntN(20) == 0
		request[i].Shadow = w.IntN(6) == 0
		if w.IntN(8) == 0 {
			request[i].MaxDelay = time.Duration(w.Int64N(3_000_000)) * time.Microsecond
		}
	}
	return request
}

func (w *world) cost() int64 {
	switch w.IntN(20) {
	case 0, 1:
		return 0
	case 2:
		return -1 - w.Int64N(3)
	case 3:
		return 1 + w.Int64N(20)
	case 4:
		return []int64{-1 << 63, 1<<63 - 1, stint.MaxUnits, -stint.MaxUnits}[w.IntN(4)]
	default:
		return 1 + w.Int64N(2)
	}
}
