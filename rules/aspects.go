package rules

import (
	"net/netip"
	"strconv"
	"strings"
)

// aspect is one condition of a match as terms of which one must hold.
type aspect struct {
	of    int // what it is about
	terms []term
}

// What an aspect is about. Fields of the request follow, each one by itself.
const (
	aspectPath = iota
	aspectHost
	aspectMethod
	aspectPlan
	aspectAddress
	aspectField
)

// aspects returns the conditions of m by which rules can be filed.
func (m *match) aspects() []aspect {
	var all []aspect
	add := func(of, n int, at func(i int) term) {
		if n == 0 {
			return
		}
		a := aspect{of, make([]term, n)}
		for i := range a.terms {
			a.terms[i] = at(i)
		}
		all = append(all, a)
	}
	add(aspectPath, len(m.paths), func(i int) term { return m.paths[i].term() })
	add(aspectHost, len(m.hosts), func(i int) term { return m.hosts[i].term() })
	add(aspectMethod, len(m.methods), func(i int) term { return exactly(m.methods[i]) })
	add(aspectPlan, len(m.plans), func(i int) term { return exactly(strconv.Itoa(m.plans[i])) })
	add(aspectAddress, len(m.ranges), func(i int) term { return prefixTerm(m.ranges[i]) })
	for i := range m.values {
		v := &m.values[i]
		if of := aspectField + v.field; len(v.in) == 0 {
			all = append(all, aspect{of, []term{{tail: true}}})
		} else {
			add(of, len(v.in), func(i int) term { return exactly(v.in[i]) })
		}
	}
	return all
}

func exactly(text string) term { return term{steps: []step{{text: text}}} }

// term returns the pattern by its segments.
func (p *pattern) term() term {
	t := term{steps: make([]step, len(p.segs)), tail: p.tail}
	for i := range p.segs {
		switch g := &p.segs[i]; g.kind {
		case literal:
			t.steps[i] = step{text: g.text}
		case glob:
			t.steps[i] = step{text: g.text, wild: true}
		default:
			t.steps[i] = step{wild: true}
		}
	}
	return t
}

// term returns the name by its labels, the last one first.
func (h host) term() term {
	labels := strings.Split(strings.TrimPrefix(h.name, "."), ".")
	t := term{steps: make([]step, len(labels)), tail: h.below}
	for i, label := range labels {
		t.steps[len(labels)-1-i] = step{text: label}
	}
	return t
}

// prefixTerm returns the addresses by the bytes that they have in common.
func prefixTerm(r addrRange) term {
	first, last := r.first.AsSlice(), r.last.AsSlice()
	t := term{tail: true, steps: []step{{text: family(r.first)}}}
	for i := range first {
		if first[i] != last[i] {
			break
		}
		t.steps = append(t.steps, step{text: string(first[i : i+1])})
	}
	return t
}

func family(a netip.Addr) string {
	if a.Is4() {
		return "4"
	}
	return "6"
}

// key returns the term as text, to count those that are alike.
func (t term) key(of int) string {
	b := strconv.AppendInt(nil, int64(of), 10)
	for _, s := range t.steps {
		if s.wild {
			b = append(b, '\x00', '*')
		}
		b = append(append(b, '\x00'), s.text...)
	}
	if t.tail {
		b = append(b, '\x00', '\x00')
	}
	return string(b)
}
