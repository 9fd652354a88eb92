package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// clocks is what time means to a store.
var clocks = []behaviour{
	{"C033 the wait is exact", exactWait},
	{"C043 disorder creates nothing", disorder},
	{"C041 a clock set back locks nobody out", setBack},
	{"C037 what is short-lived is kept as long as it lives", shortLived},
	{"a bucket that is full again is as good as new", fullAgain},
	{"the store's own clock runs", ownClock},
}

func exactWait(t *testing.T, b *bench) {
	limits := []string{"1 per 3600s, burst 1", "1 per 7s, burst 1", "3 per 11s, burst 1", "1 per 1000000s, burst 1", "999983 per 1s, burst 1"}
	for _, limit := range limits {
		p := policy(t, limit, limit, algo.TokenBucket)
		for range 200 {
			b.allows(one(p, "k"))
			b.after(time.Microsecond * 7 / 11)
			w := b.refuses(0, one(p, "k"))[0].RetryAfter
			if w <= 0 {
				t.Fatalf("%s: a wait of %v", limit, w)
			}
			b.after(w - time.Microsecond)
			if w > time.Microsecond {
				b.refuses(0, one(p, "k"))
			}
			b.after(time.Microsecond)
		}
	}
}

func disorder(t *testing.T, b *bench) {
	p := policy(t, "p", "1 per 1s", algo.TokenBucket)
	b.after(10 * time.Second)
	b.allows(one(p, "k"))
	for range 500 {
		b.after(-time.Second)
		b.refuses(0, one(p, "k"))
		b.after(time.Second)
		b.refuses(0, one(p, "k"))
	}
}

func setBack(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "3 per 3s", a)
		b.now = Start + 100_000_000
		b.allows(of(p, "k", 3))
		b.now = Start + 40_000_000
		other := policy(t, "other "+a.Name(), "9 per 3s", a)
		b.refuses(1, one(other, "k"), one(p, "k"))
		w := b.refuses(0, one(p, "k"))[0].RetryAfter
		if w > 6*time.Second {
			t.Fatalf("%s: a wait of %v after the clock was set back", a.Name(), w)
		}
		b.after(w - time.Microsecond)
		b.refuses(0, one(p, "k"))
		b.after(time.Microsecond)
		b.allows(one(p, "k"))
	}
}

func shortLived(t *testing.T, b *bench) {
	p := policy(t, "p", "3 per 1s, burst 1", algo.TokenBucket)
	b.allows(one(p, "k"))
	for range 9 {
		b.refuses(0, one(p, "k"))
		b.after(37 * time.Millisecond)
	}
	b.after(333 * time.Microsecond)
	b.refuses(0, one(p, "k"))
	b.after(time.Microsecond)
	b.allows(one(p, "k"))
}

func fullAgain(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "4 per 10s", a)
		b.now = Start
		fresh := b.take(of(p, "never seen", 0))[0]
		b.allows(of(p, "k", 4))
		b.after(20 * time.Second)
		if v := b.take(of(p, "k", 0))[0]; v != fresh {
			t.Errorf("%s: %+v, want that of a new bucket: %+v", a.Name(), v, fresh)
		}
	}
}

func ownClock(t *testing.T, b *bench) {
	p := policy(t, "p", "5 per 3600s", algo.TokenBucket)
	var last stint.Micros
	for i := range 8 {
		var v [1]stint.Verdict
		at, err := b.store.Take(context.Background(), 0, []stint.Charge{one(p, "k")}, v[:])
		if err != nil {
			t.Fatal(err)
		}
		if at < last || at <= 0 {
			t.Fatalf("settled at %d after %d", at, last)
		}
		last = at
		if v[0].OK != (i < 5) {
			t.Fatalf("request %d: %+v", i, v[0])
		}
	}
}
