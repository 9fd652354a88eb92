package config

import (
	"fmt"
	"strings"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// rule is one rule as it is written.
type rule struct {
	n *node
	ruleFields
}

// ruleFields are the fields of a rule.
type ruleFields struct {
	ID    word  `yaml:"id" doc:"Name of the rule and of its counters. It stays when the limit changes."`
	Match match `yaml:"match" doc:"Which requests the rule is for. All that is written must hold; left out, it is for every request."`
	Key   words `yaml:"key" doc:"What tells one bucket from another: a name of keys, or ip, method, path, host, or global for one bucket. A list makes one key of several parts."`
	rate
	Limits         many[quota, *quota]  `yaml:"limits" doc:"Several limits that all hold, each with counters of its own."`
	Plans          names[quota, *quota] `yaml:"plans" doc:"A limit for each plan instead of limit. default is for all other callers."`
	Algorithm      word                 `yaml:"algorithm" enum:"token_bucket gcra leaky_bucket fixed_window sliding_window_counter sliding_window_log" doc:"How to count. Left out, it is token_bucket."`
	Queue          queue                `yaml:"queue" doc:"With leaky_bucket: requests wait instead of being refused."`
	Missing        word                 `yaml:"missing" enum:"ip skip deny share" doc:"What to do with a request without the key: count its address (ip, as if left out), skip the rule, deny it, or let all of them share a bucket."`
	Cost           whole                `yaml:"cost" doc:"What one request takes. Left out, it is 1; 0 takes nothing and only asks whether something is left."`
	Mode           word                 `yaml:"mode" enum:"enforce shadow" doc:"shadow decides and counts, and refuses nothing."`
	Exempt         toggle               `yaml:"exempt" doc:"No limit and no later rule for what matches."`
	Stop           toggle               `yaml:"stop" doc:"The last rule for what matches."`
	Unlimited      toggle               `yaml:"unlimited" doc:"Counted in metrics, never refused."`
	OnStoreFailure word                 `yaml:"on_store_failure" enum:"local allow deny" doc:"What to do while a shared store does not answer."`
	CountIf        later                `yaml:"count_if"`
	Lease          later                `yaml:"lease"`
}

// queue bounds those that wait.
type queue struct {
	n *node
	queueFields
}

// queueFields are the fields of a queue.
type queueFields struct {
	MaxWait    span  `yaml:"max_wait" doc:"The longest wait, a duration."`
	MaxWaiting whole `yaml:"max_waiting" doc:"How many may wait at most."`
}

func (q *queue) set(d *decoder, n *node, t tag) {
	if d.fields(n, &q.queueFields, t) {
		q.n = n
	}
}

// set reads a rule; its messages begin with its id.
func (r *rule) set(d *decoder, n *node, _ tag) {
	r.n = n
	d.rule = rulePrefix(n)
	if n.Kind == yamlfile.Mapping {
		if a := n.Find("algorithm"); a != nil && a.Value == "concurrency" {
			d.fault(a, `algorithm "concurrency" comes in a later version`, "write another one")
		}
		if !d.fields(n, &r.ruleFields, tag{}) {
			r.n = nil
		}
	} else {
		d.rule = ""
		d.wrongKind(n, "rule", "write a mapping such as { id: per-address, key: ip, limit: 100 per minute }")
		r.n = nil
	}
	d.rule = ""
}

// rulePrefix names a rule at the start of a message.
func rulePrefix(n *node) string {
	if id := n.Find("id"); id != nil && (id.Kind == yamlfile.Text || id.Kind == yamlfile.Number) && id.Raw != "" {
		return fmt.Sprintf("rule%s: ", id.Shown())
	}
	return "rule without id: "
}

// match is which requests a rule is for, as it is written.
type match struct {
	n *node
	matchFields
}

// matchFields are the fields of a match.
type matchFields struct {
	Plan       words  `yaml:"plan" doc:"Plans of the caller."`
	Path       words  `yaml:"path" doc:"Patterns of paths: /v1/orders/{id}, /v1/* for one segment, /v1/** for all below."`
	Method     words  `yaml:"method" doc:"Methods, such as GET."`
	Host       words  `yaml:"host" doc:"Hosts, or *.example.com for all below."`
	Header     values `yaml:"header" doc:"Names of headers that must be there, or a mapping of names to values."`
	Query      values `yaml:"query" doc:"Names of query parameters that must be there, or a mapping of names to values."`
	Cookie     values `yaml:"cookie" doc:"Names of cookies that must be there, or a mapping of names to values."`
	Descriptor values `yaml:"descriptor" doc:"Keys of entries of the descriptors that Envoy sends, or a mapping of keys to values."`
	IP         words  `yaml:"ip" doc:"Addresses or networks of the client, such as 10.0.0.0/8."`
	Has        words  `yaml:"has" doc:"Names of keys that must be there."`
	Lacks      words  `yaml:"lacks" doc:"Names of keys that must not be there."`
	When       later  `yaml:"when" hint:"use the other fields of match"`
}

func (m *match) set(d *decoder, n *node, t tag) {
	if d.fields(n, &m.matchFields, t) {
		m.n = n
	}
}

// values are what some named things must be: names alone, which must be there,
// or names with one value or several.
type values struct {
	n *node
	v []entry[[]*node]
}

func (v *values) set(d *decoder, n *node, t tag) {
	v.n = n
	if n.Kind != yamlfile.Mapping {
		var present words
		present.set(d, n, t)
		for _, w := range present.v {
			v.v = append(v.v, entry[[]*node]{key: w.n})
		}
		return
	}
	seen := make(map[string]*node)
	for _, f := range n.Fields {
		name := strings.ToLower(f.Key.Value)
		if first := seen[name]; first != nil {
			d.twice(f.Key, first, t)
			continue
		}
		seen[name] = f.Key
		if items, ok := v.items(d, f, t.name+"."+yamlfile.Cut(f.Key.Raw)); ok {
			v.v = append(v.v, entry[[]*node]{f.Key, items})
		}
	}
}

// items returns the values under one name, numbers and the like included.
func (v *values) items(d *decoder, f yamlfile.Field, name string) ([]*node, bool) {
	items := []*node{f.Value}
	if f.Value.Kind == yamlfile.List {
		items = f.Value.Items
	}
	for _, item := range items {
		switch {
		case item.Faulty:
			return nil, false
		case item.Kind == yamlfile.Null:
			d.fault(item, name+" is empty", "write a value, or [] to ask only that it is there")
			return nil, false
		case !item.IsScalar():
			d.wrongKind(item, name, "write a value or a list of values")
			return nil, false
		}
		if d.values++; d.values > maxValues {
			d.fault(item, "aliases repeat too much", "write fewer of them")
			return nil, false
		}
	}
	return items, true
}
