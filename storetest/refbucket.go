package storetest

import (
	"slices"

	"github.com/stint-dev/stint"
)

// bucket is a bucket of a Reference. The zero bucket was never seen.
type bucket struct {
	policy *stint.Policy // the one that counted it last
	count  count
	debt   stint.Debt // what that one has let off
}

// count is a cell or a list.
type count struct {
	cell stint.Cell
	list []int64
}

func (a count) is(b count) bool { return a.cell == b.cell && slices.Equal(a.list, b.list) }

// settle asks b and returns the bucket afterwards.
func (b bucket) settle(p *stint.Policy, now stint.Micros, ask stint.Ask) (bucket, stint.Verdict) {
	seen, debt := b.under(p, now)
	if _, queue := p.Algorithm.(stint.QueueAlgorithm); debt != (stint.Debt{}) && !queue {
		ask.MaxDelay = 0 // What is let off must not be booked on top of again.
	}
	after, v := take(seen, p, now, ask)
	switch {
	case ask.Cost == 0 || p.Capacity() == 0:
		return b, v
	case v.OK:
		if debt != (stint.Debt{}) {
			debt = debt.Charge(now, ask.Cost, after.owes(p).Rate)
		}
	case after.is(seen):
		return b, v
	default:
		debt.At = min(debt.At, now) // The clock was set back.
	}
	return bucket{policy: p, count: after, debt: debt}, v
}

// under is b as p counts it, and the debt to keep beside it. A bucket is worth
// something until both its count and its debt are gone: were one of them left out
// before, a wait that was told from both would not be true.
func (b bucket) under(p *stint.Policy, now stint.Micros) (count, stint.Debt) {
	switch {
	case b.policy == nil || b.expires() <= now:
		return count{}, stint.Debt{}
	case sameLimit(b.policy, p):
		return b.count, b.debt
	}
	seen, whole := b.convert(p)
	if b.debt != (stint.Debt{}) {
		if assumed, _ := assume(b.debt, p); assumed.owes(p).Owed > seen.owes(p).Owed {
			seen = assumed
		}
		return seen, b.debt
	}
	if whole {
		return seen, stint.Debt{}
	}
	return seen, b.count.owes(b.policy)
}

func sameLimit(p, q *stint.Policy) bool {
	return p.Algorithm == q.Algorithm && p.Params == q.Params
}

// convert is the count of b as p would have counted it.
func (b bucket) convert(p *stint.Policy) (count, bool) {
	if b.policy.Algorithm != p.Algorithm {
		return assume(b.count.owes(b.policy), p)
	}
	if a, ok := p.Algorithm.(stint.ListAlgorithm); ok {
		return b.count, a.ConvertList(b.count.list, &b.policy.Params, &p.Params)
	}
	cell, whole := p.Algorithm.(stint.CellAlgorithm).Convert(b.count.cell, &b.policy.Params, &p.Params)
	return count{cell: cell}, whole
}

func assume(d stint.Debt, p *stint.Policy) (count, bool) {
	if a, ok := p.Algorithm.(stint.ListAlgorithm); ok {
		list, whole := a.AssumeList(d, &p.Params)
		return count{list: list}, whole
	}
	cell, whole := p.Algorithm.(stint.CellAlgorithm).Assume(d, &p.Params)
	return count{cell: cell}, whole
}

func (a count) owes(p *stint.Policy) stint.Debt {
	if l, ok := p.Algorithm.(stint.ListAlgorithm); ok {
		return l.OwesList(a.list, &p.Params)
	}
	return p.Algorithm.(stint.CellAlgorithm).Owes(a.cell, &p.Params)
}

// take asks a copy of a.
func take(a count, p *stint.Policy, now stint.Micros, ask stint.Ask) (after count, v stint.Verdict) {
	if l, ok := p.Algorithm.(stint.ListAlgorithm); ok {
		after.list, v = l.TakeList(slices.Clone(a.list), &p.Params, now, ask)
		return after, v
	}
	after.cell, v = p.Algorithm.(stint.CellAlgorithm).Take(a.cell, &p.Params, now, ask)
	return after, v
}

// expiresCount is the instant from which the count is worth nothing.
func (b bucket) expiresCount() stint.Micros {
	if b.policy == nil {
		return 0
	}
	if a, ok := b.policy.Algorithm.(stint.ListAlgorithm); ok {
		return a.ExpiresList(b.count.list, &b.policy.Params)
	}
	return b.policy.Algorithm.(stint.CellAlgorithm).Expires(b.count.cell, &b.policy.Params)
}

// expires is the instant from which b is worth no more than the zero bucket.
func (b bucket) expires() stint.Micros { return max(b.expiresCount(), b.debt.Expires()) }
