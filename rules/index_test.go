package rules

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
)

// asked is a request as a Source.
type asked struct {
	addr  netip.Addr
	value map[stint.Field]string
}

func (a asked) Addr() netip.Addr { return a.addr }

func (a asked) Value(f stint.Field) (string, bool) {
	v, ok := a.value[f]
	return v, ok
}

// randomRequest makes a request for what randomRule is about.
func randomRequest(r *rand.Rand) asked {
	a := asked{value: make(map[stint.Field]string)}
	maybe := func(f stint.Field, all ...string) {
		if i := r.IntN(len(all) + 1); i < len(all) {
			a.value[f] = all[i]
		}
	}
	maybe(stint.Field{Kind: stint.FieldMethod}, "GET", "HEAD", "post")
	maybe(stint.Field{Kind: stint.FieldPath}, "/a", "/a/", "/a/b", "/a/b/c", "/a/x/c", "/x/b", "/x/b/c/d", "/", "", "/a/bc", "/a/xc/d", "/ab", "/A/b", "//a//b", "*", "/"+strings.Repeat("a/", 100))
	if r.IntN(100) == 0 {
		a.value[stint.Field{Kind: stint.FieldPath}] = "/a/" + strings.Repeat("b", MaxValue)
	}
	maybe(stint.Field{Kind: stint.FieldHost}, "a.test", "b.a.test", "c.b.a.test", "B.A.test.", "test", ".a.test", "other", "", ".", strings.Repeat("a.", 50)+"a.test")
	maybe(stint.Field{Kind: stint.FieldHeader, Name: "X-Team"}, "red", "blue", "*", "green")
	maybe(stint.Field{Kind: stint.FieldHeader, Name: "X-Api-Key"}, "k1", "k2", "k3", "k4")
	maybe(stint.Field{Kind: stint.FieldHeader, Name: "X-User"}, "u1", strings.Repeat("u", 100))
	maybe(stint.Field{Kind: stint.FieldQuery, Name: "debug"}, "1", "3")
	addrs := []string{"10.1.2.3", "10.9.9.9", "192.0.2.1", "2001:db8::1", "::1"}
	if i := r.IntN(len(addrs) + 1); i < len(addrs) {
		a.addr = netip.MustParseAddr(addrs[i])
	}
	return a
}

// outcomeOf writes what an evaluation says.
func outcomeOf(s *Set, src stint.Source) string {
	e := s.Evaluate(src)
	defer e.Release()
	var b bytes.Buffer
	for _, c := range e.Charges() {
		fmt.Fprintf(&b, "%s %v %x %d %v; ", c.Policy.Name, c.Policy.Limit, c.Key, c.Cost, c.Shadow)
	}
	reason, by, refused := e.Refused()
	fmt.Fprint(&b, reason, by.Policy, refused)
	return b.String()
}

func TestTheIndexChangesNothing(t *testing.T) {
	said := make(map[bool]int)
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		spec := Spec{
			Keys:       []Key{{Name: "api_key", Header: "X-Api-Key"}, {Name: "user", Header: "X-User"}},
			Plans:      &Plans{Key: "api_key", Of: map[string]string{"k1": "free", "k2": "paid", "k3": "gold"}},
			IgnoreCase: r.IntN(2) == 0, StrictSlash: r.IntN(2) == 0,
		}
		for i := range minIndexed + r.IntN(30) {
			ru := randomRule(r, i)
			if r.IntN(4) > 0 && len(ru.Match.Path)+len(ru.Match.Host) == 0 {
				ru.Match.Path = []string{fmt.Sprintf("/a/%d", i)}
			}
			ru.Missing = []Missing{"", MissingSkip, MissingDeny, MissingShare}[r.IntN(4)]
			spec.Rules = append(spec.Rules, ru)
		}
		set, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		if set.index == nil {
			t.Fatal("no index")
		}
		plain, _ := Compile(spec)
		plain.index = nil
		for range 100 {
			src := randomRequest(r)
			got, want := outcomeOf(set, src), outcomeOf(plain, src)
			if got != want {
				t.Fatalf("seed %d, %v of %v:\nwith the index %s\nwithout %s\nrules %+v", seed, src.value, src.addr, got, want, spec.Rules)
			}
			said[want == "false"]++
		}
	}
	if said[true] < 100 || said[false] < 100 {
		t.Errorf("empty and not: %v", said)
	}
}

// Of many rules a request is compared with those that can match it.
func TestFewOfManyRulesAreLookedAt(t *testing.T) {
	for name, c := range map[string]struct {
		match func(i int) Match
		path  string
		host  string
		most  int
	}{
		"paths":    {func(i int) Match { return Match{Path: []string{fmt.Sprintf("/v1/s%d/{id}", i)}} }, "/v1/s77/12", "", 1},
		"nested":   {func(i int) Match { return Match{Path: []string{strings.Repeat("/a", i%5+1) + fmt.Sprint("/", i)}} }, "/a/a/a/7", "", 1},
		"hosts":    {func(i int) Match { return Match{Path: []string{"/v1/**"}, Host: []string{fmt.Sprintf("h%d.test", i)}} }, "/v1/x", "H77.test", 1},
		"below":    {func(i int) Match { return Match{Host: []string{fmt.Sprintf("*.h%d.test", i)}} }, "/", "a.b.h7.test", 1},
		"anything": {func(int) Match { return Match{} }, "/", "", 400},
	} {
		var spec Spec
		for i := range 400 {
			ru := Rule{ID: fmt.Sprint("r", i), Match: c.match(i), Unlimited: true}
			spec.Rules = append(spec.Rules, ru)
		}
		set, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		e := set.begin(asked{value: map[stint.Field]string{{Kind: stint.FieldPath}: c.path, {Kind: stint.FieldHost}: c.host}})
		n := 0
		for found := set.index.find(e); found && e.next() >= 0; {
			n++
		}
		if e.Release(); n > c.most || n == 0 {
			t.Errorf("%s: %d rules are looked at, want %d", name, n, c.most)
		}
	}
}
