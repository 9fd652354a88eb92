package stint

// Debt is use apart from the algorithm that counted it: units owed, forgiven
// steadily at the rate of a limit. It is how use passes from one limit of a bucket
// to another, and what a store keeps beside a bucket while a smaller limit counts
// it: a smaller limit may let a client off, so that it is not locked out for longer
// than that limit needs, but the larger limit must still find what was used. Else
// two limits that take turns on one bucket, as in any rolling change, would each
// forgive what the other has counted.
//
// Whatever limits take turns, in a span t they admit together at most B + r×t, where
// B is the largest of their capacities and r the largest of their rates; with fixed
// windows among them 2×B + r×t. The zero Debt owes nothing.
type Debt struct {
	// At is the instant of the last charge.
	At Micros
	// Owed is what was owed then: Price for each unit.
	Owed int64
	// Rate is how it is forgiven.
	Rate
}

// Rate is how fast debt is forgiven: Gain in each Tick, where a unit is worth
// Price. All three are at least 1, and whatever the algorithm, Gain/Price units in
// Tick microseconds are the rate of its limit.
type Rate struct {
	Gain, Price, Tick int64
}

// fasterThan says whether r forgives more units in a second than s. It compares in
// doubles, as a script in a shared store does.
func (r Rate) fasterThan(s Rate) bool {
	return float64(r.Gain)*float64(s.Price)*float64(s.Tick) > float64(s.Gain)*float64(r.Price)*float64(r.Tick)
}

// Left is what is still owed at now, in the unit of Owed.
func (d Debt) Left(now Micros) int64 {
	if d.Owed == 0 {
		return 0
	}
	ticks := max(0, int64(now-d.At)) / d.Tick
	if ticks >= (d.Owed+d.Gain-1)/d.Gain {
		return 0
	}
	return max(0, d.Owed-ticks*d.Gain)
}

// Expires is the instant from which nothing is owed.
func (d Debt) Expires() Micros {
	if d.Owed == 0 {
		return 0
	}
	ticks := (d.Owed + d.Gain - 1) / d.Gain
	if ticks > MaxUnits/d.Tick {
		return d.At + Micros(MaxUnits)
	}
	return d.At + Micros(ticks*d.Tick)
}

// Units is Owed in units, rounded up.
func (d Debt) Units() int64 {
	if d.Owed == 0 {
		return 0
	}
	return (d.Owed + d.Price - 1) / d.Price
}

// Charge counts cost, at now, under a limit whose rate is r. What is owed is
// forgiven at the faster of the two rates from then on, so that it never outgrows
// the limit that is charged. A cost below 0 gives units back. The zero Debt is what
// remains when nothing is owed.
func (d Debt) Charge(now Micros, cost int64, r Rate) Debt {
	if r.fasterThan(d.Rate) {
		d = d.In(r)
	}
	left := d.Left(now)
	if left == 0 {
		return Debt{}
	}
	at := now
	if d.At > now && int64(d.At-now) <= int64(d.Expires()-d.At) {
		at = d.At // a reading a little behind counts as the debt's own time
	}
	most := MaxUnits / d.Price
	cost = max(-most, min(cost, most))
	d.At, d.Owed = at, max(0, min(left+cost*d.Price, MaxUnits))
	if d.Owed == 0 {
		return Debt{}
	}
	return d
}

// In is the same debt forgiven at the rate r, rounded up.
func (d Debt) In(r Rate) Debt {
	d.Owed, d.Rate = d.WorthAt(r.Price), r
	return d
}

// WorthAt is Owed where a unit is worth price, rounded up: by some millionths of a
// unit where the exact value cannot be computed below 2^53. It is at most [MaxUnits].
func (d Debt) WorthAt(price int64) int64 {
	if d.Owed == 0 || price == d.Price {
		return d.Owed
	}
	whole, rest := d.Owed/d.Price, d.Owed%d.Price
	if whole >= MaxUnits/price {
		return MaxUnits
	}
	if rest > 0 {
		coarse := (rest + MaxUnits/price - 1) / (MaxUnits / price)
		scaled := (rest + coarse - 1) / coarse * price
		divisor := max(1, d.Price/coarse)
		rest = min(price, (scaled+divisor-1)/divisor)
	}
	return whole*price + rest
}
