package descriptors

import (
	"math"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/internal/yamlfile"
)

// units are the units of time. A month is 30 days and a year is 365, always; like
// the others they begin at multiples of their length since 1970, a week so on a
// Thursday.
var units = []struct {
	name   string
	length time.Duration
}{
	{"second", time.Second},
	{"minute", time.Minute},
	{"hour", time.Hour},
	{"day", 24 * time.Hour},
	{"week", 7 * 24 * time.Hour},
	{"month", 30 * 24 * time.Hour},
	{"year", 365 * 24 * time.Hour},
}

// rateLimit reads the limit of a descriptor, nil if it has none.
func (c *compiler) rateLimit(f map[string]*node) *Rule {
	id := identify(c.domain.name, c.way)
	r := &Rule{
		Shadow: c.flag(f, "shadow_mode"), Quota: c.flag(f, "quota_mode"),
		DetailedMetric: c.flag(f, "detailed_metric"), ValueToMetric: c.flag(f, "value_to_metric"),
		Metadata: c.metadata(f["metadata"]), id: id,
	}
	n := f["rate_limit"]
	if n == nil || n.Kind == yamlfile.Null {
		return nil
	}
	if n.Kind != yamlfile.Mapping {
		c.fault(n, "rate_limit: "+shown(n), "write unit: and requests_per_unit: below it")
		return nil
	}
	l := c.fields(n, "unit", "requests_per_unit", "unlimited", "name", "replaces", "metadata",
		"algorithm", "burst", "window", "unit_multiplier", "on_store_failure")
	before := len(c.faults.List)
	if l["metadata"] != nil {
		if f["metadata"] != nil {
			c.fault(l["metadata"], "metadata is there twice", "write it once, beside rate_limit:")
		}
		r.Metadata = c.metadata(l["metadata"])
	}
	r.Name = ruleName(c.domain.name, c.way, id)
	c.names(l, r)
	if c.flag(l, "unlimited") {
		c.unlimited(l)
		r.Policy = stint.Unlimited(r.Name)
	} else {
		r.Policy = c.policy(n, l, id)
	}
	if r.Policy == nil || len(c.faults.List) > before {
		return nil
	}
	r.Index = len(c.set.rules)
	c.set.rules = append(c.set.rules, r)
	return r
}

// names reads a limit's name, and the names of the limits it replaces.
func (c *compiler) names(l map[string]*node, r *Rule) {
	if n := l["name"]; n != nil && n.Kind != yamlfile.Null {
		r.Label, _ = c.word(n, "name")
	}
	n := l["replaces"]
	switch {
	case n == nil || n.Kind == yamlfile.Null:
		return
	case n.Kind != yamlfile.List:
		c.fault(n, "replaces: "+shown(n), "write a list: - name: NAME")
		return
	}
	seen := make(map[string]bool)
	for _, item := range n.Items {
		if item.Kind != yamlfile.Mapping {
			c.fault(item, "replaces: "+shown(item), "write - name: NAME")
			continue
		}
		e := c.fields(item, "name")
		if e["name"] == nil {
			c.fault(item, "replaces without a name", "write - name: NAME")
			continue
		}
		name, ok := c.word(e["name"], "name")
		switch {
		case !ok:
		case name == r.Label:
			c.fault(e["name"], "a limit that replaces itself", "write the name of another limit")
		case !seen[name]:
			seen[name] = true
			r.Replaces = append(r.Replaces, name)
		}
	}
}

// unlimited refuses what makes no sense beside unlimited.
func (c *compiler) unlimited(l map[string]*node) {
	for _, name := range []string{"unit", "requests_per_unit", "window", "unit_multiplier", "burst", "algorithm"} {
		if n := l[name]; n != nil {
			c.fault(n, name+" beside unlimited: true", "leave one of them out")
		}
	}
}

// policy compiles a limit, nil after a fault.
func (c *compiler) policy(n *node, l map[string]*node, id identity) *stint.Policy {
	limit, ok := c.limit(n, l)
	a, algorithmOK := c.algorithm(l["algorithm"])
	mode, modeOK := c.mode(l["on_store_failure"])
	if !ok || !algorithmOK || !modeOK {
		return nil
	}
	key := policyKey{id.counterName(a), limit, mode}
	if p := c.policies[key]; p != nil {
		return p
	}
	if _, err := a.Compile(limit); err != nil {
		at := l["requests_per_unit"]
		if b := l["burst"]; b != nil && strings.HasPrefix(err.Error(), "burst") {
			at = b
		}
		c.fault(at, err.Error(), "")
		return nil
	}
	p, err := stint.NewPolicy(key.name, limit, a)
	if err != nil {
		c.fault(n, err.Error(), "")
		return nil
	}
	p.OnStoreFailure = mode
	c.policies[key] = p
	return p
}

// limit reads how much is allowed.
func (c *compiler) limit(n *node, l map[string]*node) (stint.Limit, bool) {
	window, ok := c.window(n, l)
	limit := stint.Limit{Window: window}
	if count := l["requests_per_unit"]; count == nil {
		c.fault(n, "rate_limit without requests_per_unit", "write how many, 0 to refuse everything, or unlimited: true")
		ok = false
	} else {
		v, countOK := c.whole(count, "requests_per_unit", 0, math.MaxUint32)
		limit.Count, ok = v, ok && countOK
	}
	if b := l["burst"]; b != nil && b.Kind != yamlfile.Null {
		v, burstOK := c.whole(b, "burst", 1, math.MaxUint32)
		limit.Burst, ok = v, ok && burstOK
	}
	return limit, ok
}

// window reads the unit of time, or the window that stands in its place.
func (c *compiler) window(n *node, l map[string]*node) (time.Duration, bool) {
	unit, window, times := l["unit"], l["window"], l["unit_multiplier"]
	switch {
	case unit != nil && window != nil:
		c.fault(window, "window beside unit", "leave one of them out")
	case window != nil && times != nil:
		c.fault(times, "unit_multiplier beside window", "leave one of them out")
	case window != nil:
		if !window.IsScalar() {
			c.fault(window, "window: "+shown(window), "write a duration such as 1m30s")
			return 0, false
		}
		d, err := stint.ParseWindow(window.Raw)
		if err != nil {
			c.fault(window, err.Error(), "")
		}
		return d, err == nil
	case unit == nil || unit.IsScalar() && unit.Raw == "":
		c.fault(n, "rate_limit without a unit", "write unit: "+yamlfile.OneOf(unitNames()))
	default:
		return c.unit(unit, times)
	}
	return 0, false
}

// unit reads a unit of time, several of them if times is given.
func (c *compiler) unit(n, times *node) (time.Duration, bool) {
	for _, u := range units {
		if !n.IsScalar() || !strings.EqualFold(u.name, n.Raw) {
			continue
		}
		if times == nil || times.Kind == yamlfile.Null {
			return u.length, true
		}
		v, ok := c.whole(times, "unit_multiplier", 1, int64(stint.Never/u.length))
		return time.Duration(v) * u.length, ok
	}
	hint := didYouMean(yamlfile.Cut(n.Raw), unitNames())
	if n.IsScalar() {
		if _, err := stint.ParseWindow(n.Raw); err == nil {
			hint = "write window: " + yamlfile.Cut(n.Raw) + " in its place, or unit: " + yamlfile.OneOf(unitNames())
		}
	}
	c.fault(n, "unit: "+shown(n), hint)
	return 0, false
}

func unitNames() []string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.name
	}
	return names
}

// algorithm reads the name of an algorithm.
func (c *compiler) algorithm(n *node) (stint.Algorithm, bool) {
	if n == nil || n.Kind == yamlfile.Null {
		return c.set.options.algorithm(), true
	}
	if n.IsScalar() {
		if a, ok := algo.ByName(n.Raw); ok {
			return a, true
		}
	}
	known := []string{"gcra"}
	for _, a := range algo.All {
		known = append(known, a.Name())
	}
	hint := "write " + yamlfile.OneOf(known)
	if n.IsScalar() {
		hint = didYouMean(n.Raw, known)
	}
	c.fault(n, "algorithm: "+shown(n), hint)
	return nil, false
}

// mode reads what to do while the store does not answer.
func (c *compiler) mode(n *node) (stint.FailureMode, bool) {
	if n == nil || n.Kind == yamlfile.Null {
		return c.set.options.OnStoreFailure, true
	}
	if n.IsScalar() {
		switch m := stint.FailureMode(n.Raw); m {
		case stint.FailLocal, stint.FailAllow, stint.FailDeny:
			return m, true
		}
	}
	c.fault(n, "on_store_failure: "+shown(n), "write local, allow or deny")
	return "", false
}
