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

// decideLocally asks the local store for the charges that want it.
func (s *Store) decideLocally(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	var local []stint.Charge
	var which []int
	for i := range charges {
		switch charges[i].Policy.OnStoreFailure {
		case stint.FailAllow, stint.FailDeny:
			continue
		}
		c := charges[i]
		c.Policy = s.share(c.Policy)
		local, which = append(local, c), append(which, i)
	}
	if len(local) == 0 {
		return now, nil
	}
	said := make([]stint.Verdict, len(local))
	at, err := s.local.Take(ctx, now, local, said)
	if err != nil {
		return 0, err
	}
	for n, i := range which {
		verdicts[i] = said[n]
	}
	return at, nil
}
