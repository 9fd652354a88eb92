package rules

import (
	"slices"
	"sync"

	"github.com/stint-dev/stint"
)

// Set is rules, compiled. It is made by [Compile], never changes, and is safe for
// concurrent use.
type Set struct {
	rules    []rule
	byID     map[string]int // places in rules
	index    *index         // nil for few rules
	keys     []key
	fields   fields
	spelling spelling

	planKey        int                   // -1 if there are no plans
	planOf         map[string]subscriber // for each value that has a plan
	planNames      []string              // by number; 0 is no plan
	longestPlanned int                   // length of the longest value that has a plan

	hashKey                hashKey
	ipv4Prefix, ipv6Prefix int

	warnings     []*Error
	moreWarnings int

	pool sync.Pool
}

// rule is a rule, compiled.
type rule struct {
	id       string
	match    match
	key      []int           // keys; none for a single bucket
	missing  Missing         // never empty
	policies []*stint.Policy // nil where plans decide
	plans    *planLimits     // nil without plans
	cost     int64

	shadow, exempt, stop, unlimited bool
}

// planLimits are the limits of a rule by plan. They take room for the plans that the
// rule names only: there may be many others.
type planLimits struct {
	numbers  []int           // of the plans, sorted
	policies []*stint.Policy // for each of numbers
	others   []*stint.Policy // for all other plans and none; nil if there is no default
	planned  []planned       // in the order of the names
}

// of returns the policy for a plan, as a slice of one.
func (l *planLimits) of(number int) []*stint.Policy {
	if i, ok := slices.BinarySearch(l.numbers, number); ok {
		return l.policies[i : i+1]
	}
	return l.others
}

// Warnings are what is legal in the file and probably not meant: of very many the
// first, and how many more there are.
func (s *Set) Warnings() (warnings []*Error, more int) { return s.warnings, s.moreWarnings }

// Len is how many rules there are.
func (s *Set) Len() int { return len(s.rules) }

// ID is the name of the i-th rule.
func (s *Set) ID(i int) string { return s.rules[i].id }

// PoliciesOf returns the policies of the i-th rule, those of one with plans in the
// order of their names.
func (s *Set) PoliciesOf(i int) []*stint.Policy { return s.rules[i].all() }

// Policies returns all policies in the order of the rules, and those of a rule
// with plans in the order of their names.
func (s *Set) Policies() []*stint.Policy {
	var all []*stint.Policy
	for i := range s.rules {
		all = append(all, s.rules[i].all()...)
	}
	return all
}

// all returns the policies of a rule, each once.
func (ru *rule) all() []*stint.Policy {
	if ru.plans == nil {
		return ru.policies
	}
	var all []*stint.Policy
	for _, p := range ru.plans.planned {
		all = append(all, p.policy)
	}
	return all
}

// known are names of rules that a message can suggest.
func (s *Set) known() []string {
	names := make([]string, min(len(s.rules), maxKnown))
	for i := range names {
		names[i] = s.rules[i].id
	}
	return names
}

// Evaluate applies the rules to a request. The caller releases the evaluation. It
// allocates nothing once the set has been used for a while, but for a path or a
// method that has another spelling than the rules'.
func (s *Set) Evaluate(src stint.Source) *Evaluation {
	e := s.begin(src)
	e.run()
	return e
}

// begin prepares an evaluation.
func (s *Set) begin(src stint.Source) *Evaluation {
	e, ok := s.pool.Get().(*Evaluation)
	if !ok {
		e = &Evaluation{set: s, slots: make([]slot, len(s.fields.all)), hasher: newHasher()}
	}
	e.src = src
	return e
}

// subscriber is what is known of a value that has a plan.
type subscriber struct {
	plan int    // its number, from 1
	sum  digest // of the value, where keys hold a hash of it
}

// planned is the policy of one plan.
type planned struct {
	plan   string
	policy *stint.Policy
}
