package descriptors_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
	"github.com/stint-dev/stint/memstore"
)

// pair is an entry of a descriptor.
type pair struct{ k, v string }

func (p pair) GetKey() string   { return p.k }
func (p pair) GetValue() string { return p.v }

func parse(t testing.TB, src string, o descriptors.Options) *descriptors.Set {
	t.Helper()
	s, err := descriptors.Parse("f.yaml", []byte(src), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return s
}

// many writes a file of n descriptors, each with a limit of its own if distinct.
func many(n int, distinct bool) string {
	var b strings.Builder
	b.WriteString("domain: many\ndescriptors:\n")
	for i := range n {
		count := 100
		if distinct {
			count += i
		}
		fmt.Fprintf(&b, "  - key: user\n    value: user-%d\n    rate_limit:\n      unit: minute\n      requests_per_unit: %d\n", i, count)
	}
	return b.String()
}

// Ten thousand rules, each with a limit and a client of its own, cost a table for
// each name of counters and not one for each rule.
func TestTenThousandDescriptorsTakeLittleMemory(t *testing.T) {
	began := time.Now()
	set := parse(t, many(10_000, true), descriptors.Options{})
	t.Logf("read in %v", time.Since(began))
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &stint.Limiter{Store: store}
	before := heap()
	began = time.Now()
	names := make(map[string]bool)
	for round := range 2 {
		for i := range 10_000 {
			r, key := descriptors.Match(set.Domain("many"), []pair{{"user", fmt.Sprintf("user-%d", i)}}, nil)
			d, err := l.Take(t.Context(), stint.Charge{Policy: r.Policy, Key: key, Ask: stint.Ask{Cost: 1}})
			if want := int64(100 + i - 1 - round); err != nil || !d.Allowed || d.Remaining != want {
				t.Fatalf("round %d of user-%d: allowed %t, remaining %d, want %d, %v", round, i, d.Allowed, d.Remaining, want, err)
			}
			names[r.Policy.Name] = true
		}
	}
	grown := heap() - before
	t.Logf("20,000 charges in %v, %d names of counters, %d KB", time.Since(began), len(names), grown>>10)
	if grown > 16<<20 {
		t.Errorf("the counters of 10,000 rules take %d bytes", grown)
	}
	runtime.KeepAlive(set)
	runtime.KeepAlive(store)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
