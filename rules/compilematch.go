package rules

import (
	"maps"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
)

// match checks the conditions of a rule.
func (c *compiler) match(path string, m *Match) match {
	out := match{written: c.written(m)}
	var methods distinct[string]
	for i, method := range m.Method {
		if at := indexed(path+".method", i); c.method(at, method) {
			methods.add(&c.faults, at, strings.ToUpper(method))
		}
	}
	var hosts distinct[host]
	for i, name := range m.Host {
		if h, ok := c.host(indexed(path+".host", i), name); ok {
			hosts.add(&c.faults, indexed(path+".host", i), h)
		}
	}
	out.methods, out.hosts = methods.list, hosts.list
	var prefixes []netip.Prefix
	for i, p := range m.IP {
		if q, ok := c.prefix(indexed(path+".ip", i), p); ok {
			prefixes = append(prefixes, q)
		}
	}
	if len(prefixes) > 0 {
		out.ranges, out.written.ip = rangesOf(prefixes), prefixes
	}
	for i, text := range m.Path {
		p, err := parsePattern(text, c.set.spelling)
		if err != nil {
			c.fault(indexed(path+".path", i), "%v", err)
			continue
		}
		out.paths = append(out.paths, p)
	}
	c.planMatch(path+".plan", m, &out)
	c.conditions(path, m, &out)
	out.has = c.keyList(path+".has", m.Has)
	out.lacks = c.keyList(path+".lacks", m.Lacks)
	c.contradictions(path, &out)
	return out
}

// written returns what is kept of m as it was written. Matches that say nothing of it
// share one.
func (c *compiler) written(m *Match) *written {
	if len(m.Plan)+len(m.Host)+len(m.IP) == 0 {
		return c.nothingWritten
	}
	return &written{plan: m.Plan, host: m.Host}
}

// distinct collects the elements of a list, each of which should be in it once.
type distinct[T comparable] struct {
	list []T
	seen map[T]bool // of a longer list
}

func (d *distinct[T]) add(f *faults, path string, v T) {
	const short = 8
	if d.seen[v] || len(d.list) <= short && slices.Contains(d.list, v) {
		f.warn(path, "this is in the list twice")
		return
	}
	if d.list = append(d.list, v); len(d.list) <= short {
		return
	}
	if d.seen == nil {
		d.seen = make(map[T]bool)
		for _, earlier := range d.list {
			d.seen[earlier] = true
		}
	}
	d.seen[v] = true
}

// method checks a method. Any token can be one, but some are hardly meant.
func (c *compiler) method(path, name string) bool {
	upper := strings.ToUpper(name)
	known := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	near, isNear := nearest(upper, known)
	switch {
	case upper == "*" || upper == "ANY" || upper == "ALL":
		c.fault(path, "%s is no method: leave method out for all of them", quote(name))
		return false
	case !isToken(name):
		c.fault(path, "%s is no method: write one such as GET", quote(name))
		return false
	case isNear && near != upper:
		c.warn(path, "%s is a method that hardly anybody sends: did you mean %s?", quote(name), near)
	}
	return true
}

// host checks a name of a host.
func (c *compiler) host(path, name string) (host, bool) {
	plain, below := strings.CutPrefix(strings.ToLower(strings.TrimSuffix(name, ".")), "*.")
	switch {
	case strings.Contains(name, "://") || strings.Contains(name, "/"):
		c.fault(path, "%s is an address of a page: write the host alone, such as api.example.com", quote(name))
	case strings.Contains(plain, "*"):
		c.fault(path, "host %s: * can only stand for all below a name: write one such as *.example.com, or leave host out for all", quote(name))
	case strings.Contains(plain, ":") && !strings.HasPrefix(plain, "["):
		c.fault(path, "host %s has a port: requests are matched without it: leave it out", quote(name))
	case plain == "" || len(plain) > maxNameOfField || !isHostName(plain):
		c.fault(path, "%s is no name of a host: write one such as api.example.com, in its ASCII form", quote(name))
	case below:
		return host{name: "." + plain, below: true}, true
	default:
		return host{name: plain}, true
	}
	return host{}, false
}

func isHostName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(".-_[]:", c) < 0 {
			return false
		}
	}
	return true
}

// prefix checks a range of addresses.
func (c *compiler) prefix(path string, p netip.Prefix) (netip.Prefix, bool) {
	if !p.IsValid() {
		c.fault(path, "%v is no range of addresses: write one such as 10.0.0.0/8", p)
		return p, false
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			c.fault(path, "%v covers more than the IPv4 addresses: write it as IPv4, or with at least 96 bits", p)
			return p, false
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if m := p.Masked(); m != p {
		c.warn(path, "%v means %v", p, m)
		p = m
	}
	return p, true
}

// planMatch checks the plans of a match.
func (c *compiler) planMatch(path string, m *Match, out *match) {
	var plans distinct[int]
	for i, name := range m.Plan {
		if n := c.planNumber(indexed(path, i), name); n > 0 {
			plans.add(&c.faults, indexed(path, i), n)
		}
	}
	out.plans = plans.list
	if len(m.Plan) > 0 && len(out.plans) == 0 {
		out.plans = []int{-1} // Nobody's.
	}
	slices.Sort(out.plans)
}

// conditions checks what headers, query parameters and cookies have to be.
func (c *compiler) conditions(path string, m *Match, out *match) {
	add := func(kind string, names map[string][]string, fieldKind stint.FieldKind, check func(path, name string)) {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			check(path+"."+kind+"."+name, name)
			canonical := name
			if fieldKind == stint.FieldHeader {
				canonical = textproto.CanonicalMIMEHeaderKey(name)
			}
			f := c.set.fields.index(stint.Field{Kind: fieldKind, Name: canonical})
			words := kind + " " + canonical
			if kind == "query" {
				words = "query parameter " + canonical
			}
			c.checkValues(path+"."+kind+"."+name, names[name])
			out.values = append(out.values, condition{field: f, in: slices.Clone(names[name]), words: words})
		}
	}
	add("header", m.Header, stint.FieldHeader, c.checkHeader)
	add("query", m.Query, stint.FieldQuery, c.checkFree)
	add("cookie", m.Cookie, stint.FieldCookie, c.checkCookie)
	add("descriptor", m.Descriptor, stint.FieldDescriptor, c.checkFree)
}

// checkValues warns of values that look as if they were patterns.
func (c *compiler) checkValues(path string, values []string) {
	for i, v := range values {
		if strings.Contains(strings.ReplaceAll(v, "*/*", ""), "*") {
			c.warn(indexed(path, i), "%s is compared as it is: no star stands for anything in a value", quote(v))
		}
	}
}

// keyList checks the keys of has or lacks.
func (c *compiler) keyList(path string, names []string) []int {
	var list distinct[int]
	for i, name := range names {
		at := indexed(path, i)
		k, ok := c.keyNamed(at, name)
		if ok && c.set.keys[k].kind == globalKey {
			c.fault(at, "global is always there: leave it out")
		} else if ok {
			list.add(&c.faults, at, k)
		}
	}
	return list.list
}

// contradictions warns of conditions that can not hold together.
func (c *compiler) contradictions(path string, m *match) {
	for _, k := range m.lacks {
		name := c.set.keys[k].name
		switch {
		case slices.Contains(m.has, k):
			c.warn(path, "the rule can never match: it wants %s to be there and to be missing", name)
		case k == c.set.planKey && len(m.plans) > 0:
			c.warn(path, "the rule can never match: without %s there is no plan", name)
		}
	}
}
