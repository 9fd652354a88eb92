package redisstore

import (
	"encoding/binary"
	"math"
	"sync/atomic"

	"github.com/stint-dev/stint"
)

// home is what a store knows of a policy.
type home struct {
	policy *stint.Policy
	cells  stint.CellAlgorithm // nil for an algorithm of lists
	packed []byte              // the policy in the script's argument
	width  int                 // bytes of an answer: a flag and some numbers
	weight int                 // what a charge costs Redis, beside one on a cell
	lone   *lone               // nil if no lone script can settle a charge
	params []byte              // the policy in the argument of one
	detour atomic.Int32        // how many charges do without one
}

// logWeight is the weight of a charge on a log: BenchmarkScript says about 4.
const logWeight = 4

// policyBytes are those of a policy in the script's argument.
const policyBytes = 7 * 8

// home finds or makes the home of a policy.
func (s *Store) home(p *stint.Policy) (*home, error) {
	known := p.Home()
	if known != nil && known.Store == stint.Store(s) {
		return known.Counts.(*home), nil
	}
	if h, ok := s.homes.Load(p); ok {
		return h.(*home), nil
	}
	h, err := s.newHome(p)
	if err != nil {
		return nil, err
	}
	s.homesMu.Lock()
	defer s.homesMu.Unlock()
	known = p.Home()
	switch {
	case known == nil:
		p.SetHome(&stint.Home{Store: s, Counts: h})
	case known.Store == stint.Store(s):
		return known.Counts.(*home), nil
	default:
		kept, _ := s.homes.LoadOrStore(p, h)
		return kept.(*home), nil
	}
	return h, nil
}

func (s *Store) newHome(p *stint.Policy) (*home, error) {
	id, err := twinOf(p.Algorithm)
	if err != nil {
		return nil, err
	}
	h := &home{policy: p, packed: make([]byte, 0, policyBytes)}
	for _, n := range p.Params {
		h.packed = appendDouble(h.packed, float64(n))
	}
	h.packed = appendDouble(h.packed, float64(id))
	if h.cells, _ = p.Algorithm.(stint.CellAlgorithm); h.cells != nil {
		h.width, h.weight = 1+8*h.cells.Words(), 1
	} else {
		h.width, h.weight = 1+8*4, logWeight
	}
	if l := s.lones[id-1]; l != nil {
		if h.params = l.params(&p.Params); h.params != nil {
			h.lone = l
		}
	}
	return h, nil
}

func appendDouble(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}
