package descriptors_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
)

func TestRulesHaveUnmistakableNames(t *testing.T) {
	s := parse(t, `domain: d/e
descriptors:
- {key: a, value: b, rate_limit: {unlimited: true}}
- {key: a=b, rate_limit: {unlimited: true}}
- key: a
  value: "b/c"
  descriptors:
  - {key: x, value: "*", rate_limit: {unlimited: true}}
- key: `+strings.Repeat("k", 100)+`
  descriptors:
  - {key: `+strings.Repeat("é", 100)+`, rate_limit: {unlimited: true}}
  - {key: `+strings.Repeat("é", 101)+`, rate_limit: {unlimited: true}}
`, descriptors.Options{})
	names := make(map[string]bool)
	for _, r := range s.Rules() {
		if len(r.Name) > stint.MaxName || names[r.Name] {
			t.Errorf("the name %s has %d bytes, or is there twice", r.Name, len(r.Name))
		}
		names[r.Name] = true
	}
	for _, want := range []string{`"d/e"/a=b`, `"d/e"/"a=b"`, `"d/e"/a="b/c"/x=*`} {
		if !names[want] {
			t.Errorf("no rule is called %s: %v", want, names)
		}
	}
}

func TestSentences(t *testing.T) {
	s := parse(t, `domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 5}}
- {key: b, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 0}}
- {key: c, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: e, rate_limit: {unlimited: true}}`, descriptors.Options{OnStoreFailure: stint.FailDeny})
	for i, want := range []string{
		"at most 5 in each window of minute, all of them at once if they come so",
		"refuses everything; only tried, refuses nothing",
		"at most 1 in each window of day, all of them at once if they come so; refuses if all quotas of a request are over",
		"no limit",
	} {
		if got := s.Rules()[i].Sentence(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if p := s.Rules()[0].Policy; p.OnStoreFailure != stint.FailDeny {
		t.Errorf("on store failure %q", p.OnStoreFailure)
	}
}

// The names of counters hold nothing of a client's, and stay when a file is read
// again with other limits.
func TestNamesOfCountersAreFew(t *testing.T) {
	a, b := parse(t, many(500, true), descriptors.Options{}), parse(t, many(700, false), descriptors.Options{})
	name := regexp.MustCompile(`^envoy/fixed_window/[0-7][0-9a-f]$`)
	for i, r := range a.Rules() {
		if r.Policy.Name != b.Rules()[i].Policy.Name || !name.MatchString(r.Policy.Name) {
			t.Errorf("%s counts as %s, then as %s", r.Name, r.Policy.Name, b.Rules()[i].Policy.Name)
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	s := parse(t, `domain: d
descriptors:
- key: a
  descriptors:
  - {key: path, value: /api/*, rate_limit: {unit: minute, requests_per_unit: 5}}`, descriptors.Options{})
	d, key := s.Domain("d"), make([]byte, 0, 4096)
	entries := []pair{{"a", strings.Repeat("long", 100)}, {"path", "/api/v1"}}
	limit := stint.Limit{Count: 5, Window: time.Minute}
	if n := testing.AllocsPerRun(100, func() {
		if r, _ := descriptors.Match(d, entries, key); r == nil {
			t.Fatal("no rule")
		}
		if _, _, err := descriptors.Override(d, entries, limit, key); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKeysAreBounded(t *testing.T) {
	s := parse(t, "domain: d\n", descriptors.Options{})
	var entries []pair
	for i := range 100 {
		entries = append(entries, pair{fmt.Sprint("key-", i), strings.Repeat("v", 60)})
	}
	_, a, err := descriptors.Override(s.Domain("d"), entries, stint.Limit{Count: 1, Window: time.Second}, nil)
	if err != nil || len(a) > stint.MaxKey {
		t.Fatalf("a key of %d bytes, %v", len(a), err)
	}
	entries[99].v += "w"
	if _, b, _ := descriptors.Override(s.Domain("d"), entries, stint.Limit{Count: 1, Window: time.Second}, nil); bytes.Equal(a, b) {
		t.Error("two keys are alike")
	}
}

func TestHashKeyKeysLongValues(t *testing.T) {
	file := "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]"
	long := []pair{{"a", strings.Repeat("secret", 20)}}
	_, a := descriptors.Match(parse(t, file, descriptors.Options{}).Domain("d"), long, nil)
	_, b := descriptors.Match(parse(t, file, descriptors.Options{HashKey: []byte("k")}).Domain("d"), long, nil)
	if bytes.Equal(a, b) || bytes.Contains(a, []byte("secret")) {
		t.Errorf("keys %x and %x", a, b)
	}
}

// FuzzParse reads anything: a set or errors that say where.
func FuzzParse(f *testing.F) {
	f.Add("domain: a\ndescriptors:\n- key: b\n  value: c*\n  rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: x}]}\n")
	f.Add("domain: &d a\ndescriptors: [{key: *d, metadata: {x: [1, {y: null}]}, <<: {value: z}}]")
	f.Add("][")
	f.Fuzz(func(t *testing.T, src string) {
		s, err := descriptors.Parse("f", []byte(src), descriptors.Options{})
		if (err == nil) != (s != nil) {
			t.Fatal("neither a set nor an error, or both")
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		for _, r := range s.Rules() {
			if r.Policy == nil || r.Name == "" || len(r.Name) > stint.MaxName {
				t.Fatalf("rule %+v", r)
			}
		}
	})
}

// FuzzMatch compares the matcher of one level with regular expressions, and keys of
// two values with each other.
func FuzzMatch(f *testing.F) {
	f.Add("/a*", "/a/*", "/*/b", "/a/b", "/a/c")
	f.Add("**", "*x*y", "x", "xy", "")
	f.Add("a*a", "*", "a**", "aa", "a")
	f.Add("0", "**", "*", "*", "0")
	f.Fuzz(func(t *testing.T, p1, p2, p3, v, w string) {
		var file strings.Builder
		file.WriteString("domain: d\ndescriptors:\n")
		seen := make(map[string]bool)
		var patterns []string
		for _, p := range []string{p1, p2, p3} {
			if p == "" || seen[p] || len(p) > 50 || strings.ContainsFunc(p, func(r rune) bool { return r < '*' || r > 'z' || r == '\\' }) {
				return
			}
			seen[p] = true
			patterns = append(patterns, p)
			fmt.Fprintf(&file, "- {key: k, value: %q, rate_limit: {unlimited: true, name: %q}}\n", p, p)
		}
		s := parse(t, file.String(), descriptors.Options{})
		r, key := descriptors.Match(s.Domain("d"), []pair{{"k", v}}, nil)
		label := ""
		if r != nil {
			label = r.Label
		}
		if want := naive(patterns, v); label != want {
			t.Fatalf("%q matched %q, want %q of %q", v, label, want, patterns)
		}
		o, other := descriptors.Match(s.Domain("d"), []pair{{"k", w}}, nil)
		if r != nil && o != nil && v != w && bytes.Equal(key, other) {
			t.Fatalf("%q and %q share a bucket", v, w)
		}
	})
}

// naive is the pattern that goes first of those that match.
func naive(patterns []string, v string) string {
	best := ""
	rank := func(p string) (int, int) {
		before, _, _ := strings.Cut(p, "*")
		return len(before), len(p) - strings.Count(p, "*")
	}
	for _, p := range patterns {
		if p == v {
			return p
		}
		re := regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `.*`) + `$`)
		if !strings.Contains(p, "*") || !re.MatchString(v) {
			continue
		}
		a1, a2 := rank(p)
		if b1, b2 := rank(best); best == "" || a1 > b1 || a1 == b1 && a2 > b2 {
			best = p
		}
	}
	return best
}

// The work for a pattern does not grow with the number of them, and a pattern that is
// there twice is found among many.
func TestManyWildcards(t *testing.T) {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "- {key: k, value: \"*%d-*\", rate_limit: {unit: day, requests_per_unit: %d}}\n", i, i+1)
	}
	began := time.Now()
	set := parse(t, b.String(), descriptors.Options{})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("read in %v", took)
	}
	r, _ := descriptors.Match(set.Domain("d"), []pair{{"k", "x1234-y"}}, nil)
	if r == nil || r.Policy.Limit.Count != 1235 {
		t.Errorf("matched %v, want the pattern with the most text", r)
	}
	b.WriteString("- {key: k, value: \"*77-*\"}\n")
	if _, err := descriptors.Parse("f", []byte(b.String()), descriptors.Options{}); err == nil || !strings.Contains(err.Error(), "is there twice: first at f:80:4") {
		t.Errorf("a pattern twice: %.200v", err)
	}
}
