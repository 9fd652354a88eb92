package failover

import (
	"math/bits"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// maxShares bounds how many shares are remembered.
const maxShares = 4096

// maxFleet is the largest fleet that limits are divided by.
const maxFleet = 1 << 20

// share is this server's part of a policy's limit.
type share struct {
	policy *stint.Policy
	// ahead counts the windows that a cost above the share has taken in advance: one
	// unit is one window of policy. It is nil where the bucket itself keeps debt.
	ahead *stint.Policy
}

// shareKey names a policy and the size of the fleet that shares its limit.
type shareKey struct {
	policy *stint.Policy
	fleet  int64
}

// servers is how many servers share the limits now.
func (s *Store) servers() int64 {
	if s.fleet == nil {
		return 1
	}
	return max(1, min(int64(s.fleet()), maxFleet))
}

// share returns this server's part of p among so many.
func (s *Store) share(p *stint.Policy, servers int64) share {
	if servers == 1 || p.Limit.Count == 0 {
		return share{policy: p}
	}
	key := shareKey{p, servers}
	if known, ok := s.shares.Load(key); ok {
		return known.(share)
	}
	part := shareOf(p, servers)
	if s.known.Add(1) > maxShares { // Policies of rules that were reloaded long ago.
		s.shares.Clear()
		s.known.Store(1)
	}
	s.shares.Store(key, part)
	return part
}

// shareOf is the n-th part of p in both dimensions: of its rate, and of what may
// pass at once. The parts together pass the whole by no more than the unit that
// each server may let pass.
func shareOf(p *stint.Policy, n int64) share {
	a := algorithmOf(p, n)
	bursts := hasBurst(a)
	policy := divide(p, a, n, bursts)
	if bursts {
		return share{policy: policy}
	}
	// A name that is as long as any may be loses its end: what is owed by two policies
	// whose names differ in the last byte, and by the same key, is then owed by both.
	name := ("\x00" + p.Name)[:min(len(p.Name)+1, stint.MaxName)]
	ahead, err := stint.NewPolicy(name, stint.Limit{Count: 1, Window: policy.Limit.Window}, algo.TokenBucket)
	if err != nil {
		return share{policy: policy} // Unreachable: a bucket of 1 always compiles.
	}
	return share{policy: policy, ahead: ahead}
}

// divide is the n-th part of p's limit, counted by a. Buckets keep the count and
// take n times the window for it, since their burst is divided by itself. The count
// of a window is also what may pass at once, so it is divided; one that is smaller
// than n becomes one unit in as many windows as it takes.
func divide(p *stint.Policy, a stint.Algorithm, n int64, bursts bool) *stint.Policy {
	l := p.Limit
	windows := (n + l.Count - 1) / l.Count
	if bursts {
		windows = n / gcd(n, l.Count)
	}
	for ; windows > 0; windows /= 2 { // Fewer where a window would be longer than any can be.
		part := stint.Limit{Count: max(1, mulDiv(l.Count, windows, n)), Window: time.Duration(windows) * l.Window}
		if part.Window/time.Duration(windows) != l.Window {
			continue
		}
		if bursts {
			part.Burst = max(1, burstOf(l, a)/n)
		}
		if policy, err := stint.NewPolicy(p.Name, part, a); err == nil {
			return policy
		}
	}
	policy, err := stint.NewPolicy(p.Name, stint.Limit{Count: 1, Window: l.Window}, a)
	if err != nil {
		return p // Unreachable: a limit of 1 always compiles in a window that does.
	}
	return policy
}

// algorithmOf is p's algorithm with the n-th part of its queue. A queue with fewer
// places than servers has none on each: a place would wait n times as long.
func algorithmOf(p *stint.Policy, n int64) stint.Algorithm {
	q, ok := p.Algorithm.(algo.LeakyQueue)
	if !ok || q.MaxWaiting == 0 {
		return p.Algorithm
	}
	if q.MaxWaiting /= n; q.MaxWaiting == 0 {
		q.MaxWait = time.Microsecond
	}
	return q
}

// hasBurst says whether what may pass at once is another number than the count, as
// for buckets and queues. Those keep debt.
func hasBurst(a stint.Algorithm) bool {
	_, err := a.Compile(stint.Limit{Count: 1, Window: time.Second, Burst: 2})
	return err == nil
}

// burstOf is the burst of l when a counts it. A queue without one has 1.
func burstOf(l stint.Limit, a stint.Algorithm) int64 {
	if _, queues := a.(stint.QueueAlgorithm); queues {
		return max(l.Burst, 1)
	}
	return l.Capacity()
}

// mulDiv is a × b / c rounded down, for b not above c.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return a
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
