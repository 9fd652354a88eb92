package rules_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// fiveRules are rules of which signedIn matches three, one by a secret key and one
// by two parts.
func fiveRules() rules.Spec {
	spec := full()
	spec.Rules = append(spec.Rules,
		rules.Rule{ID: "orders", Match: rules.Match{Path: []string{"/v1/orders/**"}, Method: []string{"GET"}}, Key: []string{"ip", "path"}, Limits: per(1<<40, time.Second)},
		rules.Rule{ID: "search", Match: rules.Match{Path: []string{"/v1/search"}}, Key: []string{"ip"}, Limits: per(600, minute)},
	)
	spec.Rules[0].Plans = map[string]stint.Limit{"free": {Count: 1 << 40, Window: time.Second}, "paid": {Count: 1 << 40, Window: time.Second}}
	spec.Rules[2].Limits = per(1<<40, time.Second)
	return spec
}

func signedIn() *request {
	return get("/v1/orders/17", "192.0.2.1").with("X-Api-Key", "k_acme")
}

func decider(t testing.TB, spec rules.Spec) *rules.Decider {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules.NewDecider(&stint.Limiter{Store: store}, compile(t, spec))
}

func TestDecideAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ctx, d := context.Background(), decider(t, fiveRules())
	long := fiveRules()
	long.Keys[0].Secret = false
	for name, c := range map[string]struct {
		d *rules.Decider
		r *request
	}{
		"allowed":     {d, signedIn()},
		"refused":     {decider(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Limits: per(0, minute)}}}), signedIn()},
		"missing key": {decider(t, missingKey()), signedIn()},
		"long values": {decider(t, long), signedIn().with("X-Api-Key", strings.Repeat("k", 30_000))},
		"no rule":     {decider(t, rules.Spec{}), signedIn()},
		"many rules":  {decider(t, manyServices()), signedIn()},
	} {
		var into stint.Decision
		if n := testing.AllocsPerRun(200, func() {
			if err := c.d.Decide(ctx, c.r, &into); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// manyServices are the rules of a service behind those of others.
func manyServices() rules.Spec {
	spec := fiveRules()
	var others []rules.Rule
	for i := range 100 {
		others = append(others, rules.Rule{
			ID: fmt.Sprint("r", i), Match: rules.Match{Path: []string{fmt.Sprintf("/s%d/**", i)}}, Key: []string{"ip"}, Limits: per(5, minute),
		})
	}
	spec.Rules = append(others, spec.Rules...)
	return spec
}

func missingKey() rules.Spec {
	spec := full()
	spec.Rules = []rules.Rule{
		{ID: "all", Key: []string{"ip"}, Limits: per(5, minute)},
		{ID: "strict", Key: []string{"phone"}, Missing: rules.MissingDeny, Limits: per(5, minute)},
	}
	return spec
}

// A refusal without the store is seen by the observer, at the limiter's time, and
// charges nothing.
func TestRefusedWithoutTheStore(t *testing.T) {
	s := serve(t, missingKey())
	var seen []stint.Reason
	limiter := &stint.Limiter{Store: s, Clock: func() time.Time { return s.now }, Observe: func(d *stint.Decision) {
		seen = append(seen, d.Reason)
	}}
	s.Decider = rules.NewDecider(limiter, s.Set())
	d := s.ask(signedIn())
	if d.Allowed || d.Policy != "strict" || d.RetryAfter != stint.Never || d.At != start || s.calls != 0 {
		t.Errorf("decision %+v after %d calls", d, s.calls)
	}
	if len(seen) != 1 || seen[0] != stint.ReasonMissingKey {
		t.Errorf("observed %q", seen)
	}
}

// The keys of a decision stay as they are while others are decided.
func TestKeysStayWithTheDecision(t *testing.T) {
	d := decider(t, fiveRules())
	ctx := context.Background()
	var one, two stint.Decision
	if err := d.Decide(ctx, signedIn(), &one); err != nil {
		t.Fatal(err)
	}
	want := keysOf(&one)
	for range 50 {
		if err := d.Decide(ctx, get("/v1/orders/other", "203.0.113.9").with("X-Api-Key", "k_globex"), &two); err != nil {
			t.Fatal(err)
		}
	}
	if got := keysOf(&one); got != want || !strings.Contains(got, "192.0.2.1 + /v1/orders/17") || got == keysOf(&two) {
		t.Errorf("keys were %s and are %s", want, got)
	}
	if string(one.Key) != string(one.Results[0].Key) && string(one.Key) != string(one.Results[1].Key) && string(one.Key) != string(one.Results[2].Key) {
		t.Errorf("the deciding key is %x", one.Key)
	}
}

func keysOf(d *stint.Decision) string {
	var all []string
	for _, r := range d.Results {
		all = append(all, r.Policy+"="+rules.KeyText(r.Key))
	}
	return strings.Join(all, "; ")
}

func TestSwapWhileRequestsGoOn(t *testing.T) {
	one, two := fiveRules(), full()
	two.Keys = two.Keys[:1]
	d := decider(t, one)
	sets := []*rules.Set{compile(t, one), compile(t, two), nil}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var into stint.Decision
			for range 300 {
				if err := d.Decide(context.Background(), signedIn(), &into); err != nil {
					t.Error(err)
				}
				for _, r := range into.Results {
					if r.Policy == "per-key" && !strings.HasPrefix(rules.KeyText(r.Key), "hash:") {
						t.Errorf("key %s", rules.KeyText(r.Key))
					}
				}
			}
		})
	}
	for i := range 300 {
		d.Swap(sets[i%len(sets)])
	}
	wg.Wait()
	if d.Swap(nil); d.Set() == nil {
		t.Error("no set after Swap(nil)")
	}
}

// The counts of a rule go on when the rules are replaced.
func TestSwapKeepsCounts(t *testing.T) {
	s := serve(t, full())
	s.want(strings.Repeat("A", 60), signedIn())
	other := full()
	other.Rules = append([]rules.Rule{{ID: "new", Key: []string{"ip"}, Limits: per(1000, minute)}}, other.Rules...)
	s.Swap(compile(t, other))
	s.want(strings.Repeat("A", 40)+"D", signedIn())
}

// cheap is a request whose fields cost next to nothing to read.
type cheap struct {
	stint.Source
	path, apiKey string
	addr         netip.Addr
}

func newCheap(r *request) *cheap {
	return &cheap{path: r.path, apiKey: r.header["X-Api-Key"], addr: r.Addr()}
}

func (c *cheap) Addr() netip.Addr { return c.addr }

func (c *cheap) Value(f stint.Field) (string, bool) {
	switch f.Kind {
	case stint.FieldMethod:
		return "GET", true
	case stint.FieldPath:
		return c.path, true
	case stint.FieldHeader:
		return c.apiKey, true
	}
	return "", false
}

func BenchmarkDecide(b *testing.B) {
	d := decider(b, fiveRules())
	ctx, src := context.Background(), newCheap(signedIn())
	var into stint.Decision
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decide(ctx, src, &into); err != nil || !into.Allowed || len(into.Results) != 3 {
			b.Fatal(err, into.Allowed, len(into.Results))
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	set := compile(b, fiveRules())
	src := newCheap(signedIn())
	b.ReportAllocs()
	for b.Loop() {
		set.Evaluate(src).Release()
	}
}

// TestDecideNWeighs: a request that weighs n charges each rule n times, or looks.
func TestDecideNWeighs(t *testing.T) {
	s := serve(t, rules.Spec{Rules: []rules.Rule{
		{ID: "a", Key: []string{"ip"}, Limits: per(10, minute), Cost: 2},
		{ID: "b", Key: []string{"global"}, Limits: per(100, minute)},
	}})
	for _, c := range []struct {
		n       int64
		allowed bool
		a, b    int64 // left
	}{
		{3, true, 4, 97},
		{0, true, 4, 97},
		{3, false, 4, 97},
		{2, true, 0, 95},
		{0, false, 0, 95},
		{1 << 62, false, 0, 95},
	} {
		err := s.DecideN(context.Background(), get("/", "192.0.2.1"), c.n, &s.d)
		if err != nil || s.d.Allowed != c.allowed || s.d.Results[0].Remaining != c.a || s.d.Results[1].Remaining != c.b {
			t.Errorf("weight %d: %+v, %v, want %+v", c.n, s.d, err, c)
		}
	}
	if s.d.Reason != stint.ReasonNever {
		t.Errorf("a weight beyond all: %s", s.d.Reason)
	}
	if err := s.DecideN(context.Background(), get("/", "192.0.2.1"), -1, &s.d); err == nil || s.d.Allowed {
		t.Errorf("a negative weight: %+v, %v", s.d, err)
	}
}
