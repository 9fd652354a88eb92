package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// buckets is what a single bucket does whatever counts in it, and what tells one
// from another.
var buckets = []behaviour{
	{"C084 keys and names do not run together", keysApart},
	{"any bytes are a key", anyBytes},
	{"too long a key is an error", longKey},
	{"the caller may use its key again", keyIsCopied},
	{"a look writes nothing", lookWritesNothing},
	{"C026 giving back stops at full", givingBack},
	{"a reset forgets all use", reset},
	{"forced charges leave debt", debt},
	{"C003 a cost above the capacity is never", tooDear},
	{"C035 a limit of 0 refuses everything", nothingAllowed},
	{"C016 what has left is not counted", leftIsNotCounted},
	{"C017 one instant, a hundred requests", oneInstant},
	{"numbers of any size", anySize},
}

func keysApart(t *testing.T, b *bench) {
	names := []struct{ name, key string }{
		{"r", "x:y"},
		{"r:x", "y"},
		{"r", "aab"},
		{"r", "aa\x00b"},
		{"r", "a\x00ab"},
		{"r", "a"},
		{"ra", ""},
		{"r", ""},
		{"r\x00", "a"},
		{"r", "\x00a"},
		{"r", "a\x00"},
		{"r|a", "b"},
		{"r", "a|b"},
		{"r", "|a|b"},
		{"r", "{a}b"},
		{"r", "a{b}"},
		{"r", "{}"},
		{"r", "}a{"},
	}
	for _, n := range names {
		p := policy(t, n.name, "5 per 60s", algo.TokenBucket)
		if v := b.allows(one(p, n.key)); v[0].Remaining != 4 {
			t.Errorf("policy %q, key %q: %d remain, want 4", n.name, n.key, v[0].Remaining)
		}
	}
}

func anyBytes(t *testing.T, b *bench) {
	var all strings.Builder
	for c := range 256 {
		all.WriteByte(byte(c))
	}
	long := strings.Repeat("a", stint.MaxKey-1)
	for _, a := range algo.All {
		p := policy(t, a.Name(), "5 per 60s", a)
		for _, key := range []string{"", "\x00", "\x00\x00", "\xff\xfe", all.String(), "ключ\r\n", long, long + "a", long + "b"} {
			if v := b.allows(one(p, key)); v[0].Remaining != 4 {
				t.Errorf("%s: key %.20q: %d remain, want 4", a.Name(), key, v[0].Remaining)
			}
			b.left(p, key, 4)
		}
	}
}

func longKey(t *testing.T, b *bench) {
	p := policy(t, "p", "5 per 60s", algo.TokenBucket)
	var v [2]stint.Verdict
	for _, request := range [][]stint.Charge{
		{one(p, strings.Repeat("a", stint.MaxKey+1))},
		{one(p, "k"), one(p, strings.Repeat("a", stint.MaxKey+1))},
	} {
		if _, err := b.store.Take(context.Background(), b.now, request, v[:len(request)]); err == nil {
			t.Error("no error")
		}
	}
	b.left(p, "k", 5)
}

func keyIsCopied(t *testing.T, b *bench) {
	p := policy(t, "p", "5 per 60s", algo.TokenBucket)
	c := one(p, "first")
	b.allows(c)
	copy(c.Key, "other")
	b.left(p, "first", 4)
	b.left(p, "other", 5)
}

func lookWritesNothing(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "2 per 60s", a)
		b.now = Start
		for range 100 {
			b.left(p, "k", 2)
		}
		b.allows(one(p, "k"))
		seen := b.take(of(p, "k", 0))[0]
		for range 100 {
			if v := b.take(of(p, "k", 0))[0]; v != seen || !v.OK {
				t.Fatalf("%s: looked %+v, then %+v", a.Name(), seen, v)
			}
		}
		b.allows(one(p, "k"))
		refused := b.take(of(p, "k", 0))[0]
		if asked := b.refuses(0, one(p, "k"))[0]; asked != refused {
			t.Errorf("%s: a look sees %+v, a request gets %+v", a.Name(), refused, asked)
		}
	}
}

func givingBack(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "10 per 60s", a)
		if v := b.allows(of(p, "new", -5)); v[0].Remaining != 10 {
			t.Errorf("%s: %d remain in a new bucket, want 10", a.Name(), v[0].Remaining)
		}
		b.allows(of(p, "k", 10))
		b.refuses(0, one(p, "k"))
		if v := b.allows(of(p, "k", -1)); v[0].Remaining != 1 {
			t.Errorf("%s: %d remain, want 1", a.Name(), v[0].Remaining)
		}
		b.allows(one(p, "k"))
		if v := b.allows(of(p, "k", -50)); v[0].Remaining != 10 {
			t.Errorf("%s: %d remain, want 10", a.Name(), v[0].Remaining)
		}
		if n := b.passes(20, one(p, "k")); n != 10 {
			t.Errorf("%s: %d of 20 passed, want 10", a.Name(), n)
		}
	}
}

func reset(t *testing.T, b *bench) {
	l := stint.Limiter{Store: b.store, Clock: func() time.Time { return b.now.Time() }}
	for _, a := range algo.All {
		p := policy(t, a.Name(), "3 per 60s", a)
		b.allows(forced(of(p, "k", 100)))
		b.allows(one(p, "other"))
		if err := l.Reset(context.Background(), p, "k"); err != nil {
			t.Fatal(err)
		}
		b.left(p, "k", 3)
		b.left(p, "other", 2)
	}
}

func debt(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "10 per 10s", a)
		b.now = Start
		b.allows(forced(of(p, "k", 15)))
		v := b.refuses(0, one(p, "k"))[0]
		if v.Remaining != 0 || v.RetryAfter <= 0 || v.RetryAfter == stint.Never {
			t.Errorf("%s: in debt: %+v", a.Name(), v)
		}
		b.after(v.RetryAfter)
		b.allows(one(p, "k"))
	}
}

func tooDear(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "10 per 10s", a)
		for _, cost := range []int64{11, 1 << 40, stint.MaxUnits, 1<<63 - 1} {
			if v := b.refuses(0, of(p, "k", cost))[0]; v.RetryAfter != stint.Never || v.Remaining != 10 {
				t.Errorf("%s: cost %d: %+v, want never, with 10 left", a.Name(), cost, v)
			}
		}
		b.allows(of(p, "k", 10))
		w := b.refuses(0, of(p, "k", 10))[0].RetryAfter
		b.after(w - time.Microsecond)
		b.refuses(0, of(p, "k", 10))
		b.after(time.Microsecond)
		b.allows(of(p, "k", 10))
	}
}

func nothingAllowed(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "0 per 60s", a)
		for range 10 {
			if v := b.refuses(0, one(p, "k"))[0]; v != (stint.Verdict{RetryAfter: stint.Never}) {
				t.Errorf("%s: %+v", a.Name(), v)
			}
			b.after(time.Hour)
		}
	}
}

func leftIsNotCounted(t *testing.T, b *bench) {
	p := policy(t, "p", "5 per 10s", algo.SlidingWindowLog)
	if n := b.passes(5, one(p, "k")); n != 5 {
		t.Fatalf("%d of 5 passed", n)
	}
	b.after(10500 * time.Millisecond)
	if v := b.allows(one(p, "k")); v[0].Remaining != 4 {
		t.Errorf("%d remain, want 4", v[0].Remaining)
	}
}

func oneInstant(t *testing.T, b *bench) {
	p := policy(t, "p", "10 per 60s", algo.SlidingWindowLog)
	if n := b.passes(100, one(p, "k")); n != 10 {
		t.Errorf("%d of 100 passed, want 10", n)
	}
}

func anySize(t *testing.T, b *bench) {
	for _, a := range algo.All {
		p := policy(t, a.Name(), "10 per 10s", a)
		for _, cost := range []int64{-1 << 63, 1<<63 - 1, stint.MaxUnits, -stint.MaxUnits, 1 << 52, 1<<53 + 1} {
			for _, c := range []stint.Charge{of(p, "k", cost), forced(of(p, "k", cost))} {
				if v := b.take(c)[0]; v.Remaining < 0 || v.Remaining > 10 || v.RetryAfter < 0 || v.ResetAfter < 0 || v.NextAfter < 0 {
					t.Errorf("%s: cost %d: %+v", a.Name(), cost, v)
				}
			}
		}
		b.allows(of(p, "k", -1<<63))
		b.left(p, "k", 10)
	}
}
