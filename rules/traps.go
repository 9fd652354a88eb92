package rules

import (
	"iter"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
)

// traps warns of what is wrong with the rules taken together.
type traps struct {
	*relations
	ending   *register // rules that let nothing through to later ones
	counting *register
	holding  *register // counting rules of which a client cannot have many buckets
}

func newTraps(c *compiler) *traps {
	t := &traps{relations: newRelations(c)}
	t.ending = t.register(c.endsAlways)
	t.counting = t.register((*rule).counts)
	t.holding = t.register(func(ru *rule) bool { return ru.counts() && c.holds(ru) })
	return t
}

func (t *traps) find() {
	for i := range t.set.rules {
		t.shadowed(i)
		t.exemptLate(i)
		t.headless(i)
		t.neverKeyed(i)
		t.chosen(i)
		t.planless(i)
	}
	t.forged()
	t.most += maxWork
	t.tooMany()
}

// shadowed warns of a rule behind one that ends the evaluation for all it matches.
func (t *traps) shadowed(i int) {
	ru := &t.set.rules[i]
	j, ok := t.first(t.ending, t.rule(i), i)
	if !ok || j < 0 {
		return
	}
	before, what := &t.set.rules[j], "is the last one"
	if before.exempt {
		what = "exempts"
	}
	t.warn(indexed("rules", i), "rule %s can never match (shadowed): rule %s before it %s for all that it is for: move it up",
		quote(ru.id), quote(before.id), what)
}

// exemptLate warns of an exemption behind a rule that has counted the same
// requests by then.
func (t *traps) exemptLate(i int) {
	ru := &t.set.rules[i]
	if !ru.exempt {
		return
	}
	if j, ok := t.first(t.counting, t.rule(i), i); ok && j >= 0 {
		t.warn(indexed("rules", i), "rule %s exempts from the rules below it only, and rule %s above it counts the same requests: move it up",
			quote(ru.id), quote(t.set.rules[j].id))
	}
}

// planless warns of plans for which the rule has no limit, unless no request with the
// plan gets past the rules before. Of very many it names the first.
func (t *traps) planless(i int) {
	ru := &t.set.rules[i]
	if ru.plans == nil || ru.plans.others != nil {
		return
	}
	asked := slices.Values(ru.match.plans) // Nobody's is below 1.
	if len(ru.match.plans) == 0 {
		asked = t.planNumbers()
	}
	const most = 5
	told := 0
	for n := range asked {
		if t.spent++; t.tired() || told == most {
			return
		}
		if n < 1 || ru.plans.of(n) != nil {
			continue
		}
		ofPlan := ru.match
		ofPlan.plans = []int{n}
		if j, ok := t.first(t.ending, subject{&ofPlan, ofPlan.aspects()}, i); ok && j < 0 {
			t.warn(indexed("rules", i)+".plans", "plan %s has no limit here, so the rule does not apply to it: add it, or default for all others",
				quote(t.set.planNames[n]))
			told++
		}
	}
}

// planNumbers are the numbers of all plans.
func (t *traps) planNumbers() iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 1; n < len(t.set.planNames); n++ {
			if !yield(n) {
				return
			}
		}
	}
}

// headless warns of a rule for GET that a client escapes by asking with HEAD, which
// servers answer with the same work.
func (t *traps) headless(i int) {
	ru := &t.set.rules[i]
	if !ru.counts() || !slices.Contains(ru.match.methods, "GET") || slices.Contains(ru.match.methods, "HEAD") {
		return
	}
	head := ru.match
	head.methods = []string{"HEAD"}
	if j, ok := t.first(t.counting, subject{&head, head.aspects()}, len(t.set.rules)); ok && j < 0 {
		t.warn(indexed("rules", i)+".match.method", "servers do for HEAD what they do for GET, and no rule counts it here: add HEAD")
	}
}

// counts says whether the rule can refuse.
func (ru *rule) counts() bool { return !ru.shadow && !ru.exempt && !ru.unlimited }

// endsAlways says whether nothing that the rule matches reaches a later rule.
func (c *compiler) endsAlways(ru *rule) bool {
	switch {
	case ru.shadow:
		return false
	case ru.exempt:
		return true
	case !ru.stop || len(ru.key) > 0 && ru.missing == MissingSkip:
		return false
	}
	return ru.plans == nil || ru.plans.others != nil
}

// neverKeyed warns of a rule whose key its own match excludes.
func (c *compiler) neverKeyed(i int) {
	ru := &c.set.rules[i]
	for _, k := range ru.key {
		if slices.Contains(ru.match.lacks, k) {
			c.warn(indexed("rules", i)+".key", "the rule is for requests that lack %s, so %s", c.set.keys[k].name, insteadText(ru))
		}
	}
}

// insteadText says what happens to a request without the rule's key.
func insteadText(ru *rule) string {
	switch ru.missing {
	case MissingSkip:
		return "the rule never applies"
	case MissingDeny:
		return "all requests are refused"
	case MissingShare:
		return "all requests share one bucket"
	}
	return "the address counts instead"
}

// addressHeaders are headers in which proxies, and anybody else, write addresses.
var addressHeaders = []string{
	"X-Forwarded-For", "X-Real-Ip", "Forwarded", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip",
	"X-Client-Ip", "Client-Ip", "X-Originating-Ip", "X-Cluster-Client-Ip",
}

// forged warns of keys that read an address from where anybody can write one.
func (c *compiler) forged() {
	used := make([]bool, len(c.set.keys)) // whether a rule counts by the key
	for i := range c.set.rules {
		for _, k := range c.set.rules[i].key {
			used[k] = true
		}
	}
	for i := range c.set.keys {
		k := &c.set.keys[i]
		if k.kind != fieldKey {
			continue
		}
		f := c.set.fields.all[k.field]
		if f.Kind == stint.FieldHeader && slices.Contains(addressHeaders, f.Name) && used[i] {
			c.warn("keys."+k.name, "clients choose what %s says, and with it a bucket: use the key ip, with trusted_proxies", f.Name)
		}
	}
}

// chosen warns of a rule that a client escapes by choosing another key each time,
// unless another rule counts the same requests in a way that it cannot choose.
func (t *traps) chosen(i int) {
	ru := &t.set.rules[i]
	if ru.exempt || ru.shadow || len(ru.key) == 0 || t.holds(ru) {
		return
	}
	if j, ok := t.first(t.holding, t.rule(i), len(t.set.rules)); !ok || j >= 0 {
		return
	}
	var names []string
	for _, k := range ru.key {
		if !t.bounded(ru, k) {
			names = append(names, t.set.keys[k].name)
		}
	}
	t.warn(indexed("rules", i)+".key", "a client that invents a new %s for each request gets a new bucket each time: "+
		"list the valid ones in plans, or add a rule by ip for the same requests", strings.Join(names, " and "))
}

// holds says whether a client cannot have as many buckets as it likes: there is
// but one, or a part of the key is beyond its choice and no other part is a value
// that it makes up. Of methods, paths and hosts it can make up some too, but a key
// has them to tell endpoints apart.
func (c *compiler) holds(ru *rule) bool {
	bounded := len(ru.key) == 0
	for _, k := range ru.key {
		switch {
		case c.bounded(ru, k):
			bounded = true
		case c.set.keys[k].kind == fieldKey && c.set.keys[k].field > hostField:
			return false
		}
	}
	return bounded
}

// bounded says whether the client cannot make up a value of the key for requests
// that the rule matches.
func (c *compiler) bounded(ru *rule, k int) bool {
	key, m := &c.set.keys[k], &ru.match
	switch {
	case key.kind == addrKey || k == c.set.planKey:
		return true
	case key.kind != fieldKey:
		return false
	}
	switch key.field {
	case methodField:
		return len(m.methods) > 0
	case pathField:
		return len(m.paths) > 0 && !slices.ContainsFunc(m.paths, func(p pattern) bool { return p.tail || p.fixed < len(p.segs) })
	case hostField:
		return len(m.hosts) > 0 && !slices.ContainsFunc(m.hosts, func(h host) bool { return h.below })
	}
	return slices.ContainsFunc(m.values, func(v condition) bool { return v.field == key.field && len(v.in) > 0 })
}

// tooMany warns if rules that can match together have more limits than a request
// can carry charges. It looks for such rules from each rule on, and may miss some.
func (t *traps) tooMany() {
	weight := func(i int) int { return charges(&t.set.rules[i]) }
	charging := t.register(func(ru *rule) bool { return charges(ru) > 0 })
	most := make(map[int]int, len(charging.by))
	for of, filed := range charging.by {
		most[of] = filed.most(weight)
	}
	for i := range t.set.rules {
		if weight(i) == 0 || t.together(charging, most, i) <= stint.MaxCharges {
			continue
		}
		t.warn(indexed("rules", i), "a request that rule %s matches can be charged by more than %d limits, and would be refused: merge some",
			quote(t.set.rules[i].id), stint.MaxCharges)
		return
	}
}

// together returns how many charges a request that rule i matches can get, as far as
// they are found, and not much more than are allowed. most is how many those have at
// most that are filed under one thing: often that is enough to know.
func (t *traps) together(charging *register, most map[int]int, i int) int {
	found, others := t.near(charging, t.rule(i))
	sum := 0
	for _, j := range found {
		sum += charges(&t.set.rules[j])
	}
	for _, of := range others {
		sum += most[of]
	}
	if sum <= stint.MaxCharges {
		return sum
	}
	found = append(found, t.all(charging, others)...)
	slices.Sort(found)
	chosen, sum := []*match{&t.set.rules[i].match}, charges(&t.set.rules[i])
	for _, j := range slices.Compact(found) {
		ru := &t.set.rules[j]
		if j == i || slices.ContainsFunc(chosen, func(m *match) bool { return t.apart(m, &ru.match) }) {
			continue
		}
		chosen, sum = append(chosen, &ru.match), sum+charges(ru)
		if sum > stint.MaxCharges || t.tired() {
			break
		}
	}
	return sum
}

// charges is the most charges that a rule adds.
func charges(ru *rule) int {
	if ru.plans != nil {
		return 1
	}
	return len(ru.policies)
}

// covers says that every request that fits n fits m. It may say no where yes
// would be true, as for path parameters, which each rule captures for itself.
func (c *compiler) covers(m, n *match) bool {
	return (len(m.methods) == 0 || len(n.methods) > 0 && every(n.methods, m.methods, equal)) &&
		(len(m.hosts) == 0 || len(n.hosts) > 0 && every(n.hosts, m.hosts, func(o, h host) bool { return h.covers(o) })) &&
		(len(m.paths) == 0 || len(n.paths) > 0 && every(n.paths, m.paths, func(o, p pattern) bool { return p.covers(&o) })) &&
		(len(m.ranges) == 0 || len(n.ranges) > 0 && every(n.ranges, m.ranges, func(o, r addrRange) bool {
			return r.first.Compare(o.first) <= 0 && o.last.Compare(r.last) <= 0
		})) &&
		(len(m.plans) == 0 || len(n.plans) > 0 && every(n.plans, m.plans, equal)) &&
		every(m.values, n.values, func(o, p condition) bool {
			return o.field == p.field && (len(o.in) == 0 || len(p.in) > 0 && every(p.in, o.in, equal))
		}) &&
		c.implied(m.has, n) && every(m.lacks, n.lacks, equal) &&
		!slices.ContainsFunc(slices.Concat(m.has, m.lacks), func(k int) bool { return c.set.keys[k].kind == paramKey })
}

// implied says whether a request that fits n has the keys. One with a plan has the
// key of plans, and one from an address has that.
func (c *compiler) implied(keys []int, n *match) bool {
	return !slices.ContainsFunc(keys, func(k int) bool {
		return !slices.Contains(n.has, k) && (k != c.set.planKey || len(n.plans) == 0) &&
			(c.set.keys[k].kind != addrKey || len(n.ranges) == 0)
	})
}

// apart says that no request fits both. It may say no where yes would be true.
func (c *compiler) apart(m, n *match) bool {
	return disjoint(m.methods, n.methods, func(a, b string) bool { return a != b }) ||
		disjoint(m.hosts, n.hosts, host.apart) ||
		disjoint(m.paths, n.paths, func(p, o pattern) bool { return p.apart(&o) }) ||
		disjoint(m.plans, n.plans, func(a, b int) bool { return a != b }) ||
		disagree(m.values, n.values) ||
		disjoint(m.ranges, n.ranges, func(r, o addrRange) bool {
			return r.last.Less(o.first) || o.last.Less(r.first)
		}) ||
		c.opposed(m, n) || c.opposed(n, m)
}

// disagree says that one value is asked to be two.
func disagree(m, n []condition) bool {
	return slices.ContainsFunc(m, func(v condition) bool {
		return slices.ContainsFunc(n, func(o condition) bool {
			return v.field == o.field && disjoint(v.in, o.in, func(a, b string) bool { return a != b })
		})
	})
}

// opposed says that m wants a key, by itself or for a plan, that n wants missing.
func (c *compiler) opposed(m, n *match) bool {
	return slices.ContainsFunc(n.lacks, func(k int) bool {
		return slices.Contains(m.has, k) || k == c.set.planKey && len(m.plans) > 0
	})
}

func equal[T comparable](a, b T) bool { return a == b }

// every says that each of list has one in others with which ok holds.
func every[T any](list, others []T, ok func(v, other T) bool) bool {
	for _, v := range list {
		if !slices.ContainsFunc(others, func(o T) bool { return ok(v, o) }) {
			return false
		}
	}
	return true
}

// disjoint says that both lists say something, and each pair of them is apart.
func disjoint[T any](a, b []T, apart func(x, y T) bool) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for _, x := range a {
		for _, y := range b {
			if !apart(x, y) {
				return false
			}
		}
	}
	return true
}
