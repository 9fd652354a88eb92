package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// sharedFate is what several charges of one request mean: all or none.
var sharedFate = []behaviour{
	{"C113 a refused request uses nothing up", refusedUsesNothing},
	{"C109 two limits with one key count apart", limitsApart},
	{"C057 two policies with equal numbers count apart", equalNumbersApart},
	{"C144 the order of limits does not matter", orderOfLimits},
	{"a refusal in any place charges none", refusalInAnyPlace},
	{"a refused request tells what is left", refusedTellsWhatIsLeft},
	{"charges of one bucket add up", oneBucketTwice},
	{"shadow charges count and never refuse", shadows},
	{"32 charges are settled together", thirtyTwo},
	{"33 charges are an error", thirtyThree},
	{"no charges are no error", noCharges},
	{"all algorithms in one request", allAlgorithms},
}

// refusedUsesNothing: five requests to a special place, two of which its own limit
// refuses, leave seven of the ten that the group has.
func refusedUsesNothing(t *testing.T, b *bench) {
	for _, a := range algo.All {
		group := policy(t, a.Name()+" group", "10 per 60s", a)
		special := policy(t, a.Name()+" special", "3 per 60s", a)
		if n := b.passes(5, one(group, ""), one(special, "")); n != 3 {
			t.Errorf("%s: %d of 5 special requests passed, want 3", a.Name(), n)
		}
		if n := b.passes(8, one(group, "")); n != 7 {
			t.Errorf("%s: %d of 8 other requests passed, want 7", a.Name(), n)
		}
	}
}

func limitsApart(t *testing.T, b *bench) {
	minute := policy(t, "minute", "5 per 60s", algo.FixedWindow)
	day := policy(t, "day", "50 per 86400s", algo.FixedWindow)
	request := []stint.Charge{one(minute, "ip"), one(day, "ip")}
	if n := b.passes(5, request...); n != 5 {
		t.Fatalf("%d of the first 5 passed", n)
	}
	if v := b.refuses(0, request...); v[0].RetryAfter != time.Minute {
		t.Errorf("wait for the minute: %v, want 1m", v[0].RetryAfter)
	}
	for range 9 {
		b.after(time.Minute)
		if n := b.passes(5, request...); n != 5 {
			t.Fatalf("%d of 5 passed", n)
		}
	}
	b.after(time.Minute)
	v := b.refuses(1, request...)
	if v[1].RetryAfter != 85_800*time.Second {
		t.Errorf("wait for the day: %v, want 85800s", v[1].RetryAfter)
	}
	if v[0].Remaining != 5 {
		t.Errorf("the minute has %d left, want 5: nothing was charged", v[0].Remaining)
	}
	five := policy(t, "five", "5 per 60s", algo.FixedWindow)
	three := policy(t, "three", "3 per 60s", algo.FixedWindow)
	if n := b.passes(4, one(five, "ip"), one(three, "ip")); n != 3 {
		t.Errorf("under two limits of one period %d of 4 passed, want 3", n)
	}
}

func equalNumbersApart(t *testing.T, b *bench) {
	x := policy(t, "x", "3 per 60s", algo.TokenBucket)
	y := policy(t, "y", "3 per 60s", algo.TokenBucket)
	if n := b.passes(4, one(x, "ip")); n != 3 {
		t.Errorf("%d of 4 passed x, want 3", n)
	}
	b.left(y, "ip", 3)
}

func orderOfLimits(t *testing.T, b *bench) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		key := string(rune('a' + order[0]))
		limits := []stint.Charge{
			one(policy(t, "short", "10 per 10s", algo.SlidingWindowLog), key),
			one(policy(t, "long", "15 per 60s", algo.SlidingWindowLog), key),
		}
		b.now = Start
		var passed []int
		for i := range 60 {
			if b.passes(1, limits[order[0]], limits[order[1]]) == 1 {
				passed = append(passed, i)
			}
			b.after(500 * time.Millisecond)
		}
		if len(passed) != 15 || passed[9] != 9 || passed[10] != 20 || passed[14] != 24 {
			t.Errorf("order %v: passed at half seconds %v, want 0 to 9 and 20 to 24", order, passed)
		}
	}
}

func refusalInAnyPlace(t *testing.T, b *bench) {
	for place := range 3 {
		key := string(rune('a' + place))
		var request []stint.Charge
		for i := range 3 {
			name := string(rune('0' + i))
			if i == place {
				request = append(request, one(policy(t, "small "+name, "1 per 60s", algo.TokenBucket), key))
				continue
			}
			request = append(request, one(policy(t, "large "+name, "9 per 60s", algo.SlidingWindowLog), key))
		}
		b.allows(request...)
		for range 20 {
			b.refuses(place, request...)
		}
		for i, c := range request {
			if i != place {
				b.left(c.Policy, key, 8)
			}
		}
	}
}

// refusedTellsWhatIsLeft: what a refused request would have left is not true.
func refusedTellsWhatIsLeft(t *testing.T, b *bench) {
	for _, a := range algo.All {
		small := policy(t, "small "+a.Name(), "1 per 60s", a)
		large := policy(t, "large "+a.Name(), "9 per 60s", a)
		b.allows(one(large, "k"), one(small, "k"))
		before := b.take(of(large, "k", 0))[0]
		v := b.refuses(1, of(large, "k", 3), one(small, "k"))
		if v[0] != before {
			t.Errorf("%s: before the refusal %+v\nin it %+v\nwant the same", a.Name(), before, v[0])
		}
		v = b.refuses(0, one(small, "k"), of(large, "k", 3))
		if v[1] != before {
			t.Errorf("%s: before the refusal %+v\nbehind it %+v\nwant the same", a.Name(), before, v[1])
		}
	}
}

func oneBucketTwice(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "5 per 60s", a)
		v := b.allows(of(p, "k", 2), of(p, "k", 2))
		if v[0].Remaining != 3 || v[1].Remaining != 1 {
			t.Errorf("%s: %d and %d remain, want 3 and 1", a.Name(), v[0].Remaining, v[1].Remaining)
		}
		b.refuses(1, one(p, "k"), one(p, "k"))
		b.left(p, "k", 1)
		b.allows(of(p, "k", -1))
		v = b.refuses(2, one(p, "k"), of(p, "k", 0), of(p, "k", 2))
		if v[0].Remaining != 2 || v[1].Remaining != 2 {
			t.Errorf("%s: refused with %d and %d left, want 2 and 2", a.Name(), v[0].Remaining, v[1].Remaining)
		}
		b.left(p, "k", 2)
		b.allows(one(p, "k"), of(p, "k", -1), of(p, "k", 2))
		b.left(p, "k", 0)
		b.take(one(p, "k"), shadow(one(p, "k")), of(p, "k", -5))
		b.left(p, "k", 0)
	}
}

func shadows(t *testing.T, b *bench) {
	tried := policy(t, "tried", "2 per 60s", algo.TokenBucket)
	real := policy(t, "real", "4 per 60s", algo.TokenBucket)
	request := []stint.Charge{shadow(one(tried, "k")), one(real, "k")}
	for i := range 4 {
		v := b.take(request...)
		if !v[1].OK || v[0].OK != (i < 2) {
			t.Fatalf("request %d: %+v", i, v)
		}
	}
	b.left(tried, "k", 0)
	b.left(real, "k", 0)
	// What the enforced limit refuses does not count for the other one either.
	b.now = Start + 30_000_000
	b.left(tried, "k", 1)
	if n := b.passes(3, request...); n != 2 {
		t.Fatalf("%d of 3 passed, want 2", n)
	}
	b.after(30 * time.Second)
	v := b.take(shadow(one(tried, "k")), of(real, "k", 5))
	if !v[0].OK || v[1].OK {
		t.Fatalf("%+v", v)
	}
	b.left(tried, "k", 1)
}

func thirtyTwo(t *testing.T, b *bench) {
	var request []stint.Charge
	for i := range stint.MaxCharges {
		a := algo.All[i%len(algo.All)]
		p := policy(t, "p"+string(rune('a'+i)), "3 per 60s", a)
		request = append(request, one(p, "k"))
	}
	if n := b.passes(5, request...); n != 3 {
		t.Errorf("%d of 5 passed, want 3", n)
	}
	for _, c := range request {
		b.left(c.Policy, "k", 0)
	}
}

func thirtyThree(t *testing.T, b *bench) {
	p := policy(t, "p", "100 per 60s", algo.TokenBucket)
	var request []stint.Charge
	for range stint.MaxCharges + 1 {
		request = append(request, one(p, "k"))
	}
	if _, err := b.store.Take(context.Background(), b.now, request, make([]stint.Verdict, len(request))); err == nil {
		t.Error("no error")
	}
	b.left(p, "k", 100)
}

func noCharges(t *testing.T, b *bench) {
	if _, err := b.store.Take(context.Background(), b.now, nil, nil); err != nil {
		t.Error(err)
	}
}

func allAlgorithms(t *testing.T, b *bench) {
	queue := algo.LeakyQueue{MaxWaiting: 3}
	request := []stint.Charge{one(policy(t, queue.Name(), "1 per 60s", queue), "k")}
	for _, a := range algo.All {
		request = append(request, one(policy(t, a.Name(), "6 per 60s", a), "k"))
	}
	for i := range 4 {
		v := b.allows(request...)
		if want := time.Duration(i) * time.Minute; v[0].Delay != want {
			t.Errorf("request %d: delay %v, want %v", i, v[0].Delay, want)
		}
	}
	if v := b.refuses(0, request...); v[0].RetryAfter != time.Minute || v[0].Delay != 0 {
		t.Errorf("refused by the queue: %+v, want a wait of 1m and no delay", v[0])
	}
	for _, c := range request[1:] {
		b.left(c.Policy, "k", 2)
	}
}
