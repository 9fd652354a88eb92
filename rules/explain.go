package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
)

// Sentences returns for each rule one sentence that says whom it counts, what it
// admits and what happens without its key.
func (s *Set) Sentences() []string {
	all := make([]string, len(s.rules))
	for i := range s.rules {
		all[i] = s.sentence(&s.rules[i])
	}
	return all
}

func (s *Set) sentence(ru *rule) string {
	head := ru.id
	if ru.shadow {
		head += " (shadow)"
	}
	head += ": " + s.subject(ru)
	switch {
	case ru.exempt:
		return head + ": no limit, and no later rule"
	case ru.unlimited:
		head += ": counted, never refused"
	default:
		head += ": " + limitsText(ru)
	}
	return head + s.conditionsText(ru)
}

// subject says which requests a rule is about and by what it tells them apart.
func (s *Set) subject(ru *rule) string {
	subject := "requests"
	switch {
	case ru.exempt || ru.unlimited:
	case len(ru.key) == 0:
		subject = "all requests together"
	default:
		names := make([]string, len(ru.key))
		for i, k := range ru.key {
			names[i] = s.keyText(k)
		}
		subject = "each " + strings.Join(names, " and ")
	}
	for _, words := range s.scope(ru) {
		subject += " " + words
	}
	return subject
}

// keyText names a key, and says how much of an address it is.
func (s *Set) keyText(k int) string {
	name := s.keys[k].name
	if s.keys[k].kind != addrKey {
		return name
	}
	if s.ipv4Prefix != 32 {
		name += fmt.Sprintf(" (IPv4 /%d, IPv6 /%d)", s.ipv4Prefix, s.ipv6Prefix)
	} else {
		name += fmt.Sprintf(" (IPv6 /%d)", s.ipv6Prefix)
	}
	return name
}

// scope says which requests a rule matches.
func (s *Set) scope(ru *rule) []string {
	m := &ru.match
	var words []string
	add := func(head string, list []string) {
		if len(list) > 0 {
			words = append(words, head+" "+oneOf(list))
		}
	}
	add("with plan", m.written.plan)
	add("by", m.methods)
	add("to", pathsOf(m.paths))
	add("on", m.written.host)
	add("from", stringsOf(m.written.ip))
	for i := range m.values {
		v := &m.values[i]
		if len(v.in) == 0 {
			words = append(words, "with "+v.words)
		} else {
			words = append(words, "with "+v.words+" "+oneOf(v.in))
		}
	}
	for _, k := range m.has {
		if !slices.Contains(ru.key, k) {
			words = append(words, "with "+s.keys[k].name)
		}
	}
	for _, k := range m.lacks {
		words = append(words, "without "+s.keys[k].name)
	}
	return words
}

// pathsOf are patterns as they were written.
func pathsOf(patterns []pattern) []string {
	out := make([]string, len(patterns))
	for i := range patterns {
		out[i] = patterns[i].text
	}
	return out
}

func stringsOf[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

// oneOf lists alternatives, of many only the first.
func oneOf(list []string) string {
	const most = 5
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" or %d others", len(list)-most)
	}
	return strings.Join(list, " or ")
}

// limitsText says what the limits of a rule admit.
func limitsText(ru *rule) string {
	var texts, others []string
	if ru.plans == nil {
		for _, p := range ru.policies {
			texts = append(texts, policyText(p))
		}
		return strings.Join(texts, ", and ")
	}
	for _, p := range ru.plans.planned {
		if p.plan == defaultPlan {
			others = []string{"all others " + policyText(p.policy)}
		} else {
			texts = append(texts, "plan "+p.plan+" "+policyText(p.policy))
		}
	}
	return strings.Join(append(texts, others...), "; ")
}

func policyText(p *stint.Policy) string {
	text, _ := p.Algorithm.Explain(p.Limit)
	return text
}

// conditionsText says what is special about a rule.
func (s *Set) conditionsText(ru *rule) string {
	var text string
	switch {
	case ru.cost == 0:
		text += "; a request costs nothing and passes while something is left"
	case ru.cost > 1:
		text += fmt.Sprintf("; a request costs %d", ru.cost)
	}
	if lacking := s.canLack(ru); lacking != "" {
		text += "; without " + lacking + " "
		switch ru.missing {
		case MissingSkip:
			text += "the rule does not apply"
		case MissingDeny:
			text += "the request is refused"
		case MissingShare:
			text += "all requests share one bucket"
		default:
			text += "the address counts instead"
		}
	}
	if ru.stop && !ru.shadow {
		text += "; no later rule"
	}
	return text
}

// canLack names the parts of the key that a matching request can be without.
// That there is no address at all is too rare to say.
func (s *Set) canLack(ru *rule) string {
	var names []string
	for _, k := range ru.key {
		key := &s.keys[k]
		builtin := k < len(builtinKeys())
		if builtin || key.kind == paramKey || s.implies(&ru.match, k) {
			continue
		}
		if k == s.planKey {
			names = append(names, key.name+" that a plan knows")
		} else {
			names = append(names, key.name)
		}
	}
	return strings.Join(names, " or ")
}

// implies says whether a request that fits m has the key.
func (s *Set) implies(m *match, k int) bool {
	return k == s.planKey && len(m.plans) > 0 || slices.Contains(m.has, k)
}
