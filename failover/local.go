package failover

import (
	"context"
	"time"

	"github.com/stint-dev/stint"
)

// decide answers without the store.
func (s *Store) decide(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	s.degraded.Add(1)
	denied := false
	for i := range charges {
		c := &charges[i]
		denied = denied || c.Policy.OnStoreFailure == stint.FailDeny && !c.Shadow
		verdicts[i] = stint.Verdict{OK: true, Remaining: stint.Unknown}
		if c.Policy.OnStoreFailure == stint.FailDeny {
			verdicts[i] = stint.Verdict{Remaining: stint.Unknown, RetryAfter: s.probe}
		}
	}
	if !denied {
		at, err := s.decideLocally(ctx, now, charges, verdicts)
		if err != nil {
			return 0, err
		}
		now = at
	}
	if now == 0 {
		now = stint.MicrosOf(time.Now())
	}
	return now, stint.ErrDegraded
}

// decideLocally asks the local store for the charges that want it. What takes one
// call runs beside others like it; what takes several runs alone.
func (s *Store) decideLocally(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	s.owing.mu.RLock()
	r := s.localRequest(charges)
	if !r.several {
		defer s.owing.mu.RUnlock()
		return r.settle(ctx, now, verdicts)
	}
	s.owing.mu.RUnlock()
	s.owing.mu.Lock()
	defer s.owing.mu.Unlock()
	r = s.localRequest(charges) // Another may have come to owe meanwhile.
	return r.settle(ctx, now, verdicts)
}
