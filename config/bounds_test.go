package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// billionLaughs are aliases of aliases.
func billionLaughs() string {
	var b strings.Builder
	b.WriteString("x-a: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "x-%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	b.WriteString("headers: *a19\ntrusted_proxies: *a19\n")
	b.WriteString("rules:\n  - { id: a, key: *a19, match: { path: *a19, header: *a19 }, limits: *a19 }\n")
	return b.String()
}

// hostile are files that cost much to read.
func hostile() map[string]string {
	const n = maxBytes / 64
	var entries, merges strings.Builder
	for i := 0; entries.Len() < 4*n; i++ {
		fmt.Fprintf(&entries, "k%d: v\n", i)
	}
	merges.WriteString("x-a: &m {")
	for i := range 4000 {
		fmt.Fprintf(&merges, "k%d: v, ", i)
	}
	merges.WriteString("}\nx-b:\n")
	for range 2000 {
		merges.WriteString("  - { <<: *m }\n")
	}
	return map[string]string{
		"billion laughs":  billionLaughs(),
		"entries":         entries.String(),
		"merges":          merges.String(),
		"brackets":        strings.Repeat("[", n),
		"braces":          strings.Repeat("{a: ", n/4),
		"dashes":          strings.Repeat("- ", n/2),
		"question marks":  strings.Repeat("? ", n/2),
		"colons":          strings.Repeat("a: ", n/3),
		"anchors":         strings.Repeat("&a ", n/3),
		"aliases":         strings.Repeat("*a ", n/3),
		"tags":            strings.Repeat("!a ", n/3),
		"list":            "rules: [" + strings.Repeat("1,", n/2) + "]",
		"quotes":          strings.Repeat("''", n/2),
		"documents":       strings.Repeat("---\n", n/4),
		"full documents":  strings.Repeat("---\na: 1\n", maxTokens/40),
		"text":            "a: " + strings.Repeat("x", n),
		"literal":         "a: |\n" + strings.Repeat("  xx yy\n", n/8),
		"variables":       "hash_key: \"" + strings.Repeat("${A:-}", n/6) + "\"\nrules: []",
		"unknown fields":  "rules:\n" + strings.Repeat("  - {aaaaaaaa: 1}\n", n/18),
		"long name":       strings.Repeat("a", n) + ": 1\n",
		"indentation":     strings.Repeat(" ", n) + "a: 1",
		"carriage return": strings.Repeat("\r", n),
	}
}

func TestHostileFilesAreReadInBoundedTime(t *testing.T) {
	for name, src := range hostile() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("f", []byte(src), Options{})
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if name != "variables" && err == nil {
				t.Error("no error")
			}
			if err != nil && len(err.Error()) > 100_000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestManyDocumentsAreNotParsed(t *testing.T) {
	wantFault(t, strings.Repeat("---\na: 1\n", 17), "rules.yaml:33:1: more than 16 lines of ---: write one document to a file")
	parseGood(t, "# rules\n---\nrules: []\n")
}

func TestAliasesAndMerges(t *testing.T) {
	f := parseGood(t, `x-base: &base { key: ip, limit: 5 per minute, mode: shadow }
rules:
  - { <<: *base, id: a }
  - { <<: [*base, { id: never }], id: b, limit: 6 per minute }
  - id: c
    key: &who [ip, path]
    limit: 7 per minute
  - id: d
    key: *who
    limit: 8 per minute
`)
	got := ""
	for _, r := range f.Spec.Rules {
		got += fmt.Sprintf("%s %v %v %v; ", r.ID, r.Key, r.Limits, r.Shadow)
	}
	if want := "a [ip] [5 per minute] true; b [ip] [6 per minute] true; c [ip path] [7 per minute] false; d [ip path] [8 per minute] false; "; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestAFaultBehindAnAliasIsToldOnce(t *testing.T) {
	src := "rules:\n  - { id: a, key: ip, match: &m { pth: / }, limit: 5 per minute }\n  - { id: a2, key: ip, match: *m, limit: 5 per minute }\n"
	_, err := Parse("f", []byte(src), Options{})
	if got := strings.Count(err.Error(), "f:2:35"); got != 2 {
		t.Errorf("told %d times, once for each rule is wanted:\n%v", got, err)
	}
}

func TestManyKeysFitIntoTheFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("keys: { k: { header: X-K } }\nplans:\n  key: k\n  of:\n")
	for i := range maxEntries {
		fmt.Fprintf(&b, "    k%d: free\n", i)
	}
	b.WriteString("rules: []\n")
	if f := parseGood(t, b.String()); len(f.Spec.Plans.Of) != maxEntries {
		t.Errorf("%d keys", len(f.Spec.Plans.Of))
	}
}
