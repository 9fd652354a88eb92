package rules

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
)

// plainTraps is what traps finds, by comparing each rule with each other.
type plainTraps struct{ *compiler }

func (p plainTraps) find() {
	for i := range p.set.rules {
		ru := &p.set.rules[i]
		if j := p.first(&ru.match, i, p.endsAlways); j >= 0 {
			p.warn(indexed("rules", i), "behind %d", j)
		}
		if j := p.first(&ru.match, i, (*rule).counts); j >= 0 && ru.exempt {
			p.warn(indexed("rules", i), "late behind %d", j)
		}
		head := ru.match
		head.methods = []string{"HEAD"}
		if ru.counts() && slices.Contains(ru.match.methods, "GET") && !slices.Contains(ru.match.methods, "HEAD") &&
			p.first(&head, len(p.set.rules), (*rule).counts) < 0 {
			p.warn(indexed("rules", i)+".match.method", "HEAD")
		}
		holding := func(other *rule) bool { return other.counts() && p.holds(other) }
		if !ru.exempt && !ru.shadow && len(ru.key) > 0 && !p.holds(ru) && p.first(&ru.match, len(p.set.rules), holding) < 0 {
			p.warn(indexed("rules", i)+".key", "chosen")
		}
		p.planless(i)
	}
	p.tooMany()
}

// first returns the first rule before end that covers m.
func (p plainTraps) first(m *match, end int, is func(*rule) bool) int {
	return slices.IndexFunc(p.set.rules[:end], func(ru rule) bool { return is(&ru) && p.covers(&ru.match, m) })
}

func (p plainTraps) planless(i int) {
	ru := &p.set.rules[i]
	for n := 1; n < len(p.set.planNames) && ru.plans != nil; n++ {
		ofPlan := ru.match
		ofPlan.plans = []int{n}
		if ru.plans.of(n) == nil && (len(ru.match.plans) == 0 || slices.Contains(ru.match.plans, n)) && p.first(&ofPlan, i, p.endsAlways) < 0 {
			p.warn(indexed("rules", i)+".plans", "%s", p.set.planNames[n])
		}
	}
}

func (p plainTraps) tooMany() {
	for i := range p.set.rules {
		chosen, sum := []int{i}, charges(&p.set.rules[i])
		for j := range p.set.rules {
			if n := charges(&p.set.rules[j]); j != i && n > 0 && !slices.ContainsFunc(chosen, func(k int) bool {
				return p.apart(&p.set.rules[k].match, &p.set.rules[j].match)
			}) {
				chosen, sum = append(chosen, j), sum+n
			}
		}
		if charges(&p.set.rules[i]) > 0 && sum > stint.MaxCharges {
			p.warn(indexed("rules", i), "too many")
			return
		}
	}
}

// gist is a warning as far as both ways of finding it agree on it.
func gist(e *Error, rules []rule) string {
	id := func(words string) string {
		_, after, _ := strings.Cut(e.Message, words)
		name, _, _ := strings.Cut(strings.TrimPrefix(after, `"`), `"`)
		return fmt.Sprint(slices.IndexFunc(rules, func(ru rule) bool { return ru.id == name }))
	}
	for words, short := range map[string]string{"limits, and would be": "too many", "is for requests that lack": "", "add HEAD": "HEAD", "invents a new": "chosen"} {
		if strings.Contains(e.Message, words) {
			return e.Path + " " + short
		}
	}
	switch {
	case strings.Contains(e.Message, "(shadowed)"):
		return e.Path + " behind " + id("(shadowed): rule ")
	case strings.Contains(e.Message, "exempts from the rules below"):
		return e.Path + " late behind " + id("only, and rule ")
	case strings.Contains(e.Message, "no limit here"):
		return e.Path + " " + e.Message[len(`plan "`):strings.Index(e.Message, `" has`)]
	}
	return e.Path + " " + e.Message
}

// pick returns up to n of all, often none.
func pick[T any](r *rand.Rand, n int, all ...T) []T {
	var some []T
	for range r.IntN(n+2) - 1 {
		some = append(some, all[r.IntN(len(all))])
	}
	return some
}

// randomRule makes a rule whose match has much to do with those of others.
func randomRule(r *rand.Rand, i int) Rule {
	ru := Rule{ID: fmt.Sprint("r", i), Exempt: r.IntN(8) == 0, Stop: r.IntN(4) == 0, Shadow: r.IntN(8) == 0}
	m := &ru.Match
	m.Path = pick(r, 2, "/a", "/a/*", "/a/{x}", "/a/**", "/a/b", "/a/b*", "/a/*c/d", "/{y}/b", "/{y}/b/**", "/**", "/", "/a/b/c", "/a/{x}/c")
	m.Host = pick(r, 1, "a.test", "b.a.test", "*.a.test", "*.b.a.test", "*.test", "other")
	m.Method = pick(r, 2, "GET", "HEAD", "POST")
	m.Plan = pick(r, 1, "free", "paid", "gold")
	m.IP = pick(r, 1, prefixes("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/23", "10.1.2.3/32", "0.0.0.0/0", "::/0", "2001:db8::/33", "2001:db8::1/128")...)
	if values := pick(r, 2, "red", "blue", "*"); r.IntN(3) == 0 {
		m.Header = map[string][]string{"X-Team": values}
	}
	if r.IntN(6) == 0 {
		m.Query = map[string][]string{"debug": pick(r, 1, "1", "2")}
	}
	m.Has, m.Lacks = pick(r, 1, "user", "api_key", "ip"), pick(r, 1, "user", "api_key")
	if ru.Exempt {
		ru.Shadow = false
		return ru
	}
	ru.Key = [][]string{{"ip"}, {"user"}, {"path"}, {"host"}, {"global"}, {"api_key"}, {"user", "method"}}[r.IntN(7)]
	if r.IntN(4) == 0 {
		ru.Plans = map[string]stint.Limit{"free": {Count: 1, Window: time.Minute}}
		if r.IntN(2) == 0 {
			ru.Plans["default"] = stint.Limit{Count: 2, Window: time.Minute}
		}
		return ru
	}
	for n := range 1 + r.IntN(7) {
		ru.Limits = append(ru.Limits, stint.Limit{Count: int64(1 + n), Window: time.Minute})
	}
	return ru
}

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, s := range all {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func TestTrapsAreThoseOfAllPairs(t *testing.T) {
	found := make(map[string]int)
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		spec := Spec{
			Keys:  []Key{{Name: "api_key", Header: "X-Api-Key"}, {Name: "user", Header: "X-User"}},
			Plans: &Plans{Key: "api_key", Of: map[string]string{"k1": "free", "k2": "paid", "k3": "gold"}},
		}
		for i := range 1 + r.IntN(25) {
			spec.Rules = append(spec.Rules, randomRule(r, i))
		}
		c := newCompiler(spec)
		if c.run(); len(c.errs) > 0 {
			t.Fatal(c.errs)
		}
		gists := func(find func()) []string {
			c.warnings, c.more = nil, 0
			find()
			var all []string
			for _, w := range c.warnings {
				if g := gist(w, c.set.rules); !strings.HasSuffix(g, " ") {
					all = append(all, g)
				}
			}
			slices.Sort(all)
			return all
		}
		got, want := gists(newTraps(c).find), gists(plainTraps{c}.find)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: traps\n%q\nof all pairs\n%q\nrules %+v", seed, got, want, spec.Rules)
		}
		for _, g := range want {
			_, kind, _ := strings.Cut(g, " ")
			found[strings.TrimRight(kind, "0123456789")]++
		}
	}
	kinds := []string{"HEAD", "behind ", "chosen", "free", "gold", "late behind ", "paid", "too many"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, slices.DeleteFunc(kinds, func(k string) bool { return k == "free" })) {
		t.Errorf("kinds of traps: %v", found)
	}
}

// manyRules are files of n rules that are told apart in different ways.
func manyRules() map[string]func(i int) Rule {
	rule := func(i int, m Match) Rule {
		return Rule{ID: fmt.Sprint("r", i), Match: m, Key: []string{[]string{"ip", "user"}[i%2]}, Limits: []stint.Limit{{Count: 9, Window: time.Minute}}}
	}
	return map[string]func(i int) Rule{
		"path": func(i int) Rule {
			return rule(i, Match{Path: []string{fmt.Sprintf("/v1/s%d/{id}", i)}, Method: []string{"GET"}})
		},
		"inner": func(i int) Rule { return rule(i, Match{Path: []string{fmt.Sprintf("/{tenant}/s%d/**", i)}}) },
		"glob":  func(i int) Rule { return rule(i, Match{Path: []string{fmt.Sprintf("/s%d/*.txt", i), "/health"}}) },
		"host": func(i int) Rule {
			return rule(i, Match{Host: []string{fmt.Sprintf("h%d.a.test", i)}, Path: []string{"/api/**"}})
		},
		"below":  func(i int) Rule { return rule(i, Match{Host: []string{fmt.Sprintf("*.h%d.a.test", i)}}) },
		"header": func(i int) Rule { return rule(i, Match{Header: map[string][]string{"X-Team": {fmt.Sprint(i)}}}) },
		"ip": func(i int) Rule {
			return rule(i, Match{IP: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i)}), 24)}})
		},
		"plan": func(i int) Rule { return rule(i, Match{Plan: []string{fmt.Sprint("p", i)}}) },
		"mixed": func(i int) Rule {
			return rule(i, []Match{
				{Path: []string{fmt.Sprintf("/v1/s%d/{id}", i)}},
				{Header: map[string][]string{"X-Team": {fmt.Sprint(i)}}},
				{Host: []string{fmt.Sprintf("h%d.a.test", i)}, Method: []string{"GET"}},
				{Path: []string{fmt.Sprintf("/v1/s%d/health", i-3)}},
			}[i%4])
		},
		"exempt": func(i int) Rule {
			return Rule{ID: fmt.Sprint("r", i), Match: Match{Path: []string{fmt.Sprintf("/s%d/health", i)}}, Exempt: true}
		},
		"plans": func(i int) Rule {
			ru := rule(i, Match{Path: []string{fmt.Sprintf("/v1/s%d/**", i)}})
			ru.Limits, ru.Plans = nil, map[string]stint.Limit{"p0": {Count: 1, Window: time.Minute}, "p1": {Count: 2, Window: time.Minute}}
			ru.Match.Plan = []string{"p0", "p1", "p2"}
			return ru
		},
	}
}

// The work of finding traps grows with the rules, not with their pairs.
func TestTrapsOfManyRulesAreLinear(t *testing.T) {
	for name, rule := range manyRules() {
		work := func(n int) int {
			spec := Spec{
				Keys:  []Key{{Name: "api_key", Header: "X-Api-Key"}, {Name: "user", Header: "X-User"}},
				Plans: &Plans{Key: "api_key", Of: make(map[string]string)},
			}
			for i := range n {
				spec.Rules = append(spec.Rules, rule(i))
				spec.Plans.Of[fmt.Sprint("k", i)] = fmt.Sprint("p", i)
			}
			c := newCompiler(spec)
			if c.run(); len(c.errs) > 0 {
				t.Fatal(name, c.errs[0])
			}
			tr := newTraps(c)
			tr.find()
			return tr.spent
		}
		few, many := work(400), work(1600)
		if many > 5*few || many < few {
			t.Errorf("%s: 400 rules take %d, 1600 rules %d", name, few, many)
		}
	}
}
