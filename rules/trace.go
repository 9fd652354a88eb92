package rules

import (
	"fmt"

	"github.com/stint-dev/stint"
)

// Step is what one rule says to one request.
type Step struct {
	// Rule is the rule's id.
	Rule string
	// Applies says that the rule charges, exempts or refuses.
	Applies bool
	// Why says in words why so. Values of headers, query parameters, cookies and
	// bodies are not in it.
	Why string
	// Policies are charged with Cost for Key; none if the rule does not charge.
	Policies []*stint.Policy
	Key      []byte
	Cost     int64
	Shadow   bool
}

// Trace says for each rule, in order, what it makes of a request. The steps are
// the caller's. It is for people who ask why; [Set.Evaluate] is for requests.
func (s *Set) Trace(src stint.Source) []Step {
	e := s.begin(src)
	defer e.Release()
	steps := make([]Step, 0, len(s.rules))
	ended := ""
	for i := range s.rules {
		ru := &s.rules[i]
		step := Step{Rule: ru.id, Shadow: ru.shadow}
		if ended != "" {
			step.Why = "not asked: rule " + ended + " was the last one"
			steps = append(steps, step)
			continue
		}
		before := e.n
		o := e.apply(ru)
		step.Applies = o == exempted || o == charged || o.refuses() && !ru.shadow
		step.Why = e.why(ru, o)
		if o == charged {
			step.addCharges(e.charges[max(0, min(before, e.n-charges(ru))):e.n])
		}
		if ru.ends(o) {
			ended = ru.id
		}
		steps = append(steps, step)
	}
	return steps
}

// addCharges copies charges of one rule.
func (s *Step) addCharges(charges []stint.Charge) {
	for _, c := range charges {
		s.Policies = append(s.Policies, c.Policy)
		s.Key = append([]byte{}, c.Key...)
		s.Cost = c.Cost
	}
}

// why puts an outcome into words.
func (e *Evaluation) why(ru *rule, o outcome) string {
	m := &ru.match
	switch o {
	case charged:
		return "matches"
	case exempted:
		return "matches: exempt"
	case otherMethod:
		method, _ := e.value(methodField)
		return fmt.Sprintf("the method is %s, not %s", quote(method), oneOf(m.methods))
	case otherHost:
		name, _ := e.value(hostField)
		return fmt.Sprintf("the host is %s, not %s", quote(name), oneOf(m.written.host))
	case otherAddress:
		return fmt.Sprintf("the address is %s, not in %s", e.addressText(), oneOf(stringsOf(m.written.ip)))
	case otherPath:
		path, _ := e.value(pathField)
		return fmt.Sprintf("the path is %s, not %s", quote(path), oneOf(pathsOf(m.paths)))
	case otherValue:
		return e.otherValue(ru)
	case otherPlan:
		return fmt.Sprintf("%s, not %s", e.planText(), oneOf(m.written.plan))
	case hasNot:
		return e.firstKey(m.has, false) + " is not there"
	case lacksNot:
		return e.firstKey(m.lacks, true) + " is there"
	case noLimitForPlan:
		return e.planText() + ", for which the rule has no limit"
	case keySkipped:
		return "no " + e.firstKey(ru.key, false) + ": the rule does not apply"
	case keyRefused:
		return "refused: no " + e.firstKey(ru.key, false)
	case valueTooLong:
		return fmt.Sprintf("refused: a value of the key is longer than %d bytes", MaxValue)
	case pathTooLong:
		return fmt.Sprintf("refused: the path is longer than %d bytes", MaxValue)
	case tooManyCharges:
		return fmt.Sprintf("refused: more than %d limits for one request", stint.MaxCharges)
	}
	return ""
}

func (e *Evaluation) addressText() string {
	if a := e.address(); a.IsValid() {
		return a.String()
	}
	return "not known"
}

// otherValue says which header, query parameter or cookie is not as wanted.
func (e *Evaluation) otherValue(ru *rule) string {
	for i := range ru.match.values {
		c := &ru.match.values[i]
		if e.holds(c) {
			continue
		}
		if _, ok := e.value(c.field); !ok {
			return c.words + " is not there"
		}
		return c.words + " is not " + oneOf(c.in)
	}
	return ""
}

// planText names the plan of the request.
func (e *Evaluation) planText() string {
	n := e.planNumber()
	if n > 0 {
		return "the plan is " + e.set.planNames[n]
	}
	name := e.set.keys[e.set.planKey].name
	if v, ok := e.value(e.set.keys[e.set.planKey].field); ok && v != "" {
		return "no plan knows this " + name
	}
	return "no " + name + ", so no plan"
}

// firstKey names the first of keys that is there, or that is not.
func (e *Evaluation) firstKey(keys []int, there bool) string {
	for _, k := range keys {
		if e.present(k) == there {
			if k == e.set.planKey && !there && e.planText() == "no plan knows this "+e.set.keys[k].name {
				return e.set.keys[k].name + " that a plan knows"
			}
			return e.set.keys[k].name
		}
	}
	return ""
}
