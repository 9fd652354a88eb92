package failover

import (
	"time"

	"github.com/stint-dev/stint"
)

// maxShares bounds how many parts are remembered.
const maxShares = 4096

// maxFleet is the largest fleet that limits are divided by.
const maxFleet = 1 << 20

// share names a policy and the size of the fleet that shares its limit.
type share struct {
	policy *stint.Policy
	fleet  int64
}

// share returns a policy for this server's part of p's limit, at least one unit.
// A part is never above the whole divided by the fleet, but for that unit.
func (s *Store) share(p *stint.Policy) *stint.Policy {
	fleet := int64(1)
	if s.fleet != nil {
		fleet = max(1, min(int64(s.fleet()), maxFleet))
	}
	if fleet == 1 || p.Limit.Count == 0 {
		return p
	}
	key := share{p, fleet}
	if known, ok := s.shares.Load(key); ok {
		return known.(*stint.Policy)
	}
	part, err := stint.NewPolicy(p.Name, divide(p.Limit, fleet), p.Algorithm)
	if err != nil { // Its window is longer than any can be.
		part, err = stint.NewPolicy(p.Name, stint.Limit{Count: 1, Window: p.Limit.Window}, p.Algorithm)
	}
	if err != nil {
		return p // Where more can be kept, one can.
	}
	if s.known.Add(1) > maxShares { // Policies of rules that were reloaded long ago.
		s.shares.Clear()
		s.known.Store(1)
	}
	s.shares.Store(key, part)
	return part
}

// divide is a limit's n-th part. A count that is smaller than n becomes one unit
// in a longer window, so that the parts together do not pass the whole.
func divide(l stint.Limit, n int64) stint.Limit {
	if l.Burst != 0 {
		l.Burst = max(1, l.Burst/n)
	}
	if l.Count >= n {
		l.Count /= n
		return l
	}
	times := time.Duration((n + l.Count - 1) / l.Count)
	if longer := times * l.Window; longer/times == l.Window {
		l.Window = longer
	}
	l.Count, l.Burst = 1, 0
	return l
}
