package stint_test

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/storetest"
)

// newPolicy makes a policy of a sentence.
func newPolicy(t testing.TB, name, limit string, a stint.Algorithm) *stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// charge is one of cost 1.
func charge(p *stint.Policy, key string) stint.Charge {
	return stint.Charge{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: 1}}
}

// clock is a time that a test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{storetest.Start.Time()} }

func (c *clock) limiter() *stint.Limiter {
	return &stint.Limiter{Store: storetest.NewReference(), Clock: func() time.Time { return c.now }}
}

// answers is a store that answers with what it holds.
type answers struct {
	take func(charges []stint.Charge, verdicts []stint.Verdict) error
	asks int
}

func (a *answers) Take(_ context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	a.asks++
	return now, a.take(charges, verdicts)
}

// said is a store that gives these verdicts.
func said(v ...stint.Verdict) *answers {
	return &answers{take: func(_ []stint.Charge, verdicts []stint.Verdict) error {
		copy(verdicts, v)
		return nil
	}}
}

func TestAllow(t *testing.T) {
	c := newClock()
	l, p := c.limiter(), newPolicy(t, "p", "3 per 3s", algo.TokenBucket)
	for _, want := range []int64{2, 1, 0} {
		d, err := l.Allow(t.Context(), p, "k")
		if err != nil || !d.Allowed || d.Reason != "" || d.Remaining != want || d.Policy != "p" ||
			d.Limit != p.Limit || d.Capacity != 3 || d.Cost != 1 || d.At != storetest.Start {
			t.Fatalf("%+v, %v; want allowed with %d left", d, err, want)
		}
	}
	d, err := l.Allow(t.Context(), p, "k")
	if err != nil || d.Allowed || d.Reason != stint.ReasonLimit || d.RetryAfter != time.Second || d.ResetAfter != 3*time.Second {
		t.Fatalf("%+v, %v; want refused for a second", d, err)
	}
	c.now = c.now.Add(time.Second)
	if d, err := l.Allow(t.Context(), p, "k"); err != nil || !d.Allowed {
		t.Fatalf("%+v, %v; want allowed after the wait", d, err)
	}
}

func TestPeekRefundForceReset(t *testing.T) {
	l, p := newClock().limiter(), newPolicy(t, "p", "10 per 10s", algo.TokenBucket)
	left := func(want int64) {
		t.Helper()
		if d, err := l.Peek(t.Context(), p, "k"); err != nil || d.Remaining != want || d.Cost != 0 {
			t.Errorf("%+v, %v; want %d left", d, err, want)
		}
	}
	must := func(d stint.Decision, err error) {
		t.Helper()
		if err != nil || !d.Allowed {
			t.Errorf("%+v, %v; want allowed", d, err)
		}
	}
	must(l.AllowN(t.Context(), p, "k", 7))
	left(3)
	must(l.Refund(t.Context(), p, "k", 2))
	left(5)
	must(l.Force(t.Context(), p, "k", 20))
	left(0)
	if d, err := l.Allow(t.Context(), p, "k"); err != nil || d.Allowed || d.RetryAfter != 16*time.Second {
		t.Errorf("%+v, %v; want refused for 16s", d, err)
	}
	if err := l.Reset(t.Context(), p, "k"); err != nil {
		t.Error(err)
	}
	left(10)
}

// TestWrongCallsAreErrors, and the decision with them refuses.
func TestWrongCallsAreErrors(t *testing.T) {
	l, p := newClock().limiter(), newPolicy(t, "p", "10 per 10s", algo.TokenBucket)
	ctx, long := t.Context(), strings.Repeat("k", stint.MaxKey+1)
	many := make([]stint.Charge, stint.MaxCharges+1)
	for i := range many {
		many[i] = charge(p, "k")
	}
	for want, call := range map[string]func() (stint.Decision, error){
		"cost -1 is negative: use Refund":        func() (stint.Decision, error) { return l.AllowN(ctx, p, "k", -1) },
		"a refund of 0 units":                    func() (stint.Decision, error) { return l.Refund(ctx, p, "k", 0) },
		"a forced charge of 0 units":             func() (stint.Decision, error) { return l.Force(ctx, p, "k", 0) },
		"key of 4097 bytes: at most 4096":        func() (stint.Decision, error) { return l.Allow(ctx, p, long) },
		"33 charges for one request: at most 32": func() (stint.Decision, error) { return l.Take(ctx, many...) },
		"set Limiter.Store, for":                 func() (stint.Decision, error) { return new(stint.Limiter).Allow(ctx, p, "k") },
		"the limiter has no store":               func() (stint.Decision, error) { return new(stint.Limiter).Take(ctx, charge(p, "k")) },
	} {
		if d, err := call(); err == nil || !strings.Contains(err.Error(), want) || d.Allowed {
			t.Errorf("allowed %v, error %v; want one that says %q", d.Allowed, err, want)
		}
	}
	if d, _ := l.Peek(ctx, p, "k"); d.Remaining != 10 {
		t.Errorf("wrong calls were charged: %+v", d)
	}
}

// TestStoreErrorRefuses: an error is no decision to let anything through.
func TestStoreErrorRefuses(t *testing.T) {
	down := errors.New("down")
	l := &stint.Limiter{Store: &answers{take: func([]stint.Charge, []stint.Verdict) error { return down }}}
	p := newPolicy(t, "p", "10 per 10s", algo.TokenBucket)
	if d, err := l.Allow(t.Context(), p, "k"); !errors.Is(err, down) || d.Allowed {
		t.Errorf("Allow: %+v, %v", d, err)
	}
	if d, err := l.Take(t.Context(), charge(p, "k"), charge(stint.Unlimited("u"), "k")); !errors.Is(err, down) || d.Allowed || len(d.Results) != 0 {
		t.Errorf("Take: %+v, %v", d, err)
	}
}

// TestDecisionNamesOnePolicy: of those that refuse the one with the longest wait,
// else the one with the smallest share left; the first where they are equal.
func TestDecisionNamesOnePolicy(t *testing.T) {
	ten := newPolicy(t, "ten", "10 per 10s", algo.TokenBucket)
	other := newPolicy(t, "other", "10 per 10s", algo.TokenBucket)
	hundred := newPolicy(t, "hundred", "100 per 10s", algo.TokenBucket)
	blocked := newPolicy(t, "blocked", "0 per 10s", algo.TokenBucket)
	free := stint.Unlimited("free")
	refused := func(wait time.Duration) stint.Verdict { return stint.Verdict{RetryAfter: wait} }
	left := func(n int64) stint.Verdict { return stint.Verdict{OK: true, Remaining: n} }
	for _, test := range []struct {
		name     string
		policies []*stint.Policy
		said     []stint.Verdict
		shadow   int // index of the shadow, from 1
		allowed  bool
		policy   string
		reason   stint.Reason
	}{
		{"the longest wait", []*stint.Policy{ten, hundred, other}, []stint.Verdict{refused(1), refused(3), refused(2)}, 0, false, "hundred", stint.ReasonLimit},
		{"equal waits", []*stint.Policy{ten, hundred}, []stint.Verdict{refused(2), refused(2)}, 0, false, "ten", stint.ReasonLimit},
		{"a refusal before an allowance", []*stint.Policy{ten, hundred}, []stint.Verdict{left(0), refused(1)}, 0, false, "hundred", stint.ReasonLimit},
		{"an allowance after a refusal", []*stint.Policy{hundred, ten}, []stint.Verdict{refused(1), left(0)}, 0, false, "hundred", stint.ReasonLimit},
		{"never is longest", []*stint.Policy{ten, hundred}, []stint.Verdict{refused(stint.Never), refused(5)}, 0, false, "ten", stint.ReasonNever},
		{"a limit of 0", []*stint.Policy{ten, blocked}, []stint.Verdict{refused(5), refused(stint.Never)}, 0, false, "blocked", stint.ReasonBlocked},
		{"the smallest share", []*stint.Policy{ten, hundred}, []stint.Verdict{left(5), left(40)}, 0, true, "hundred", ""},
		{"equal shares", []*stint.Policy{ten, hundred}, []stint.Verdict{left(5), left(50)}, 0, true, "ten", ""},
		{"a shadow refuses nothing", []*stint.Policy{ten, hundred}, []stint.Verdict{refused(5), left(50)}, 1, true, "hundred", ""},
		{"a shadow is never named", []*stint.Policy{hundred, ten}, []stint.Verdict{left(50), left(1)}, 2, true, "hundred", ""},
		{"a shadow with a longer wait", []*stint.Policy{hundred, ten}, []stint.Verdict{refused(1), refused(5)}, 2, false, "hundred", stint.ReasonLimit},
		{"only a shadow", []*stint.Policy{ten}, []stint.Verdict{refused(1)}, 1, true, "", ""},
		{"unlimited is never named", []*stint.Policy{free, ten}, []stint.Verdict{left(3)}, 0, true, "ten", ""},
		{"only unlimited", []*stint.Policy{free}, nil, 0, true, "", ""},
		{"nothing", nil, nil, 0, true, "", ""},
	} {
		l := &stint.Limiter{Store: said(test.said...)}
		var charges []stint.Charge
		for i, p := range test.policies {
			charges = append(charges, charge(p, "k"))
			charges[i].Shadow = i+1 == test.shadow
		}
		d, err := l.Take(t.Context(), charges...)
		if err != nil || d.Allowed != test.allowed || d.Policy != test.policy || d.Reason != test.reason {
			t.Errorf("%s: allowed %v by %q, reason %q, %v; want %v, %q, %q",
				test.name, d.Allowed, d.Policy, d.Reason, err, test.allowed, test.policy, test.reason)
		}
		if len(d.Results) != len(charges) {
			t.Fatalf("%s: %d results for %d charges", test.name, len(d.Results), len(charges))
		}
		for i, r := range d.Results {
			if r.Policy != test.policies[i].Name || r.Shadow != charges[i].Shadow || string(r.Key) != "k" || r.Cost != 1 {
				t.Errorf("%s: result %d is %+v", test.name, i, r)
			}
		}
	}
}

// TestC128UnlimitedAsksNoStore, alone and among others.
func TestC128UnlimitedAsksNoStore(t *testing.T) {
	store := said(stint.Verdict{OK: true, Remaining: 4})
	l, free := &stint.Limiter{Store: store}, stint.Unlimited("internal")
	for range 1000 {
		if d, err := l.Allow(t.Context(), free, "k"); err != nil || !d.Allowed || !d.Unlimited || d.Policy != "internal" {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if d, err := l.Take(t.Context(), charge(free, "a"), charge(free, "b")); err != nil || !d.Allowed {
		t.Fatalf("%+v, %v", d, err)
	}
	if store.asks != 0 {
		t.Errorf("the store was asked %d times", store.asks)
	}
	five := newPolicy(t, "five", "5 per 60s", algo.TokenBucket)
	store.take = func(charges []stint.Charge, verdicts []stint.Verdict) error {
		if len(charges) != 1 || charges[0].Policy != five {
			t.Errorf("the store sees %d charges", len(charges))
		}
		verdicts[0] = stint.Verdict{OK: true, Remaining: 4}
		return nil
	}
	d, err := l.Take(t.Context(), charge(free, "k"), charge(five, "k"), charge(free, "k"))
	if err != nil || !d.Allowed || d.Policy != "five" || d.Results[1].Remaining != 4 || !d.Results[0].Unlimited || !d.Results[2].OK {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestObserve sees every decision, with its key, and no error.
func TestObserve(t *testing.T) {
	l, p := newClock().limiter(), newPolicy(t, "p", "1 per 60s", algo.TokenBucket)
	var seen []string
	l.Observe = func(d *stint.Decision) {
		seen = append(seen, d.Policy+" "+string(d.Key)+" "+map[bool]string{true: "yes", false: "no"}[d.Allowed])
	}
	if d, err := l.Allow(t.Context(), p, "a"); err != nil || d.Key != nil {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := l.Allow(t.Context(), p, "a"); err != nil {
		t.Error(err)
	}
	if _, err := l.Take(t.Context(), charge(p, "b")); err != nil {
		t.Error(err)
	}
	if _, err := l.AllowN(t.Context(), p, "b", -1); err == nil {
		t.Error("no error")
	}
	if got, want := strings.Join(seen, ", "), "p a yes, p a no, p b yes"; got != want {
		t.Errorf("seen %q, want %q", got, want)
	}
}

// TestDecisionIsReused: nothing of the decision before is left.
func TestDecisionIsReused(t *testing.T) {
	l := newClock().limiter()
	one, two := newPolicy(t, "one", "1 per 60s", algo.TokenBucket), newPolicy(t, "two", "9 per 60s", algo.TokenBucket)
	var d stint.Decision
	for range 2 {
		if err := l.Decide(t.Context(), []stint.Charge{charge(two, "k"), charge(one, "k")}, &d); err != nil {
			t.Fatal(err)
		}
	}
	refused := d.Clone()
	if err := l.Decide(t.Context(), []stint.Charge{charge(two, "k")}, &d); err != nil {
		t.Fatal(err)
	}
	if !d.Allowed || d.Reason != "" || len(d.Results) != 1 || d.RetryAfter != 0 || d.Remaining != 7 {
		t.Errorf("%+v", d)
	}
	if refused.Allowed || refused.Policy != "one" || len(refused.Results) != 2 || string(refused.Results[1].Key) != "k" {
		t.Errorf("the clone is %+v", refused)
	}
}

// TestC136EightyRequestsFromEightGoroutines through a limiter.
func TestC136EightyRequestsFromEightGoroutines(t *testing.T) {
	l, p := newClock().limiter(), newPolicy(t, "p", "20 per 60s", algo.TokenBucket)
	passed := make(chan bool, 80)
	for range 8 {
		go func() {
			for range 10 {
				d, err := l.Allow(context.Background(), p, "k")
				passed <- err == nil && d.Allowed
			}
		}()
	}
	n := 0
	for range 80 {
		if <-passed {
			n++
		}
	}
	if n != 20 {
		t.Errorf("%d passed, want exactly 20", n)
	}
}

// raced says whether the race detector is on, under which pools forget.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

func TestNothingIsAllocated(t *testing.T) {
	if raced() {
		t.Skip("the race detector allocates")
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, ctx := &stint.Limiter{Store: store}, context.Background()
	few, many := newPolicy(t, "few", "5 per 3600s", algo.TokenBucket), newPolicy(t, "many", "1000000 per 1s", algo.SlidingWindowCounter)
	charges := []stint.Charge{charge(many, "a"), charge(few, "a"), charge(stint.Unlimited("free"), "a")}
	var d stint.Decision
	for name, call := range map[string]func() error{
		"Allow, allowed": func() error { _, err := l.Allow(ctx, many, "a"); return err },
		"Allow, refused": func() error { _, err := l.Allow(ctx, few, "b"); return err },
		"Peek":           func() error { _, err := l.Peek(ctx, few, "b"); return err },
		"Refund":         func() error { _, err := l.Refund(ctx, few, "b", 1); return err },
		"Decide":         func() error { return l.Decide(ctx, charges, &d) },
	} {
		if n := testing.AllocsPerRun(1000, func() {
			if err := call(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}
