package memstore

import "github.com/stint-dev/stint"

// refuse ends a request that charges nothing: its verdicts tell of the buckets as they
// are. A bucket that refused stays moved if the clock was set back.
func (s *Store) refuse(items []item, charges []stint.Charge, verdicts []stint.Verdict, now stint.Micros) {
	for i := range items {
		it, v := &items[i], &verdicts[i]
		if it.full {
			continue
		}
		if v.OK {
			it.untouched(now, stint.Ask{}, v)
			v.OK, v.RetryAfter = true, 0
			continue
		}
		if it.follows || it.passed {
			var said stint.Verdict
			if it.untouched(now, wanted(items, charges, i), &said); said.OK {
				continue // A refund before it gave back less than it names.
			}
			*v = said
		}
		if it.changed && charges[i].Cost != 0 && !it.follows {
			s.write(it, &charges[i], items, now)
		}
	}
}

// untouched asks the bucket of an item as it is in its segment.
func (it *item) untouched(now stint.Micros, ask stint.Ask, said *stint.Verdict) {
	if !it.askPlain(now, ask, said) {
		it.load(nil)
		it.changed = it.settle(it.limit, now, ask, said)
	}
}

// about says whether two items are about the same bucket.
func (it *item) about(o *item) bool { return it.hash == o.hash && it.segment == o.segment }

// wanted is what the bucket of the i-th charge must have room for, before the charge
// passes: for what all enforced charges of the request want of the bucket together,
// and for its own if it is a shadow.
func wanted(items []item, charges []stint.Charge, i int) stint.Ask {
	c := &charges[i]
	// sum is what was asked so far, most the largest sum that had to fit. run is the
	// same where refunds give back no more than was used, and so is worst.
	var sum, most, run, worst int64
	for j := range charges {
		o := &charges[j]
		if !items[j].about(&items[i]) || o.Shadow && j != i {
			continue
		}
		cost := min(max(o.Cost, -stint.MaxUnits), stint.MaxUnits)
		sum, run = sum+cost, max(0, run+cost)
		switch {
		case o.Cost == 0: // a look asks for room for one
			most, worst = max(most, sum+1), max(worst, run+1)
		case o.Cost > 0 && !o.Forced:
			most, worst = max(most, sum), max(worst, run)
		}
		if c.Shadow && j == i {
			break
		}
	}
	if worst > c.Policy.Capacity() {
		most = worst // It never fits.
	}
	return stint.Ask{Cost: max(most, 1), MaxDelay: c.MaxDelay}
}
