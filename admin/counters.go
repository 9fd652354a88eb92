package admin

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stint-dev/stint"
)

// outcome is what became of one policy's say.
type outcome int

// The outcomes. A policy that would have let a request through which another one
// refused was not charged.
const (
	allowed outcome = iota
	refused
	shadowRefused
	unlimited
	notCharged
	outcomes
)

func (o outcome) String() string {
	return [outcomes]string{"allowed", "refused", "shadow_refused", "unlimited", "not_charged"}[o]
}

// outcomeOf says what became of r in a request that was let through or not.
func outcomeOf(r *stint.Result, requestAllowed bool) outcome {
	switch {
	case r.Unlimited:
		return unlimited
	case !r.OK && r.Shadow:
		return shadowRefused
	case !r.OK:
		return refused
	case !requestAllowed || r.Cost == 0:
		return notCharged
	}
	return allowed
}

// policyCounters are the counters of one policy.
type policyCounters [outcomes]atomic.Int64

func (c *policyCounters) count(r *stint.Result, requestAllowed bool) {
	c[outcomeOf(r, requestAllowed)].Add(1)
}

// maxPolicies bounds the number of policies that are counted by name.
const maxPolicies = 10_000

// otherPolicies is the label of those above the bound.
const otherPolicies = "(others)"

// ruleCounters finds the counters of a policy without a lock. It is a
// prometheus.Collector.
type ruleCounters struct {
	by   atomic.Pointer[map[string]*policyCounters]
	mu   sync.Mutex // guards the making of by
	desc *prometheus.Desc
}

func (c *ruleCounters) init() {
	c.desc = prometheus.NewDesc("stint_decisions_total",
		"What rules said to requests. not_charged: the rule would have allowed a request that another rule refused.",
		[]string{"rule", "result"}, nil)
	c.by.Store(&map[string]*policyCounters{})
}

// of returns the counters of a policy.
func (c *ruleCounters) of(policy string) *policyCounters {
	if p := c.find(policy); p != nil {
		return p
	}
	c.add(policy)
	return c.find(policy)
}

// find returns the counters of a policy that was seen before, or of all those
// above the bound.
func (c *ruleCounters) find(policy string) *policyCounters {
	by := *c.by.Load()
	if p, ok := by[policy]; ok {
		return p
	}
	return by[otherPolicies]
}

// add makes the counters of policies that were not seen before.
func (c *ruleCounters) add(policies ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := maps.Clone(*c.by.Load())
	for _, policy := range policies {
		if by[policy] == nil && len(by) >= maxPolicies {
			policy = otherPolicies
		}
		if by[policy] == nil {
			by[policy] = new(policyCounters)
		}
	}
	c.by.Store(&by)
}

// label returns s as a label, which is UTF-8.
func label(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}

// Describe implements prometheus.Collector.
func (c *ruleCounters) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *ruleCounters) Collect(to chan<- prometheus.Metric) {
	for policy, counters := range *c.by.Load() {
		for o := range outcomes {
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(counters[o].Load()), label(policy), o.String())
		}
	}
}

// requestCounters count whole requests. They are a prometheus.Collector.
type requestCounters struct {
	allowed, refused, unavailable atomic.Int64

	desc *prometheus.Desc
}

func (c *requestCounters) init() {
	c.desc = prometheus.NewDesc("stint_requests_total",
		"Requests decided about. unavailable: the store did not answer.", []string{"result"}, nil)
}

func (c *requestCounters) count(d *stint.Decision) {
	switch {
	case d.Reason == stint.ReasonUnavailable:
		c.unavailable.Add(1)
	case d.Allowed:
		c.allowed.Add(1)
	default:
		c.refused.Add(1)
	}
}

// Describe implements prometheus.Collector.
func (c *requestCounters) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *requestCounters) Collect(to chan<- prometheus.Metric) {
	for _, v := range [...]struct {
		result string
		n      *atomic.Int64
	}{{"allowed", &c.allowed}, {"refused", &c.refused}, {"unavailable", &c.unavailable}} {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(v.n.Load()), v.result)
	}
}
