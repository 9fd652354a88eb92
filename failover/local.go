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
	local, ok := s.inOneCall(charges)
	if ok {
		defer s.owing.mu.RUnlock()
		said, at, err := s.askLocal(ctx, now, local)
		for i := range charges {
			if len(said) > 0 && isLocal(&charges[i]) {
				verdicts[i], said = said[0], said[1:]
			}
		}
		return at, err
	}
	s.owing.mu.RUnlock()
	s.owing.mu.Lock()
	defer s.owing.mu.Unlock()
	return s.localRequest(charges).settle(ctx, now, verdicts)
}

// inOneCall returns what the local store is asked for the charges that want it, unless
// that takes more than one call; s.owing.mu is held.
func (s *Store) inOneCall(charges []stint.Charge) (local []stint.Charge, ok bool) {
	servers := s.servers()
	for i := range charges {
		c := charges[i]
		if !isLocal(&c) {
			continue
		}
		part := s.share(c.Policy, servers)
		if part.policy != c.Policy && !c.Forced && (s.owes(c.Policy, part) || isLarge(charges, i, part)) {
			return nil, false
		}
		c.Policy = part.policy
		local = append(local, c)
	}
	return local, true
}

// isLocal says whether c is decided by the local store while the other one fails.
func isLocal(c *stint.Charge) bool {
	return c.Policy.OnStoreFailure != stint.FailAllow && c.Policy.OnStoreFailure != stint.FailDeny
}

// askLocal makes a call of the local store, if there is something to ask. It returns
// what was said of each charge.
func (s *Store) askLocal(ctx context.Context, now stint.Micros, charges []stint.Charge) ([]stint.Verdict, stint.Micros, error) {
	if len(charges) == 0 {
		return nil, now, nil
	}
	said := make([]stint.Verdict, len(charges))
	at, err := s.local.Take(ctx, now, charges, said)
	if err != nil {
		return nil, 0, err
	}
	return said, at, nil
}
