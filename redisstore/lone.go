package redisstore

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

//go:embed lone.lua
var loneFrame string

//go:embed few.lua
var fewFrame string

// lone is the scripts for a call that has one request: a call of the general script
// costs twice as much, most of it before it comes to the charges. There are some for
// each twin that can pack cells narrowly.
type lone struct {
	one, few script  // for one charge, and for several
	below    []int64 // the params that are narrow
	widths   []int   // their bytes, at the end of a value
}

// mostLone is how many charges a lone script settles. More take the general one.
const mostLone = 8

// detour is how many calls take the general way after a bucket that a lone script
// could not settle: the next buckets of the policy are likely to be alike.
const detour = 64

// newLones returns the lone scripts of all twins, nil for one that has none.
func newLones() []*lone {
	all := make([]*lone, len(algo.Twins))
	for i, text := range algo.Twins {
		all[i] = newLone(i+1, text)
	}
	return all
}

// newLone puts the lone scripts behind those functions of a twin that they need.
func newLone(id int, text string) *lone {
	l := &lone{}
	tail := twinField(text, "tail")
	functions, _, ok := strings.Cut(text, "\nlocal function owes(")
	if tail == "" || !ok {
		return nil
	}
	bytes := 0
	for i, width := range strings.Split(strings.TrimPrefix(tail, "<I"), "I") {
		n, err := strconv.Atoi(width)
		if err != nil {
			return nil
		}
		l.widths = append(l.widths, n)
		l.below = append(l.below, power(twinField(text, "below"+strconv.Itoa(i+1))))
		bytes += n
	}
	three := twinField(text, "three") == "true"
	told := "Bdd"
	if three {
		told += "d"
	}
	var b strings.Builder
	b.WriteString(`-- Stint settles one request. It touches the keys it is given, and no others.
local floor, min, max = math.floor, math.min, math.max
local rep, spread = string.rep, unpack
local pack, unpack = struct.pack, struct.unpack
`)
	fmt.Fprintf(&b, "local MAX, HEAD, SIZE, BELOW, THREE = %d, %d, %s, %s, %t\n",
		stint.MaxUnits, version+2*id, twinField(text, "size"), twinField(text, "below"), three)
	fmt.Fprintf(&b, "local ASKED, TOLD = 'ddddddc%d', '%s'\n", bytes, told)
	fmt.Fprintf(&b, "local CELL, WORDS = '%s', '%s'\n\n", twinField(text, "cell"), twinField(text, "words"))
	b.WriteString(functions + "\n\n")
	l.one, l.few = named(b.String()+loneFrame), named(b.String()+fewFrame)
	return l
}

// twinField returns what the table that a twin returns has under a name, without
// quotes.
func twinField(text, name string) string {
	last := strings.LastIndex(text, "\nreturn {")
	for line := range strings.Lines(text[max(last, 0):]) {
		for field := range strings.SplitSeq(line, ", ") {
			if key, value, ok := strings.Cut(strings.TrimSpace(field), " = "); ok && key == name {
				return strings.Trim(value, "',\n")
			}
		}
	}
	return ""
}

// power reads 2^n, or is 0.
func power(text string) int64 {
	exponent, ok := strings.CutPrefix(text, "2^")
	n, err := strconv.Atoi(exponent)
	if !ok || err != nil {
		return 0
	}
	return 1 << n
}

// params returns what the script is told of a policy, nil if its values are not
// narrow: four params, and what the values end in.
func (l *lone) params(p *stint.Params) []byte {
	for i, below := range l.below {
		if p[i] >= below {
			return nil
		}
	}
	var packed []byte
	for _, n := range p[:4] {
		packed = appendDouble(packed, float64(n))
	}
	for i, width := range l.widths {
		packed = append(packed, binary.LittleEndian.AppendUint64(nil, uint64(p[i]))[:width]...)
	}
	return packed
}

// lone returns what settles the batch, nil if only the general script can: the batch
// is one request, its charges have one twin, and each a bucket of its own; none books
// ahead.
func (b *batch) lone() *lone {
	if len(b.requests) != 1 || len(b.requests[0].asks) > mostLone {
		return nil
	}
	r := b.requests[0]
	l := r.asks[0].home.lone
	for i := range r.asks {
		a := &r.asks[i]
		if l == nil || a.home.lone != l || a.flags >= flagBack || a.delay > 0 || r.has(i, r.key(i)) || a.home.turns() {
			return nil
		}
	}
	return l
}

// has says whether a charge before the i-th has the bucket.
func (r *request) has(i int, key []byte) bool {
	for j := range i {
		if string(r.key(j)) == string(key) {
			return true
		}
	}
	return false
}

// turns says whether a charge goes the general way because of others before it.
func (h *home) turns() bool {
	if h.detour.Load() <= 0 {
		return false
	}
	h.detour.Add(-1)
	return true
}

// packLone makes the keys and the argument of a lone script.
func (b *batch) packLone() {
	r := b.requests[0]
	slack := 0.0
	if r.now != 0 {
		slack = keepLonger
	}
	b.arg = appendDouble(appendDouble(b.arg[:0], float64(r.now)), slack)
	b.keys = b.keys[:0]
	keys, start := string(r.keys), 0
	for i := range r.asks {
		a := &r.asks[i]
		b.keys = append(b.keys, keys[start:a.end])
		start = a.end
		b.arg = appendDouble(b.arg, float64(a.cost))
		b.arg = appendDouble(b.arg, float64(a.flags&(flagForced|flagShadow)))
		b.arg = append(b.arg, a.home.params...)
	}
}

// askLone calls a lone script. The answer is empty if the general one has to be
// called.
func (s *Store) askLone(b *batch, l *lone) (string, error) {
	b.packLone()
	text := &l.one
	if len(b.keys) > 1 {
		text = &l.few
	}
	answer, err := s.call(text, b.keys, string(b.arg))
	if err == nil && answer == "" {
		for i := range b.requests[0].asks {
			b.requests[0].asks[i].home.detour.Store(detour)
		}
	}
	return answer, err
}

// instant is what an answer begins with.
func instant(answer string) stint.Micros {
	return stint.Micros(math.Float64frombits(binary.LittleEndian.Uint64([]byte(answer[:8]))))
}
