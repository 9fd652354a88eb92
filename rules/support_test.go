package rules_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// request is a Source made of what is in it.
type request struct {
	from                                    string
	method, path, host                      string
	header, query, cookie, json, descriptor map[string]string

	asked map[stint.Field]int // how often each field was read, if not nil
}

func (r *request) Addr() netip.Addr {
	a, _ := netip.ParseAddr(r.from)
	return a
}

func (r *request) Value(f stint.Field) (string, bool) {
	if r.asked != nil {
		r.asked[f]++
	}
	var in map[string]string
	switch f.Kind {
	case stint.FieldMethod:
		if r.method == "" {
			return "GET", true
		}
		return r.method, true
	case stint.FieldPath:
		return r.path, r.path != ""
	case stint.FieldHost:
		return r.host, r.host != ""
	case stint.FieldHeader:
		in = r.header
	case stint.FieldQuery:
		in = r.query
	case stint.FieldCookie:
		in = r.cookie
	case stint.FieldJSON:
		in = r.json
	case stint.FieldDescriptor:
		in = r.descriptor
	}
	v, ok := in[f.Name]
	return v, ok
}

// get is a request for a path from an address.
func get(path, from string) *request { return &request{path: path, from: from} }

// with returns r with a header.
func (r *request) with(header, value string) *request {
	c := *r
	c.header = map[string]string{header: value}
	for k, v := range r.header {
		if k != header {
			c.header[k] = v
		}
	}
	return &c
}

// start is an instant at which windows of a minute and of a day begin.
const start = stint.Micros(1_700_006_400_000_000)

// service is rules with a store in memory and a clock that the test turns.
type service struct {
	*rules.Decider
	t     testing.TB
	now   time.Time
	calls int // of the store
	store stint.Store
	d     stint.Decision
}

// Take counts the calls of the store.
func (s *service) Take(ctx context.Context, now stint.Micros, c []stint.Charge, v []stint.Verdict) (stint.Micros, error) {
	s.calls++
	return s.store.Take(ctx, now, c, v)
}

// serve puts rules in force. The test fails if they have faults.
func serve(t testing.TB, spec rules.Spec) *service {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, now: start.Time(), store: store}
	s.Decider = rules.NewDecider(&stint.Limiter{Store: s, Clock: func() time.Time { return s.now }}, compile(t, spec))
	return s
}

func compile(t testing.TB, spec rules.Spec) *rules.Set {
	t.Helper()
	set, err := rules.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// at sets the clock to a time after the start.
func (s *service) at(d time.Duration) { s.now = start.Time().Add(d) }

// ask decides about one request. The decision is valid until the next one.
func (s *service) ask(r *request) *stint.Decision {
	s.t.Helper()
	if err := s.Decide(context.Background(), r, &s.d); err != nil {
		s.t.Fatal(err)
	}
	return &s.d
}

// answers sends a request n times and returns A or D for each.
func (s *service) answers(n int, r *request) string {
	s.t.Helper()
	var b strings.Builder
	for range n {
		if s.ask(r).Allowed {
			b.WriteByte('A')
		} else {
			b.WriteByte('D')
		}
	}
	return b.String()
}

// want fails unless n requests are answered as said.
func (s *service) want(answers string, r *request) {
	s.t.Helper()
	if got := s.answers(len(answers), r); got != answers {
		s.t.Errorf("%s %s from %s: %s, want %s", r.method, r.path, r.from, got, answers)
	}
}

// result returns what a policy said in the last decision.
func (s *service) result(policy string) stint.Result {
	s.t.Helper()
	for _, r := range s.d.Results {
		if r.Policy == policy {
			return r
		}
	}
	s.t.Fatalf("policy %s had no say: %+v", policy, s.d.Results)
	return stint.Result{}
}

// per is a limit.
func per(count int64, window time.Duration) []stint.Limit {
	return []stint.Limit{{Count: count, Window: window}}
}

// faultsOf returns the faults of a spec as lines.
func faultsOf(t *testing.T, spec rules.Spec) []string {
	t.Helper()
	_, err := rules.Compile(spec)
	if err == nil {
		return nil
	}
	var all rules.Errors
	if !errors.As(err, &all) {
		t.Fatalf("error is %T", err)
	}
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = e.Error()
	}
	return lines
}

// warningsOf returns the warnings of a spec as lines. It has no faults.
func warningsOf(t *testing.T, spec rules.Spec) []string {
	t.Helper()
	var lines []string
	warnings, more := compile(t, spec).Warnings()
	if more > 0 {
		t.Errorf("%d more warnings", more)
	}
	for _, w := range warnings {
		if !w.Warning {
			t.Errorf("fault among the warnings: %v", w)
		}
		lines = append(lines, w.Error())
	}
	return lines
}

// says fails unless exactly one of lines has all the words.
func says(t *testing.T, lines []string, words ...string) {
	t.Helper()
	n := 0
	for _, l := range lines {
		all := true
		for _, w := range words {
			all = all && strings.Contains(l, w)
		}
		if all {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d lines say %q, want 1, of:\n%s", n, words, strings.Join(lines, "\n"))
	}
}
