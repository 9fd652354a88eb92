package redisstore

import "github.com/stint-dev/stint"

// said is what the answer about the i-th charge is the answer to: the charge itself, or
// all that its request wants of the bucket.
func (r *request) said(i int, answer string, ask stint.Ask) stint.Ask {
	if answer[0]&flagWanted != 0 {
		ask.Cost, ask.Forced = r.wanted(i), false
	}
	if answer[0]&flagUnlent != 0 {
		ask.MaxDelay = 0
	}
	return ask
}

// wanted is what the bucket of the i-th charge must have room for, before the charge
// passes: for what all enforced charges of the request want of the bucket together,
// and for its own if it is a shadow. The function wanted of the script says the same.
func (r *request) wanted(i int) int64 {
	key, shadow := r.key(i), r.asks[i].flags&flagShadow != 0
	var sum, most, run, worst int64
	for j := range r.asks {
		a := &r.asks[j]
		if j != i && (a.flags&flagShadow != 0 || string(r.key(j)) != string(key)) {
			continue
		}
		cost := max(-stint.MaxUnits, min(a.cost, stint.MaxUnits))
		sum, run = sum+cost, max(0, run+cost)
		switch {
		case cost == 0: // a look asks for room for one
			most, worst = max(most, sum+1), max(worst, run+1)
		case cost > 0 && a.flags&flagForced == 0:
			most, worst = max(most, sum), max(worst, run)
		}
		if j == i && shadow {
			break
		}
	}
	if worst > r.asks[i].home.policy.Capacity() {
		most = worst // it never fits
	}
	return max(most, 1)
}
