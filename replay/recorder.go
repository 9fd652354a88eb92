package replay

import (
	"context"
	"hash/maphash"

	"github.com/stint-dev/stint"
)

// maxNumbered bounds the keys that are told apart in the search for limits.
const maxNumbered = 1 << 22

// recorder is a store that remembers what it was asked, to ask it again under
// other limits.
type recorder struct {
	stint.Store
	spool     *spool
	seed      maphash.Seed
	numbers   map[uint64]uint32 // of keys, by their hash
	histories map[*stint.Policy]*history
	delayed   int64
	err       error // the first of the spool
}

func newRecorder(store stint.Store, spool *spool) *recorder {
	return &recorder{
		Store: store, spool: spool, seed: maphash.MakeSeed(),
		numbers: make(map[uint64]uint32), histories: make(map[*stint.Policy]*history),
	}
}

// history is what one policy was asked.
type history struct {
	policy  *stint.Policy
	cost    int64
	asked   int64
	refused int64
	unknown int64 // charges whose key got no number
	charges chunks
}

// Take implements [stint.Store].
func (r *recorder) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	at, err := r.Store.Take(ctx, now, charges, verdicts)
	if err != nil {
		return at, err
	}
	waits := false
	for i := range charges {
		r.record(&charges[i], &verdicts[i], at)
		// Nobody waits here, so that no place in a line must be kept.
		waits = waits || verdicts[i].Delay > 0 && !charges[i].Shadow
		verdicts[i].Delay = 0
	}
	if waits {
		r.delayed++
	}
	return at, nil
}

func (r *recorder) record(c *stint.Charge, v *stint.Verdict, at stint.Micros) {
	h := r.histories[c.Policy]
	if h == nil {
		h = &history{policy: c.Policy, cost: c.Cost}
		r.histories[c.Policy] = h
	}
	h.asked++
	if !v.OK {
		h.refused++
	}
	if c.Cost == 0 || r.err != nil {
		return
	}
	if number, ok := r.number(c.Key); ok {
		r.err = r.spool.add(&h.charges, at, number)
	} else {
		h.unknown++
	}
}

// number returns the number of a key, from 0.
func (r *recorder) number(key []byte) (uint32, bool) {
	hash := maphash.Bytes(r.seed, key)
	number, ok := r.numbers[hash]
	if !ok && len(r.numbers) < maxNumbered {
		number, ok = uint32(len(r.numbers)), true
		r.numbers[hash] = number
	}
	return number, ok
}
