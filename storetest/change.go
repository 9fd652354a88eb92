package storetest

import (
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// changes is what happens to use when a limit changes.
var changes = []behaviour{
	{"C117 the same limit again changes nothing", sameLimitAgain},
	{"C116 a changed limit carries the use", carriesUse},
	{"C125 a lowered limit goes on refilling", loweredLimit},
	{"C039 remaining is never below zero", neverBelowZero},
	{"two limits of one name in turn earn nothing", limitsInTurn},
	{"counters of one unit in turn earn nothing", unitsInTurn},
	{"the wait after a change is true", waitAfterChange},
	{"a refused request after a change charges nothing", refusedAfterChange},
	{"many limits of one name leave each bucket its own", manyLimits},
}

func sameLimitAgain(t *testing.T, b *bench) {
	for _, a := range algo.All {
		b.allows(of(policy(t, a.Name(), "3 per 3600s", a), "k", 3))
		for range 20 {
			b.refuses(0, one(policy(t, a.Name(), "3 per 3600s", a), "k"))
		}
	}
}

func carriesUse(t *testing.T, b *bench) {
	for _, a := range algo.All {
		b.allows(of(policy(t, a.Name(), "10 per 60s", a), "k", 4))
		b.left(policy(t, a.Name(), "100 per 60s", a), "k", 96)
		b.left(policy(t, a.Name(), "5 per 60s", a), "k", 1)
		b.left(policy(t, a.Name(), "10 per 120s", a), "k", 6)
	}
}

func loweredLimit(t *testing.T, b *bench) {
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.LeakyBucket, algo.FixedWindow} {
		b.now = Start
		b.allows(of(policy(t, a.Name(), "5 per 1s", a), "k", 5))
		p := policy(t, a.Name(), "2 per 1s", a)
		b.after(1100 * time.Millisecond)
		for range 5 {
			if n := b.passes(3, one(p, "k")); n != 2 {
				t.Errorf("%s: %d of 3 passed, want 2", a.Name(), n)
			}
			b.after(time.Second)
		}
	}
}

func neverBelowZero(t *testing.T, b *bench) {
	for _, a := range algo.All {
		b.allows(of(policy(t, a.Name(), "50 per 3600s", a), "k", 20))
		p := policy(t, a.Name(), "5 per 3600s", a)
		b.left(p, "k", 0)
		b.left(policy(t, a.Name(), "50 per 3600s", a), "k", 30)
		b.refuses(0, one(p, "k"))
	}
}

// limitsInTurn: two servers that have read different files ask in turn.
func limitsInTurn(t *testing.T, b *bench) {
	for _, a := range algo.All {
		few := policy(t, a.Name(), "5 per 3600s", a)
		many := policy(t, a.Name(), "10 per 3600s", a)
		passed := 0
		for range 20 {
			passed += b.passes(1, one(few, "k")) + b.passes(1, one(many, "k"))
		}
		if passed != 10 {
			t.Errorf("%s: %d passed, want 10", a.Name(), passed)
		}
	}
}

// unitsInTurn: each of two counters forgets at the end of its window. What the other has
// just counted must last longer than that, or they admit the sum of both rates.
func unitsInTurn(t *testing.T, b *bench) {
	a := algo.SlidingWindowCounter
	second, less := policy(t, "units", "1 per 1s", a), policy(t, "units", "1 per 700ms", a)
	passed, seconds := 0, 20
	for range 20 * seconds {
		passed += b.passes(1, one(second, "k")) + b.passes(1, one(less, "k"))
		b.after(50 * time.Millisecond)
	}
	if most := 2 + seconds*10/7; passed > most {
		t.Errorf("%d passed in %d s, want at most %d", passed, seconds, most)
	}
}

func waitAfterChange(t *testing.T, b *bench) {
	for _, a := range algo.All {
		for _, limit := range []string{"5 per 3600s", "5 per 60s", "5 per 86400s", "20 per 7200s"} {
			b.allows(of(policy(t, a.Name(), "50 per 3600s", a), limit, 50))
			b.after(time.Minute)
			p := policy(t, a.Name(), limit, a)
			v := b.take(one(p, limit))[0]
			if v.OK {
				continue
			}
			// The bucket is forgotten when the limit that counted it would have forgotten
			// it, so one that remembers for longer may let a request through before.
			if p.Limit.Window <= time.Hour {
				b.after(v.RetryAfter - time.Microsecond)
				b.refuses(0, one(p, limit))
				b.after(time.Microsecond - v.RetryAfter)
			}
			b.after(v.RetryAfter)
			b.allows(one(p, limit))
		}
	}
}

func refusedAfterChange(t *testing.T, b *bench) {
	for _, a := range algo.All {
		b.allows(of(policy(t, a.Name(), "10 per 60s", a), "k", 4))
		small := policy(t, "small "+a.Name(), "1 per 60s", a)
		b.allows(one(small, "k"))
		p := policy(t, a.Name(), "20 per 60s", a)
		for range 5 {
			b.refuses(1, of(p, "k", 3), one(small, "k"))
		}
		b.left(p, "k", 16)
	}
}

// manyLimits: rules that share a name, and limits that callers bring, are more than
// a store may be able to tell apart. None may become looser by that.
func manyLimits(t *testing.T, b *bench) {
	for _, a := range algo.All {
		day := policy(t, a.Name(), "1 per 86400s", a)
		b.allows(one(day, "k"))
		for _, window := range []string{"1s", "86400s"} {
			for n := 0; n < 600; n += 30 {
				var charges []stint.Charge
				for i := range 30 {
					limit := strconv.Itoa(n+i+2) + " per " + window
					charges = append(charges, one(policy(t, a.Name(), limit, a), window+strconv.Itoa(n+i)))
				}
				b.allows(charges...)
			}
			b.after(5 * time.Second)
			b.refuses(0, one(day, "k"))
			b.left(policy(t, a.Name(), "2 per 86400s", a), "k", 1)
		}
		b.refuses(0, of(policy(t, a.Name(), "31 per 86400s", a), "86400s29", 31))
		b.allows(of(policy(t, a.Name(), "31 per 86400s", a), "86400s29", 30))
	}
}
