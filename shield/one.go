package shield

import (
	"context"
	"time"

	"github.com/stint-dev/stint"
)

// TakeOne implements [stint.OneStore].
func (s *Store) TakeOne(ctx context.Context, now stint.Micros, p *stint.Policy, key string, ask stint.Ask) (stint.Micros, stint.Verdict, error) {
	b := s.table.bucketOf(p, key)
	switch {
	case refills(ask) || books(ask):
		b.set.begin(&b)
		defer b.set.end(&b)
		return s.askOne(ctx, now, p, key, ask)
	case now != 0:
		return s.askOne(ctx, now, p, key, ask)
	}
	sent := s.elapsed()
	if r := b.set.find(&b, units(ask), sent); r != nil {
		s.answered.add()
		return r.instant(sent), r.verdict(sent), nil
	}
	m := mark{b, b.set.turn.Load()}
	at, v, err := s.askOne(ctx, 0, p, key, ask)
	if err == nil && isWorthKeeping(&v) {
		s.remember(&m, &answer{ask: ask, verdict: v, at: at, sent: sent})
	}
	return at, v, err
}

// list is a list of one charge.
type list struct {
	charges  [1]stint.Charge
	verdicts [1]stint.Verdict
	key      []byte
}

// askOne asks the shared store about one charge.
func (s *Store) askOne(ctx context.Context, now stint.Micros, p *stint.Policy, key string, ask stint.Ask) (stint.Micros, stint.Verdict, error) {
	if s.one != nil {
		return s.one.TakeOne(ctx, now, p, key, ask)
	}
	l, _ := s.scratch.Get().(*list)
	if l == nil {
		l = new(list)
	}
	defer s.scratch.Put(l)
	l.key = append(l.key[:0], key...)
	l.charges[0] = stint.Charge{Policy: p, Key: l.key, Ask: ask}
	at, err := s.store.Take(ctx, now, l.charges[:], l.verdicts[:])
	return at, l.verdicts[0], err
}

// answer is what the shared store said to a charge that was sent at sent.
type answer struct {
	ask     stint.Ask
	verdict stint.Verdict
	at      stint.Micros
	sent    time.Duration
}

// remember keeps a refusal, if it still holds and nothing has happened to its
// bucket since it was asked about.
func (s *Store) remember(m *mark, a *answer) {
	received := s.elapsed()
	ends := a.sent + holds(&a.verdict, s.maxWait) - time.Microsecond
	if ends < received {
		return
	}
	kept, dropped := m.set.keep(&refusal{
		policy: m.policy, high: m.high, low: m.low, units: units(a.ask),
		sent: a.sent, ends: ends, received: received, at: a.at,
		retry: a.verdict.RetryAfter, reset: a.verdict.ResetAfter, next: a.verdict.NextAfter,
	}, m.turn)
	if kept {
		s.remembered.Add(1)
	}
	if dropped {
		s.dropped.Add(1)
	}
}
