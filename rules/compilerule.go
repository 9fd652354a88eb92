package rules

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// defaultPlan stands in a rule's plans for callers of any other plan and of none.
const defaultPlan = "default"

// rule checks one rule.
func (c *compiler) rule(i int) rule {
	path := indexed("rules", i)
	r := &c.spec.Rules[i]
	ru := rule{id: r.ID, shadow: r.Shadow, exempt: r.Exempt, stop: r.Stop, unlimited: r.Unlimited}
	ru.match = c.match(path+".match", &r.Match)
	ru.cost = c.cost(path, r)
	ru.missing = c.missing(path, r)
	c.failureMode(path, r)
	algorithm := c.algorithm(path, r)
	if len(r.Key) > 0 {
		ru.key = c.ruleKey(path+".key", r, &ru.match)
	}
	switch {
	case r.Exempt:
		ru.key = nil
		c.exempt(path, r)
	case r.Unlimited:
		ru.key = nil
		if len(r.Limits)+len(r.Plans) > 0 {
			c.fault(path+".unlimited", "rule %s is unlimited and has a limit: leave one of them out", quote(r.ID))
		}
		ru.policies = []*stint.Policy{stint.Unlimited(r.ID)}
	default:
		if len(r.Key) == 0 {
			c.fault(path+".key", "rule %s needs a key: write ip, one of your keys, or global for one bucket for all", quote(r.ID))
		}
		c.limits(path, r, algorithm, &ru)
	}
	return ru
}

// exempt checks that an exempt rule does not say what it would never do.
func (c *compiler) exempt(path string, r *Rule) {
	if len(r.Limits)+len(r.Plans) > 0 || r.Unlimited {
		c.fault(path+".exempt", "rule %s is exempt and has a limit: leave one of them out", quote(r.ID))
	}
	if r.Shadow {
		c.fault(path+".shadow", "rule %s is exempt, which can not be tried: in shadow it would do nothing", quote(r.ID))
	}
	if r.Queue != nil || r.Cost != 0 || r.Free || len(r.Key) > 0 {
		c.warn(path+".exempt", "rule %s is exempt: its key, cost and queue mean nothing", quote(r.ID))
	}
}

// cost checks what a request costs.
func (c *compiler) cost(path string, r *Rule) int64 {
	switch {
	case r.Cost < 0:
		c.fault(path+".cost", "cost %d is negative: at least 1, or free", r.Cost)
	case r.Cost > stint.MaxUnits:
		c.fault(path+".cost", "cost %d is too large: at most %d", r.Cost, stint.MaxUnits)
	case r.Free && r.Cost > 0:
		c.fault(path+".cost", "cost %d of a free rule: leave one of them out", r.Cost)
	}
	if r.Free {
		return 0
	}
	return max(r.Cost, 1)
}

// missing checks what happens without the key.
func (c *compiler) missing(path string, r *Rule) Missing {
	switch m := r.Missing; m {
	case "":
		return MissingIP
	case MissingIP, MissingSkip, MissingDeny, MissingShare:
		if m == MissingDeny && r.Shadow {
			c.warn(path+".missing", "rule %s is in shadow: a request without the key passes and is not counted", quote(r.ID))
		}
		return m
	default:
		c.fault(path+".missing", "%s: %s", quote(string(m)),
			DidYouMean(string(m), []string{string(MissingIP), string(MissingSkip), string(MissingDeny), string(MissingShare)}))
		return MissingIP
	}
}

// failureMode checks what happens while a store can not answer.
func (c *compiler) failureMode(path string, r *Rule) {
	switch f := r.OnStoreFailure; f {
	case "", stint.FailLocal, stint.FailAllow, stint.FailDeny:
	default:
		c.fault(path+".on_store_failure", "%s: %s", quote(string(f)),
			DidYouMean(string(f), []string{string(stint.FailLocal), string(stint.FailAllow), string(stint.FailDeny)}))
	}
}

// algorithm finds the rule's way of counting, nil if it has none.
func (c *compiler) algorithm(path string, r *Rule) stint.Algorithm {
	name := r.Algorithm
	if name == "" {
		name = algo.TokenBucket.Name()
	}
	a, ok := algo.ByName(name)
	switch {
	case !ok:
		names := []string{"gcra"}
		for _, known := range algo.All {
			names = append(names, known.Name())
		}
		c.fault(path+".algorithm", "%s is no algorithm: %s", quote(name), DidYouMean(name, names))
		return nil
	case r.Queue == nil:
		return a
	case a != stint.Algorithm(algo.LeakyBucket):
		c.fault(path+".queue", "%s has no queue: count with leaky_bucket, or leave the queue out", name)
		return nil
	case r.Queue.MaxWait < 0 || r.Queue.MaxWaiting < 0:
		c.fault(path+".queue", "a queue for %v and %d waiting: the bounds are above 0", r.Queue.MaxWait, r.Queue.MaxWaiting)
		return nil
	case r.Queue.MaxWait == 0 && r.Queue.MaxWaiting == 0:
		c.fault(path+".queue", "a queue needs a bound: give max_wait, max_waiting or both")
		return nil
	}
	return algo.LeakyQueue{MaxWait: r.Queue.MaxWait, MaxWaiting: r.Queue.MaxWaiting}
}

// ruleKey checks the parts of the rule's key.
func (c *compiler) ruleKey(path string, r *Rule, m *match) []int {
	if len(r.Key) > MaxParts {
		c.fault(path, "a key of %d parts: at most %d", len(r.Key), MaxParts)
	}
	var parts []int
	for i, name := range r.Key {
		at := indexed(path, i)
		k, ok := c.keyNamed(at, name)
		switch {
		case !ok:
		case c.set.keys[k].kind == globalKey:
			if len(r.Key) > 1 {
				c.fault(at, "global makes one bucket for all: it can only stand alone")
			}
		case slices.Contains(parts, k):
			c.warn(at, "%s is in the key twice: leave one out", name)
		default:
			c.captured(at, &c.set.keys[k], m)
			parts = append(parts, k)
		}
	}
	return parts
}

// captured checks that a pattern of the rule has the name of a parameter.
func (c *compiler) captured(path string, k *key, m *match) {
	if k.kind == paramKey && !slices.ContainsFunc(m.paths, func(p pattern) bool { return slices.Contains(p.names, k.param) }) {
		c.fault(path, "no path of the rule has {%s}, which key %s is: write one such as /things/{%s}", k.param, k.name, k.param)
	}
}

// limits compiles the rule's limits.
func (c *compiler) limits(path string, r *Rule, algorithm stint.Algorithm, ru *rule) {
	switch {
	case len(r.Limits) > 0 && len(r.Plans) > 0:
		c.fault(path+".plans", "rule %s has a limit and plans: leave one of them out, the plan default is for all others", quote(r.ID))
	case len(r.Limits)+len(r.Plans) == 0:
		c.fault(path, "rule %s has no limit: give it one such as 100 per minute, or make it unlimited or exempt", quote(r.ID))
	case len(r.Limits) > stint.MaxCharges:
		c.fault(path+".limits", "%d limits in one rule: at most %d", len(r.Limits), stint.MaxCharges)
		return
	}
	names := limitNames(r)
	ru.policies = make([]*stint.Policy, len(r.Limits))
	for i, l := range r.Limits {
		at := indexed(path+".limits", i)
		if slices.Contains(r.Limits[:i], l) {
			c.warn(at, "limit %v is there twice: leave one out", l)
		}
		ru.policies[i] = c.policy(at, limited{names[i], l, algorithm, r.OnStoreFailure}, ru)
	}
	if len(r.Plans) > 0 {
		c.planLimits(path+".plans", r, algorithm, ru)
	}
}

// planLimits compiles a limit for each plan.
func (c *compiler) planLimits(path string, r *Rule, algorithm stint.Algorithm, ru *rule) {
	ru.plans = new(planLimits)
	for _, plan := range slices.Sorted(maps.Keys(r.Plans)) {
		at := path + "." + plan
		p := c.policy(at, limited{r.ID, r.Plans[plan], algorithm, r.OnStoreFailure}, ru)
		ru.plans.planned = append(ru.plans.planned, planned{plan, p})
		if plan == defaultPlan {
			ru.plans.others = []*stint.Policy{p}
		}
		if _, known := c.planAt[plan]; plan == defaultPlan && !known {
			continue
		}
		if n := c.planNumber(at, plan); n > 0 {
			ru.plans.numbers = append(ru.plans.numbers, n) // Numbers are in the order of the names.
			ru.plans.policies = append(ru.plans.policies, p)
		}
	}
}

// limited is what a policy is made of.
type limited struct {
	name      string
	limit     stint.Limit
	algorithm stint.Algorithm
	failure   stint.FailureMode
}

// policy compiles one limit and warns of its traps. It is nil after a fault.
func (c *compiler) policy(path string, of limited, ru *rule) *stint.Policy {
	l, algorithm := of.limit, of.algorithm
	if algorithm == nil {
		return nil
	}
	if _, err := algorithm.Compile(l); err != nil {
		c.fault(path, "%v", err)
		return nil
	}
	if of.name == "" || ru.id == "" {
		return nil // Said already.
	}
	p, err := stint.NewPolicy(of.name, l, algorithm)
	if err != nil {
		c.fault(path, "%v", err)
		return nil
	}
	p.OnStoreFailure = of.failure
	_, queues := algorithm.(stint.QueueAlgorithm)
	switch most := p.Capacity(); {
	case l.Count == 0:
		c.warn(path, "limit 0 refuses everything")
	case ru.cost > most && !queues:
		c.warn(path, "cost %d is above the %d that can pass at once: no such request ever passes", ru.cost, most)
	}
	_, traps := algorithm.Explain(l)
	for _, trap := range traps {
		c.warn(path, "%s", trap)
	}
	return p
}

// limitNames names the policies of a rule's limits. Names do not depend on the
// order of the limits: of several with one window the smallest comes first.
func limitNames(r *Rule) []string {
	names := make([]string, len(r.Limits))
	if len(names) == 1 {
		names[0] = r.ID
		return names
	}
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := r.Limits[a], r.Limits[b]
		return cmp.Or(cmp.Compare(x.Count, y.Count), cmp.Compare(x.Capacity(), y.Capacity()))
	})
	seen := make(map[time.Duration]int)
	for _, i := range order {
		w := r.Limits[i].Window
		names[i] = r.ID + "/" + windowName(w)
		if seen[w]++; seen[w] > 1 {
			names[i] += "#" + strconv.Itoa(seen[w])
		}
	}
	return names
}

// windowName is a window in one word: minute, 30s.
func windowName(w time.Duration) string {
	_, name, _ := strings.Cut(stint.Limit{Count: 1, Window: w}.String(), " per ")
	return name
}
