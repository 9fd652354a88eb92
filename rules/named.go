package rules

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
)

// AppendCharge appends the charges of one rule for a caller who names it, instead of
// describing a request: a limit inside a service, such as five codes an hour for one
// phone number. key has a value for each part of the rule's key, in its order, and
// none for a global one; so the bucket is the one that a request with these values
// has. What the rule's match says, and its own cost, does not count: cost does, where 0
// looks and below 0 gives back.
//
// Where the rule has plans, its key tells which; a rule whose key has not the key of
// plans counts as for a caller without one. The appended keys are the caller's. The
// error says what is wrong with the question.
func (d *Decider) AppendCharge(charges []stint.Charge, rule string, key []string, cost int64) ([]stint.Charge, error) {
	return d.set.Load().AppendCharge(charges, rule, key, cost)
}

// AppendCharge is [Decider.AppendCharge] for these rules.
func (s *Set) AppendCharge(charges []stint.Charge, rule string, key []string, cost int64) ([]stint.Charge, error) {
	at, ok := s.byID[rule]
	if !ok {
		return charges, fmt.Errorf("there is no rule %s: %s", quote(rule), DidYouMean(rule, s.known()))
	}
	ru := &s.rules[at]
	switch {
	case ru.exempt:
		return charges, fmt.Errorf("rule %s is exempt, so it has no counter: name another one", quote(rule))
	case cost > stint.MaxUnits || cost < -stint.MaxUnits:
		return charges, fmt.Errorf("cost %d is too large: at most %d", cost, stint.MaxUnits)
	}
	e := s.begin(nothing{})
	defer e.Release()
	framed, err := e.named(ru, key)
	if err != nil {
		return charges, fmt.Errorf("rule %s: %w", quote(rule), err)
	}
	policies := ru.policies
	if ru.plans != nil {
		if policies = ru.plans.of(e.planNumber()); policies == nil {
			return charges, fmt.Errorf("rule %s has no limit for %s: give it a default", quote(rule), e.planText())
		}
	}
	for _, p := range policies {
		charges = append(charges, stint.Charge{Policy: p, Key: framed, Ask: stint.Ask{Cost: cost}, Shadow: ru.shadow})
	}
	return charges, nil
}

// nothing is a request of which nothing is known.
type nothing struct{}

func (nothing) Addr() netip.Addr                 { return netip.Addr{} }
func (nothing) Value(stint.Field) (string, bool) { return "", false }

// named frames the rule's key from given values.
func (e *Evaluation) named(ru *rule, values []string) ([]byte, error) {
	parts := ru.key
	if len(parts) == 1 && e.set.keys[parts[0]].kind == globalKey {
		parts = nil
	}
	if len(values) != len(parts) {
		return nil, fmt.Errorf("a key of %d values: %s", len(values), e.set.wants(parts))
	}
	for i, k := range parts {
		if err := e.give(k, values[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", e.set.keys[k].name, err)
		}
	}
	for _, k := range parts {
		if e.appendPart(k) != partThere {
			return nil, fmt.Errorf("%s: no plan knows this value", e.set.keys[k].name)
		}
	}
	return slices.Clone(e.keys), nil
}

// wants says what the values of a key have to be.
func (s *Set) wants(parts []int) string {
	if len(parts) == 0 {
		return "the rule has one bucket for all, so give none"
	}
	names := make([]string, len(parts))
	for i, k := range parts {
		names[i] = s.keys[k].name
	}
	return fmt.Sprintf("give %d, of %s", len(parts), strings.Join(names, ", "))
}

// give makes value what the request has of key k.
func (e *Evaluation) give(k int, value string) error {
	key := &e.set.keys[k]
	switch {
	case value == "":
		return fmt.Errorf("the value is empty")
	case len(value) > MaxValue:
		return fmt.Errorf("a value of %d bytes: at most %d", len(value), MaxValue)
	}
	switch key.kind {
	case addrKey:
		a, err := netip.ParseAddr(value)
		if err != nil {
			return fmt.Errorf("%s is no address: write one such as 192.0.2.1, without a port", quote(value))
		}
		e.addr, e.addrRead = a.Unmap().WithZone(""), true
	case paramKey:
		segment := strings.TrimPrefix(e.set.spelling.clean("/"+url.PathEscape(value)), "/")
		if segment == "" {
			return fmt.Errorf("%s is no segment of a path", quote(value))
		}
		return e.giveParam(key.param, segment)
	default:
		e.touched = append(e.touched, key.field)
		e.slots[key.field] = slot{value: e.set.spell(key.field, value), read: true, there: true}
	}
	return nil
}

// giveParam makes value the {name} of the path.
func (e *Evaluation) giveParam(name, value string) error {
	n := len(e.captureNames)
	if n == len(e.captures) {
		return fmt.Errorf("more than %d parameters", n)
	}
	e.captureNames, e.captures[n] = append(slices.Clip(e.captureNames), name), value
	return nil
}
