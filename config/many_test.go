package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// manyRules writes a file of n rules, each by line.
func manyRules(n int, line func(b *strings.Builder, i int)) string {
	var b strings.Builder
	b.WriteString("keys: { user: { header: X-User }, api_key: { header: X-Api-Key } }\n")
	b.WriteString("plans: { key: api_key, of: { k1: free, k2: pro } }\nrules:\n")
	for i := range n {
		line(&b, i)
	}
	return b.String()
}

// simple writes a rule for the paths below one, by address.
func simple(b *strings.Builder, i int) {
	fmt.Fprintf(b, "  - { id: rule-%d, match: { path: /v1/service%d/* }, key: ip, limit: %d per minute }\n", i, i, i%900+1)
}

// mixed writes one of several kinds of rules.
func mixed(b *strings.Builder, i int) {
	switch i % 5 {
	case 0:
		fmt.Fprintf(b, "  - id: health-%d\n    match: { path: /service%d/health }\n    exempt: true\n", i, i)
	case 1:
		fmt.Fprintf(b, "  - id: plans-%d\n    match: { path: \"/v1/service%d/{id}/items\", method: [GET, HEAD] }\n    key: api_key\n    plans: { free: 5 per minute, default: 9 per minute }\n", i, i)
	case 2:
		fmt.Fprintf(b, "  - id: team-%d\n    match: { header: { X-Team: t%d }, host: api.example.com }\n    key: [user, path]\n    limit: 5 per minute, burst 9\n", i, i)
	default:
		simple(b, i)
	}
}

// heap is how many bytes of the heap are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // The first one lets go what pools hold.
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What stays of a rule is small: neither the file's text, nor its tree, nor warnings.
func TestARuleInUseIsSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 4000
	for name, c := range map[string]struct {
		line func(b *strings.Builder, i int)
		most int64
	}{
		"simple": {simple, 1000},
		"mixed":  {mixed, 1250},
	} {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		put(t, path, manyRules(n, c.line))
		w := NewWatcher(path, WatchOptions{NoSpec: true})
		before := heap()
		if err := w.Reload(); err != nil {
			t.Fatal(err)
		}
		each := (heap() - before) / n
		if f := w.Last(); f.Set.Len() != n || len(f.Spec.Rules) > 0 {
			t.Errorf("%s: %d rules, %d in the spec", name, f.Set.Len(), len(f.Spec.Rules))
		}
		if each > c.most || each < 100 {
			t.Errorf("%s: %d bytes a rule, at most %d are wanted", name, each, c.most)
		}
		runtime.KeepAlive(w)
	}
}

func TestAKeyWithAPlanIsSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 100_000
	dir := t.TempDir()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key-%08d,%s\n", i, []string{"free", "pro"}[i%2])
	}
	put(t, filepath.Join(dir, "keys.csv"), b.String())
	put(t, filepath.Join(dir, "rules.yaml"), "keys: { k: { header: K } }\nplans: { key: k, file: keys.csv }\nrules: []\n")
	w := NewWatcher(filepath.Join(dir, "rules.yaml"), WatchOptions{NoSpec: true})
	before := heap()
	if err := w.Reload(); err != nil {
		t.Fatal(err)
	}
	if each := (heap() - before) / n; each > 150 || each < 16 {
		t.Errorf("%d bytes a key", each)
	}
	runtime.KeepAlive(w)
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A file of four times as many lines takes four times as much to read, good or not.
func TestManyRulesAreReadLinearly(t *testing.T) {
	for name, line := range map[string]func(b *strings.Builder, i int){
		"mixed": mixed,
		"warnings": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - { id: r%d, match: { path: /s%d }, key: user, limit: 5 per minute }\n", i, i)
		},
		"plans": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - { id: r%d, match: { plan: fre }, key: ip, limit: 5 per minute }\n", i)
		},
		"ids":    func(b *strings.Builder, _ int) { b.WriteString("  - { id: r, key: ip, limit: 5 per minute }\n") },
		"keys":   func(b *strings.Builder, i int) { fmt.Fprintf(b, "  - { id: r%d, key: usr, limit: 5 per minute }\n", i) },
		"fields": func(b *strings.Builder, i int) { fmt.Fprintf(b, "  - { id: r%d, kee: ip, limit: 5 per minute }\n", i) },
	} {
		read := func(n int) uint64 {
			src := []byte(manyRules(n, line))
			return allocated(func() { _, _ = Parse("f", src, Options{}) })
		}
		read(10)
		if few, many := read(1000), read(4000); many > 5*few {
			t.Errorf("%s: 1000 rules take %d bytes, 4000 rules %d", name, few, many)
		}
	}
}

func TestOfManyFaultsTheFirstAreTold(t *testing.T) {
	src := manyRules(3000, func(b *strings.Builder, i int) { fmt.Fprintf(b, "  - { id: r%d, key: usr, limit: 5 per minute }\n", i) })
	_, err := Parse("f", []byte(src), Options{})
	var all Errors
	if !errors.As(err, &all) || len(all) != 101 || all[100].Error() != "f: and 2900 more faults" ||
		all[0].Error() != `f:4:20: rule "r0": "usr" is no key: did you mean user?` {
		t.Errorf("%d faults, first %v, last %v", len(all), all[0], all[len(all)-1])
	}
}

func TestOfManyWarningsTheFirstAreTold(t *testing.T) {
	src := manyRules(3000, func(b *strings.Builder, i int) {
		fmt.Fprintf(b, "  - { id: r%d, match: { path: /s%d }, key: user, limit: 5 per minute }\n", i, i)
	})
	all := parseGood(t, src).Warnings
	if len(all) != 201 || all[200].Error() != "rules.yaml: and 2800 more warnings" || all[0].Line != 4 || all[199].Line != 203 {
		t.Errorf("%d warnings, the last: %v", len(all), all[len(all)-1])
	}
}

// A file can have as many rules as are documented.
func TestTheMostRules(t *testing.T) {
	if raceEnabled {
		t.Skip("a large file")
	}
	src := manyRules(50_000, func(b *strings.Builder, i int) {
		fmt.Fprintf(b, "  - { id: r%d, match: { path: /s%d }, key: ip, limit: 5 per minute }\n", i, i)
	})
	if f := parseGood(t, src); f.Set.Len() != 50_000 || len(f.Warnings) > 0 {
		t.Errorf("%d rules, %d warnings", f.Set.Len(), len(f.Warnings))
	}
}
