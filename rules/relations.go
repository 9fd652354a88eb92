package rules

import "slices"

// relations finds which rules have to do with which, without comparing each with each:
// a rule is filed under the condition that it shares with the fewest others, and only
// those filed under what a match asks for are compared with it.
type relations struct {
	*compiler
	aspects [][]aspect     // of each rule
	alike   map[string]int // how many rules have a term

	// spent counts what was compared, up to most. A file in which all rules have to do
	// with all others reaches that; what is not found then is not told.
	spent, most int
}

// maxWork bounds the pairs of conditions that are compared: less than a second's work,
// and more than a thousand rules take that are all alike.
const maxWork = 20_000_000

func newRelations(c *compiler) *relations {
	r := &relations{compiler: c, aspects: make([][]aspect, len(c.set.rules)), alike: make(map[string]int), most: maxWork}
	for i := range c.set.rules {
		r.aspects[i] = c.set.rules[i].match.aspects()
		for _, a := range r.aspects[i] {
			for _, t := range a.terms {
				r.alike[t.key(a.of)]++
			}
		}
	}
	return r
}

// tired says whether too much was compared.
func (r *relations) tired() bool { return r.spent >= r.most }

// register is the rules of one kind, filed.
type register struct {
	by    map[int]*trie // by what the aspect is about
	loose []int         // rules without an aspect
}

// register files the rules for which is holds.
func (r *relations) register(is func(ru *rule) bool) *register {
	g := &register{by: make(map[int]*trie)}
	for i := range r.set.rules {
		if !is(&r.set.rules[i]) {
			continue
		}
		a := r.rarest(r.aspects[i])
		if a == nil {
			g.loose = append(g.loose, i)
			continue
		}
		if g.by[a.of] == nil {
			g.by[a.of] = new(trie)
		}
		for _, t := range a.terms {
			g.by[a.of].add(t, i)
		}
	}
	return g
}

// rarest returns the aspect that has the fewest rules in common, nil without any.
func (r *relations) rarest(all []aspect) (rarest *aspect) {
	fewest := 0
	for i := range all {
		n := 0
		for _, t := range all[i].terms {
			n += r.alike[t.key(all[i].of)]
		}
		if rarest == nil || n < fewest {
			rarest, fewest = &all[i], n
		}
	}
	return rarest
}

// subject is a match to find the relations of.
type subject struct {
	*match
	aspects []aspect
}

// rule returns the match of a rule.
func (r *relations) rule(i int) subject { return subject{&r.set.rules[i].match, r.aspects[i]} }

// first returns the first rule of g before the rule numbered end that covers s, -1 if
// there is none. It is not ok if too much was compared already.
func (r *relations) first(g *register, s subject, end int) (at int, ok bool) {
	at = end
	visit := func(rules []int) bool {
		r.spent++
		for _, j := range rules {
			if j >= at || r.tired() {
				break
			}
			if r.spent++; r.covers(&r.set.rules[j].match, s.match) {
				at = j
			}
		}
		return !r.tired()
	}
	visit(g.loose)
	for i := range s.aspects {
		if filed := g.by[s.aspects[i].of]; filed != nil {
			filed.covering(r.rarestTerm(&s.aspects[i]), visit)
		}
	}
	if at == end {
		at = -1
	}
	return at, !r.tired()
}

// rarestTerm returns the term of a that the fewest rules have: what covers a covers
// each of its terms.
func (r *relations) rarestTerm(a *aspect) term {
	return slices.MinFunc(a.terms, func(s, t term) int { return r.alike[s.key(a.of)] - r.alike[t.key(a.of)] })
}

// near returns the rules of g, in their order, that may match together with s, but for
// those filed under what s does not ask about: what that is, is others.
func (r *relations) near(g *register, s subject) (found, others []int) {
	found = slices.Clone(g.loose)
	visit := func(rules []int) bool {
		r.spent += 1 + len(rules)
		found = append(found, rules...)
		return !r.tired()
	}
	for of, filed := range g.by {
		i := slices.IndexFunc(s.aspects, func(a aspect) bool { return a.of == of })
		if i < 0 {
			others = append(others, of)
			continue
		}
		for _, t := range s.aspects[i].terms {
			filed.meeting(t, visit)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), others
}

// all returns the rules of g that are filed under what others says.
func (r *relations) all(g *register, others []int) (found []int) {
	for _, of := range others {
		g.by[of].meeting(term{tail: true}, func(rules []int) bool {
			r.spent += 1 + len(rules)
			found = append(found, rules...)
			return !r.tired()
		})
	}
	return found
}

// covers is [compiler.covers], and counts what it compares.
func (r *relations) covers(m, n *match) bool {
	r.spent += pairs(m, n)
	return r.compiler.covers(m, n)
}

// apart is [compiler.apart], and counts what it compares.
func (r *relations) apart(m, n *match) bool {
	r.spent += pairs(m, n)
	return r.compiler.apart(m, n)
}

// pairs is how many pairs of conditions two matches have.
func pairs(m, n *match) int {
	return len(m.methods)*len(n.methods) + len(m.hosts)*len(n.hosts) + len(m.paths)*len(n.paths) +
		len(m.plans)*len(n.plans) + len(m.ranges)*len(n.ranges) + wanted(m)*wanted(n)
}

// wanted is how many values m asks for.
func wanted(m *match) int {
	n := len(m.values)
	for i := range m.values {
		n += len(m.values[i].in)
	}
	return n
}
