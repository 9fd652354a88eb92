package rules

import (
	"slices"
	"strings"

	"github.com/stint-dev/stint"
)

// traps warns of what is wrong with the rules taken together.
func (c *compiler) traps() {
	for i := range c.set.rules {
		c.shadowed(i)
		c.exemptLate(i)
		c.headless(i)
		c.neverKeyed(i)
		c.chosen(i)
	}
	c.forged()
	c.tooMany()
}

// shadowed warns of a rule behind one that ends the evaluation for all it matches.
func (c *compiler) shadowed(i int) {
	ru := &c.set.rules[i]
	for j := range i {
		before := &c.set.rules[j]
		if c.endsAlways(before) && c.covers(&before.match, &ru.match) {
			what := "is the last one"
			if before.exempt {
				what = "exempts"
			}
			c.warn(indexed("rules", i), "rule %s can never match (shadowed): rule %s before it %s for all that it is for: move it up",
				quote(ru.id), quote(before.id), what)
			return
		}
	}
}

// exemptLate warns of an exemption behind a rule that has counted the same
// requests by then.
func (c *compiler) exemptLate(i int) {
	ru := &c.set.rules[i]
	for j := range i {
		before := &c.set.rules[j]
		if ru.exempt && before.counts() && c.covers(&before.match, &ru.match) {
			c.warn(indexed("rules", i), "rule %s exempts from the rules below it only, and rule %s above it counts the same requests: move it up",
				quote(ru.id), quote(before.id))
			return
		}
	}
}

// headless warns of a rule for GET that a client escapes by asking with HEAD, which
// servers answer with the same work.
func (c *compiler) headless(i int) {
	ru := &c.set.rules[i]
	if !ru.counts() || !slices.Contains(ru.match.methods, "GET") || slices.Contains(ru.match.methods, "HEAD") {
		return
	}
	head := ru.match
	head.methods = []string{"HEAD"}
	if !slices.ContainsFunc(c.set.rules, func(other rule) bool { return other.counts() && c.covers(&other.match, &head) }) {
		c.warn(indexed("rules", i)+".match.method", "servers do for HEAD what they do for GET, and no rule counts it here: add HEAD")
	}
}

// counts says whether the rule can refuse.
func (ru *rule) counts() bool { return !ru.shadow && !ru.exempt && !ru.spec.Unlimited }

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
	return !slices.ContainsFunc(ru.byPlan, func(p []*stint.Policy) bool { return p == nil })
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
	for i := range c.set.keys {
		k := &c.set.keys[i]
		if k.kind != fieldKey {
			continue
		}
		f := c.set.fields.all[k.field]
		if f.Kind == stint.FieldHeader && slices.Contains(addressHeaders, f.Name) && c.used(i) {
			c.warn("keys."+k.name, "clients choose what %s says, and with it a bucket: use the key ip, with trusted_proxies", f.Name)
		}
	}
}

// used says whether a rule counts by the key.
func (c *compiler) used(k int) bool {
	return slices.ContainsFunc(c.set.rules, func(ru rule) bool { return slices.Contains(ru.key, k) })
}

// chosen warns of a rule that a client escapes by choosing another key each time,
// unless another rule counts the same requests in a way that it can not choose.
func (c *compiler) chosen(i int) {
	ru := &c.set.rules[i]
	if ru.exempt || ru.shadow || len(ru.key) == 0 || c.holds(ru) {
		return
	}
	for j := range c.set.rules {
		other := &c.set.rules[j]
		if j != i && other.counts() && c.holds(other) && c.covers(&other.match, &ru.match) {
			return
		}
	}
	var names []string
	for _, k := range ru.key {
		if !c.bounded(ru, k) {
			names = append(names, c.set.keys[k].name)
		}
	}
	c.warn(indexed("rules", i)+".key", "a client that invents a new %s for each request gets a new bucket each time: "+
		"list the valid ones in plans, or add a rule by ip for the same requests", strings.Join(names, " and "))
}

// holds says whether a client can not have as many buckets as it likes: there is
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

// bounded says whether the client can not make up a value of the key for requests
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
func (c *compiler) tooMany() {
	all := 0
	for i := range c.set.rules {
		all += charges(&c.set.rules[i])
	}
	if all <= stint.MaxCharges {
		return
	}
	together := c.together()
	for i := range together {
		chosen, sum := []int{i}, charges(&c.set.rules[i])
		for j := range together {
			if j != i && every(chosen, []int{j}, func(k, j int) bool { return together[j][k] }) {
				chosen, sum = append(chosen, j), sum+charges(&c.set.rules[j])
			}
			if sum > stint.MaxCharges {
				c.warn(indexed("rules", i), "a request that rule %s matches can be charged by more than %d limits, and would be refused: merge some",
					quote(c.set.rules[i].id), stint.MaxCharges)
				return
			}
		}
	}
}

// together says of each two rules whether one request could match both.
func (c *compiler) together() [][]bool {
	n := len(c.set.rules)
	all := make([][]bool, n)
	for i := range all {
		all[i] = make([]bool, n)
		for j := range i {
			both := !c.apart(&c.set.rules[i].match, &c.set.rules[j].match)
			all[i][j], all[j][i] = both, both
		}
	}
	return all
}

// charges is the most charges that a rule adds.
func charges(ru *rule) int {
	if ru.byPlan != nil {
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
		disjoint(m.ranges, n.ranges, func(r, o addrRange) bool {
			return r.last.Less(o.first) || o.last.Less(r.first)
		}) ||
		c.opposed(m, n) || c.opposed(n, m)
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
