package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/rules"
)

const (
	minute = time.Minute
	day    = 24 * time.Hour
)

func TestC084KeyPartsNeverCollide(t *testing.T) {
	s := serve(t, rules.Spec{
		Keys: []rules.Key{{Name: "a", Header: "A"}, {Name: "b", Header: "B"}},
		Rules: []rules.Rule{
			{ID: "pair", Key: []string{"a", "b"}, Limits: per(5, minute)},
		},
	})
	for _, pair := range [][2]string{
		{"aa", "b"},
		{"a", "ab"},
		{"a:b", "c"},
		{"a", "b:c"},
		{"a|b", "x"},
		{"a", "b|x"},
		{"a\x00b", "c"},
		{"a", "b\x00c"},
		{"a\x01\x01b", "c"},
		{"a", "\x01\x01bc"},
	} {
		s.ask(get("/", "192.0.2.1").with("A", pair[0]).with("B", pair[1]))
		if got := s.result("pair").Remaining; got != 4 {
			t.Errorf("first request of %q: remaining %d, want 4", pair, got)
		}
	}
	// An empty part is a missing one: these two share the bucket of their address.
	s.ask(get("/", "192.0.2.9").with("A", "a|b").with("B", ""))
	s.ask(get("/", "192.0.2.9").with("A", "").with("B", "b|"))
	if got := s.result("pair").Remaining; got != 3 {
		t.Errorf("second request without a part: remaining %d, want 3", got)
	}
}

func TestC084RuleNamesAndKeysNeverCollide(t *testing.T) {
	if faults := faultsOf(t, rules.Spec{Rules: []rules.Rule{{ID: "r:x", Key: []string{"ip"}, Limits: per(5, minute)}}}); len(faults) != 1 {
		t.Errorf("id r:x: faults %q, want 1", faults)
	}
	s := serve(t, rules.Spec{
		Keys: []rules.Key{{Name: "k", Header: "K"}},
		Rules: []rules.Rule{
			{ID: "r", Match: rules.Match{Path: []string{"/r"}}, Key: []string{"k"}, Limits: per(5, minute)},
			{ID: "r.x", Match: rules.Match{Path: []string{"/rx"}}, Key: []string{"k"}, Limits: per(5, minute)},
		},
	})
	s.ask(get("/r", "").with("K", ".xy"))
	s.ask(get("/rx", "").with("K", "y"))
	if got := s.result("r.x").Remaining; got != 4 {
		t.Errorf("remaining %d, want 4", got)
	}
}

func TestC086WithoutTheKey(t *testing.T) {
	spec := func(m rules.Missing) rules.Spec {
		return rules.Spec{
			Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key"}},
			Rules: []rules.Rule{{ID: "per-key", Key: []string{"api_key"}, Missing: m, Limits: per(5, minute)}},
		}
	}
	for _, empty := range []bool{false, true} {
		one, two := get("/", "192.0.2.1"), get("/", "192.0.2.2")
		if empty {
			one, two = one.with("X-Api-Key", ""), two.with("X-Api-Key", "")
		}
		for _, m := range []rules.Missing{"", rules.MissingIP} {
			s := serve(t, spec(m))
			s.want("AAAAAD", one)
			s.want("A", two)
			if got := s.result("per-key").Remaining; got != 4 {
				t.Errorf("missing %q, empty %v: another address has %d left, want 4", m, empty, got)
			}
		}
		s := serve(t, spec(rules.MissingSkip))
		s.want("AAAAAA", one)
		s.want("A", two)

		s = serve(t, spec(rules.MissingDeny))
		s.want("DDDDDD", one)
		if s.d.Reason != stint.ReasonMissingKey || s.d.Policy != "per-key" || s.calls != 0 {
			t.Errorf("deny: reason %q by %q after %d calls of the store", s.d.Reason, s.d.Policy, s.calls)
		}

		s = serve(t, spec(rules.MissingShare))
		s.want("AAAAAD", one)
		s.want("D", two)
	}
	says(t, compile(t, spec("")).Sentences(), "without api_key the address counts instead")
}

func TestC086AnAddressIsNoKey(t *testing.T) {
	s := serve(t, rules.Spec{
		Keys:  []rules.Key{{Name: "k", Header: "K"}},
		Rules: []rules.Rule{{ID: "r", Key: []string{"k"}, Limits: per(1, minute)}},
	})
	s.want("AD", get("/", "192.0.2.1"))
	for _, forged := range []string{"192.0.2.1", "\xc0\x00\x02\x01", "\x20\xc0\x00\x02\x01"} {
		s.want("A", get("/", "192.0.2.9").with("K", forged))
	}
}

func TestC086ValuesThatNoPlanKnowsAreAbsent(t *testing.T) {
	s := serve(t, rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{"k_acme": "free"}},
		Rules: []rules.Rule{
			{
				ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"},
				Plans: map[string]stint.Limit{"free": {Count: 5, Window: minute}},
			},
			{ID: "signed-out", Match: rules.Match{Lacks: []string{"api_key"}}, Key: []string{"ip"}, Limits: per(2, minute)},
		},
	})
	for i, want := range []string{"A", "A", "D", "D"} {
		s.want(want, get("/", "192.0.2.1").with("X-Api-Key", fmt.Sprint("made-up-", i)))
	}
	s.want("AAAAAD", get("/", "192.0.2.1").with("X-Api-Key", "k_acme"))
}

func TestC087OnlyThePresentRequestFormsTheKey(t *testing.T) {
	s := serve(t, rules.Spec{
		Keys: []rules.Key{{Name: "owner", Header: "x-owner"}},
		Rules: []rules.Rule{{
			ID: "owner", Match: rules.Match{Method: []string{"post"}}, Key: []string{"owner"},
			Missing: rules.MissingSkip, Limits: per(1, minute),
		}},
	})
	post := &request{method: "POST", path: "/", from: "192.0.2.1"}
	s.want("AD", post.with("X-Owner", "alice"))
	s.want("A", post.with("X-Owner", "bob"))
	if got := s.result("owner").Remaining; got != 0 {
		t.Errorf("bob has %d left, want 0", got)
	}
	s.want("AA", get("/", "192.0.2.1").with("X-Owner", "alice"))
	s.want("AA", post)
}

func TestC088APatternIsOneCounter(t *testing.T) {
	for _, users := range []string{"/users/{id}", "/users/*"} {
		s := serve(t, rules.Spec{Rules: []rules.Rule{
			{ID: "users", Match: rules.Match{Path: []string{users}}, Key: []string{"ip"}, Limits: per(2, minute)},
			{ID: "items", Match: rules.Match{Path: []string{"/items/{id}"}}, Key: []string{"ip"}, Limits: per(2, minute)},
			{ID: "docs", Match: rules.Match{Path: []string{"/docs/*"}}, Key: []string{"ip", "path"}, Limits: per(2, minute)},
		}})
		const me = "192.0.2.1"
		s.want("A", get("/users/1", me))
		s.want("A", get("/users/2", me))
		s.want("D", get("/users/3", me))
		s.want("A", get("/items/1", me))
		if got := s.result("items").Remaining; got != 1 {
			t.Errorf("items: %d left, want 1", got)
		}
		s.want("AA", get("/docs/a", me))
		s.want("A", get("/docs/b", me))
		// No other spelling of a path is another bucket.
		s.want("D", get("/docs/a/", me))
		s.want("D", get("//docs/./%61", me))
	}
}

func TestC092LongValuesAreHashedNotCut(t *testing.T) {
	s := serve(t, rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key"}},
		Rules: []rules.Rule{{ID: "per-key", Key: []string{"api_key"}, Limits: per(5, minute)}},
	})
	long := strings.Repeat("a", 60_000)
	for _, v := range []string{long, long[1:] + "b", long[1:], "\xff\xfe é", "a\r\nb", strings.Repeat("a", 64), strings.Repeat("a", 65)} {
		s.ask(get("/", "192.0.2.1").with("X-Api-Key", v))
		r := s.result("per-key")
		if r.Remaining != 4 {
			t.Errorf("value of %d bytes: remaining %d, want 4", len(v), r.Remaining)
		}
		if len(r.Key) > 66 {
			t.Errorf("value of %d bytes: key of %d bytes", len(v), len(r.Key))
		}
		if text := rules.KeyText(r.Key); strings.ContainsAny(text, "\r\n") || len(text) > 128 {
			t.Errorf("value of %d bytes: key text %q", len(v), text)
		}
	}
	s.want("D", get("/", "192.0.2.1").with("X-Api-Key", strings.Repeat("a", rules.MaxValue+1)))
	if s.d.Reason != stint.ReasonTooLarge || s.d.Policy != "per-key" {
		t.Errorf("too long a value: reason %q by %q", s.d.Reason, s.d.Policy)
	}
}

func TestC108EachRuleChargesOnce(t *testing.T) {
	s := serve(t, rules.Spec{Rules: []rules.Rule{
		{ID: "global", Key: []string{"global"}, Limits: per(600, minute)},
		{ID: "root", Match: rules.Match{Path: []string{"/"}}, Key: []string{"global"}, Limits: per(300, minute)},
	}})
	s.want(strings.Repeat("A", 300), get("/", "192.0.2.1"))
	if g, r := s.result("global").Remaining, s.result("root").Remaining; g != 300 || r != 0 {
		t.Errorf("global %d and root %d left, want 300 and 0", g, r)
	}
}

func TestC109TwoLimitsOfARuleCountApart(t *testing.T) {
	s := serve(t, rules.Spec{Rules: []rules.Rule{{
		ID: "login", Key: []string{"ip"}, Algorithm: "fixed_window",
		Limits: []stint.Limit{{Count: 5, Window: minute}, {Count: 50, Window: day}},
	}}})
	r := get("/", "192.0.2.1")
	s.want("AAAAAD", r)
	if s.d.Policy != "login/minute" || s.d.RetryAfter != minute {
		t.Errorf("refused by %s for %v, want login/minute for 1m", s.d.Policy, s.d.RetryAfter)
	}
	for m := 1; m <= 9; m++ {
		s.at(time.Duration(m) * minute)
		s.want("AAAAA", r)
	}
	s.at(10 * minute)
	s.want("D", r)
	if s.d.Policy != "login/day" || s.d.RetryAfter != 85_800*time.Second {
		t.Errorf("refused by %s for %v, want login/day for 23h50m", s.d.Policy, s.d.RetryAfter)
	}
	if got := s.result("login/minute").Remaining; got != 5 {
		t.Errorf("the minute has %d left, want 5", got)
	}
}

func TestC109TwoLimitsOfOneWindow(t *testing.T) {
	five, three := stint.Limit{Count: 5, Window: minute}, stint.Limit{Count: 3, Window: minute}
	for _, limits := range [][]stint.Limit{{five, three}, {three, five}} {
		s := serve(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Algorithm: "fixed_window", Limits: limits}}})
		s.want("AAAD", get("/", "192.0.2.1"))
		if got := s.result("r/minute").Limit; got != three {
			t.Errorf("r/minute is %v, want the smaller one whatever the order", got)
		}
		if got := s.result("r/minute#2").Remaining; got != 2 {
			t.Errorf("r/minute#2 has %d left, want 2", got)
		}
	}
}

func TestC112FirstMatchAndAllMatch(t *testing.T) {
	values := rules.Rule{ID: "values", Match: rules.Match{Path: []string{"/values"}}, Key: []string{"ip"}, Limits: per(10, time.Second)}
	all := rules.Rule{ID: "all", Match: rules.Match{Path: []string{"/**"}}, Key: []string{"ip"}, Limits: per(5, time.Second)}
	v, o := get("/values", "192.0.2.1"), get("/other", "192.0.2.1")

	s := serve(t, rules.Spec{Rules: []rules.Rule{values, all}})
	s.want("AAAAADDDDDD", v)

	values.Stop, all.Stop = true, true
	s = serve(t, rules.Spec{Rules: []rules.Rule{values, all}})
	s.want("AAAAAAAAAAD", v)
	s.want("AAAAAD", o)

	swapped := rules.Spec{Rules: []rules.Rule{all, values}}
	s = serve(t, swapped)
	s.want("AAAAADDDDDD", v)
	says(t, warningsOf(t, swapped), "rules[1]", `"values" can never match (shadowed)`, `"all"`)
}

func TestC113ARefusedRequestChargesNoLimit(t *testing.T) {
	for _, key := range []string{"global", "ip"} {
		s := serve(t, rules.Spec{Rules: []rules.Rule{
			{ID: "group", Match: rules.Match{Path: []string{"/bar/**"}}, Key: []string{key}, Limits: per(10, minute)},
			{ID: "special", Match: rules.Match{Path: []string{"/bar/special"}}, Key: []string{key}, Limits: per(3, minute)},
		}})
		s.want("AAADD", get("/bar/special", "192.0.2.1"))
		s.want("AAAAAAAD", get("/bar/other", "192.0.2.1"))
	}
}

func TestC128Unlimited(t *testing.T) {
	spec := rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key"}},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{"k": "internal"}},
		Rules: []rules.Rule{{ID: "internal", Match: rules.Match{Plan: []string{"internal"}}, Unlimited: true}},
	}
	s := serve(t, spec)
	r := get("/", "192.0.2.1").with("X-Api-Key", "k")
	counted := 0
	for range 1000 {
		if !s.ask(r).Allowed || s.d.Policy != "" {
			t.Fatalf("refused, or decided by %q", s.d.Policy)
		}
		if got := s.result("internal"); got.Unlimited && got.OK {
			counted++
		}
	}
	if counted != 1000 || s.calls != 0 {
		t.Errorf("counted %d with %d calls of the store, want 1000 with none", counted, s.calls)
	}
	spec.Rules[0].Limits = per(5, minute)
	says(t, faultsOf(t, spec), "rules[0].unlimited", "internal", "leave one of them out")
}

func TestC027ARateBelowOneASecond(t *testing.T) {
	for _, c := range []struct {
		burst int64
		want  string
	}{{1, "ADADA"}, {0, "AAAAA"}} {
		s := serve(t, rules.Spec{Rules: []rules.Rule{{
			ID: "slow", Key: []string{"ip"}, Limits: []stint.Limit{{Count: 6, Window: minute, Burst: c.burst}},
		}}})
		got := ""
		for _, at := range []time.Duration{0, 5 * time.Second, 10 * time.Second, 19900 * time.Millisecond, 20 * time.Second} {
			s.at(at)
			got += s.answers(1, get("/", "192.0.2.1"))
		}
		if got != c.want {
			t.Errorf("burst %d: %s, want %s", c.burst, got, c.want)
		}
	}
}

func TestC025TheSentenceStatesTheBound(t *testing.T) {
	limit := per(17, 30*time.Second)
	sentences := compile(t, rules.Spec{Rules: []rules.Rule{
		{ID: "bucket", Key: []string{"ip"}, Limits: limit},
		{ID: "gcra", Key: []string{"ip"}, Algorithm: "gcra", Limits: limit},
		{ID: "log", Key: []string{"ip"}, Algorithm: "sliding_window_log", Limits: limit},
	}}).Sentences()
	says(t, sentences, "bucket: ", "at most 17 at once", "at most 34 in any 30s")
	says(t, sentences, "gcra: ", "at most 34 in any 30s")
	says(t, sentences, "log: ", "never more than 17 in any 30s")
	for algorithm, want := range map[string]string{
		"token_bucket": "AAAAAAAAAAAAAAAAAAAAAAA" + "D", "gcra": "AAAAAAAAAAAAAAAAAAAAAAA" + "D",
		"sliding_window_log": strings.Repeat("A", 17) + strings.Repeat("D", 43),
	} {
		s := serve(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Algorithm: algorithm, Limits: limit}}})
		got := ""
		for i := range 60 {
			s.at(time.Duration(i/2)*time.Second + time.Duration(i%2)*250*time.Millisecond)
			got += s.answers(1, get("/", "192.0.2.1"))
		}
		admitted := map[string]int{"token_bucket": 33, "gcra": 33, "sliding_window_log": 17}[algorithm]
		if !strings.HasPrefix(got, want) || strings.Count(got, "A") != admitted {
			t.Errorf("%s: %s", algorithm, got)
		}
	}
}

func TestC142TheSentenceSaysWhatTheNumbersDo(t *testing.T) {
	for _, c := range []struct {
		limit                stint.Limit
		most, every, ofAPart string
	}{
		{stint.Limit{Count: 6, Window: minute}, "at most 6 at once", "one every 10s", "at most 12 in any minute"},
		{stint.Limit{Count: 6, Window: minute, Burst: 1}, "at most 1 at once", "one every 10s", "at most 7 in any minute"},
		{stint.Limit{Count: 100, Window: time.Second, Burst: 50}, "at most 50 at once", "one every 10ms", "at most 150 in any second"},
		{stint.Limit{Count: 2, Window: 10 * minute, Burst: 1}, "at most 1 at once", "one every 5m", "at most 3 in any 10m"},
	} {
		set := compile(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Limits: []stint.Limit{c.limit}}}})
		says(t, set.Sentences(), c.most, c.every, c.ofAPart)
	}
	s := serve(t, rules.Spec{Rules: []rules.Rule{{
		ID: "r", Key: []string{"ip"}, Limits: []stint.Limit{{Count: 6, Window: minute, Burst: 1}},
	}}})
	s.want("ADDDDDDDDD", get("/", "192.0.2.1"))
	for i := 1; i <= 60; i++ {
		s.at(time.Duration(i) * time.Second)
		want := "D"
		if i%10 == 0 {
			want = "A"
		}
		s.want(want, get("/", "192.0.2.1"))
	}
}

func TestC144TheOrderOfLimitsMakesNoDifference(t *testing.T) {
	l1, l2 := stint.Limit{Count: 10, Window: 10 * time.Second}, stint.Limit{Count: 15, Window: minute}
	for _, limits := range [][]stint.Limit{{l1, l2}, {l2, l1}} {
		s := serve(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Algorithm: "sliding_window_log", Limits: limits}}})
		for i := range 60 {
			s.at(time.Duration(i) * 500 * time.Millisecond)
			want, by := "A", ""
			switch {
			case i >= 25:
				want, by = "D", "r/minute"
			case i >= 10 && i < 20:
				want, by = "D", "r/10s"
			}
			s.want(want, get("/", "192.0.2.1"))
			if by != "" && s.d.Policy != by {
				t.Errorf("%v: refused by %s, want %s", limits, s.d.Policy, by)
			}
		}
	}
}

func TestC146RefusedRequestsDoNotCount(t *testing.T) {
	s := serve(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Algorithm: "sliding_window_log", Limits: per(10, minute)}}})
	r := get("/", "192.0.2.1")
	s.want("AAAAAAAAAADD", r)
	for i := 1; i <= 70; i++ {
		s.at(time.Duration(i) * time.Second)
		want := "D"
		if i >= 60 && i < 70 {
			want = "A"
		}
		s.want(want, r)
	}
}

func TestC057EqualNumbersCountApart(t *testing.T) {
	s := serve(t, rules.Spec{Rules: []rules.Rule{
		{ID: "x", Match: rules.Match{Path: []string{"/get"}}, Key: []string{"ip"}, Limits: per(3, minute)},
		{ID: "y", Match: rules.Match{Path: []string{"/any"}}, Key: []string{"ip"}, Limits: per(3, minute)},
	}})
	s.want("A", get("/get", "192.0.2.1"))
	s.want("A", get("/any", "192.0.2.1"))
	if x := s.result("y").Remaining; x != 2 {
		t.Errorf("y has %d left, want 2", x)
	}
	s.want("AAD", get("/get", "192.0.2.1"))
	s.want("AAD", get("/any", "192.0.2.1"))
}

func TestC056TheScopeIsTheRules(t *testing.T) {
	rule := rules.Rule{ID: "r", Match: rules.Match{Path: []string{"/a", "/b"}}, Key: []string{"ip"}, Limits: per(5, minute)}
	s := serve(t, rules.Spec{Rules: []rules.Rule{rule}})
	s.want("AAA", get("/a", "192.0.2.1"))
	s.want("AAD", get("/b", "192.0.2.1"))
	rule.Key = []string{"ip", "path"}
	s = serve(t, rules.Spec{Rules: []rules.Rule{rule}})
	s.want("AAA", get("/a", "192.0.2.1"))
	s.want("AAA", get("/b", "192.0.2.1"))
}

func TestC035LimitZeroRefusesEverything(t *testing.T) {
	for _, a := range algo.All {
		spec := rules.Spec{Rules: []rules.Rule{{ID: "closed", Key: []string{"ip"}, Algorithm: a.Name(), Limits: per(0, minute)}}}
		s := serve(t, spec)
		s.want("DDDDDDDDDD", get("/", "192.0.2.1"))
		if s.d.Reason != stint.ReasonBlocked {
			t.Errorf("%s: reason %q, want blocked", a.Name(), s.d.Reason)
		}
		says(t, warningsOf(t, spec), "rules[0].limits[0]", "refuses everything")
		spec.Rules[0].Limits = per(-1, minute)
		says(t, faultsOf(t, spec), "rules[0].limits[0]", "-1", "write 0 to refuse everything")
	}
	if _, err := stint.ParseLimit("5 per minute, burst 0"); err == nil {
		t.Error("burst 0 is read")
	}
}

func TestC031VeryLargeLimits(t *testing.T) {
	for _, n := range []int64{200_000_000_000, 4_398_046_511_104} {
		s := serve(t, rules.Spec{Rules: []rules.Rule{{ID: "huge", Key: []string{"ip"}, Limits: per(n, time.Second)}}})
		for range 1000 {
			if d := s.ask(get("/", "192.0.2.1")); !d.Allowed || d.Remaining < 0 {
				t.Fatalf("limit %d: allowed %v, remaining %d", n, d.Allowed, d.Remaining)
			}
		}
	}
	spec := rules.Spec{Rules: []rules.Rule{{ID: "huge", Key: []string{"ip"}, Limits: per(9_223_372_036_854_775_807, time.Second)}}}
	says(t, faultsOf(t, spec), "rules[0].limits[0]", "9223372036854775807", "too large")
	if _, err := stint.ParseLimit("18446744073709551616 per second"); err == nil || !strings.Contains(err.Error(), "18446744073709551616") {
		t.Errorf("2^64 per second: %v", err)
	}
}

func TestDecideAfterAnError(t *testing.T) {
	s := serve(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Limits: per(5, minute)}}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.store = failing{}
	var d stint.Decision
	if err := s.Decide(ctx, get("/", "192.0.2.1"), &d); err == nil {
		t.Fatal("no error")
	}
	if d.Allowed || d.Reason != stint.ReasonUnavailable || d.Policy != "r" || len(d.Results) != 0 {
		t.Errorf("decision %+v", d)
	}
}

// failing is a store that does not answer.
type failing struct{}

func (failing) Take(context.Context, stint.Micros, []stint.Charge, []stint.Verdict) (stint.Micros, error) {
	return 0, context.Canceled
}
