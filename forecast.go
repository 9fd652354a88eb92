package stint

import "time"

// postpone notes that the store has refused the first slot that is not booked, which
// has to wait again, counted from sent at the earliest. It reports whether the slot's
// deadline allows that.
func (w *waitQueues) postpone(q *waitQueue, s *slot, sent time.Time, wait time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = max(wait, time.Microsecond)
	s.due = time.Now().Add(wait)
	// The store's instant is rounded down to the microsecond.
	s.earliest = sent.Add(wait - time.Microsecond)
	q.forecast()
	return !s.late(s.due)
}

// late says whether at is past the deadline.
func (s *slot) late(at time.Time) bool { return !s.deadline.IsZero() && at.After(s.deadline) }

// forecast computes how early the slots that are not booked can pass, each by what is
// before it, and takes those out that cannot meet their deadline. The first one has its
// time from the store. The caller holds waitQueues.mu.
func (q *waitQueue) forecast() {
	booked := q.first()
	line := q.slots[booked:]
	// n slots stay. Of these, the one at j is the last that has to be some time apart
	// from the slot at hand; units are the costs from there on, all those of the line.
	n, j, units, all := 0, 0, int64(0), int64(0)
	for _, s := range line {
		units, all = units+s.units(), all+s.units()
		if n > 0 {
			for j < n-1 && s.apart(units-line[j].units()) > 0 {
				units -= line[j].units()
				j++
			}
			s.earliest = latest(line[n-1].earliest, line[0].earliest.Add(s.apart(all)), line[j].earliest.Add(s.apart(units)))
			if s.late(s.earliest) {
				units, all = units-s.units(), all-s.units()
				s.hopeless = true
				s.wake()
				continue
			}
		}
		line[n] = s
		n++
	}
	clear(line[n:])
	q.slots = q.slots[:booked+n]
}

// units is the cost of the request; one that looks waits until there is room for one.
func (s *slot) units() int64 { return max(s.cost, 1) }

// apart is how long after a slot before it s passes at the earliest, if from that one
// to s they cost so many units.
func (s *slot) apart(units int64) time.Duration {
	if a, ok := s.policy.Algorithm.(WindowAlgorithm); ok {
		return a.Apart(&s.policy.Params, units)
	}
	return 0
}

func latest(first, second, third time.Time) time.Time {
	if second.After(first) {
		first = second
	}
	if third.After(first) {
		first = third
	}
	return first
}
