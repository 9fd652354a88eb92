package rules

// trie finds the rules whose conditions can have to do with a given one, without a
// look at all others. What it finds is more than what is asked for, never less.
type trie struct {
	fixed map[string]*trie // by the text of the next step
	wild  map[string]*trie // the same for steps that stand for several texts
	ends  []int            // rules of terms that end here, ascending
	tails []int            // rules of terms that end here with anything behind them
}

// term is one alternative of a condition, such as a pattern of a path, in steps.
type term struct {
	steps []step
	tail  bool // anything may follow, also nothing
}

// step is one part of a term, such as a segment.
type step struct {
	text string // empty for a wild step that stands for any text
	wild bool
}

// add files a rule under a term. Rules are added in their order.
func (t *trie) add(at term, rule int) {
	for _, s := range at.steps {
		t = t.child(s)
	}
	list := &t.ends
	if at.tail {
		list = &t.tails
	}
	if n := len(*list); n == 0 || (*list)[n-1] != rule {
		*list = append(*list, rule)
	}
}

// child returns the node for a step, which it makes if there is none.
func (t *trie) child(s step) *trie {
	in := &t.fixed
	if s.wild {
		in = &t.wild
	}
	next := (*in)[s.text]
	if next == nil {
		if *in == nil {
			*in = make(map[string]*trie)
		}
		next = new(trie)
		(*in)[s.text] = next
	}
	return next
}

// covering calls visit with the rules of each node whose terms may cover at, until
// visit says to stop.
func (t *trie) covering(at term, visit func([]int) bool) bool {
	if !visit(t.tails) {
		return false
	}
	if len(at.steps) == 0 {
		return at.tail || visit(t.ends)
	}
	s, rest := at.steps[0], term{at.steps[1:], at.tail}
	if s.wild {
		anything, same := t.wild[""], t.wild[s.text]
		return (anything == nil || anything.covering(rest, visit)) &&
			(same == nil || same == anything || same.covering(rest, visit))
	}
	if next := t.fixed[s.text]; next != nil && !next.covering(rest, visit) {
		return false
	}
	for _, next := range t.wild {
		if !next.covering(rest, visit) {
			return false
		}
	}
	return true
}

// meeting calls visit with the rules of each node whose terms may have something in
// common with at, until visit says to stop.
func (t *trie) meeting(at term, visit func([]int) bool) bool {
	if !visit(t.tails) {
		return false
	}
	if len(at.steps) == 0 {
		return visit(t.ends) && (!at.tail || t.below(visit))
	}
	s, rest := at.steps[0], term{at.steps[1:], at.tail}
	if s.wild {
		for _, next := range t.fixed {
			if !next.meeting(rest, visit) {
				return false
			}
		}
	} else if next := t.fixed[s.text]; next != nil && !next.meeting(rest, visit) {
		return false
	}
	for _, next := range t.wild {
		if !next.meeting(rest, visit) {
			return false
		}
	}
	return true
}

// below calls visit with the rules of all nodes below t.
func (t *trie) below(visit func([]int) bool) bool {
	for _, in := range []map[string]*trie{t.fixed, t.wild} {
		for _, next := range in {
			if !visit(next.tails) || !visit(next.ends) || !next.below(visit) {
				return false
			}
		}
	}
	return true
}

// most is an upper bound of what the rules weigh together that one request can match.
func (t *trie) most(weight func(rule int) int) int {
	sum := func(rules []int) (n int) {
		for _, i := range rules {
			n += weight(i)
		}
		return n
	}
	ends, deepest, wild := sum(t.ends), 0, 0
	for _, next := range t.fixed {
		deepest = max(deepest, next.most(weight))
	}
	for _, next := range t.wild {
		wild += next.most(weight)
	}
	return sum(t.tails) + max(ends, deepest+wild)
}
