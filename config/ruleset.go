package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/clientip"
	"github.com/stint-dev/stint/internal/yamlfile"
	"github.com/stint-dev/stint/rules"
)

// rules reads the list of rules.
func (b *builder) rules(rs *many[rule, *rule]) {
	n := b.root.Find("rules")
	switch {
	case n == nil && (b.root.Find("envoy") != nil || b.file.Listen.RESP != ""):
		return // Those who ask there bring their own limits.
	case n == nil:
		b.fault(b.root, "no rules", "write rules: with a list below, or rules: [] to let everything through")
		return
	case rs.n == nil:
		return
	}
	for i := range rs.v {
		if r := &rs.v[i]; r.n != nil {
			b.rule(r)
		}
	}
}

// rule adds one rule to the Spec.
func (b *builder) rule(r *rule) {
	path := fmt.Sprintf("rules[%d]", len(b.file.Spec.Rules))
	b.decoder.rule = rulePrefix(r.n)
	b.put(path, r.n)
	b.put(path+".id", firstOf(r.ID.n, r.n))
	b.put(path+".match", r.Match.n)
	out := rules.Rule{
		ID: r.ID.v, Match: b.match(&r.Match, path+".match"), Key: b.texts(&r.Key, path+".key"),
		Missing: rules.Missing(r.Missing.v), Algorithm: r.Algorithm.v,
		Cost: r.Cost.v, Free: r.Cost.n != nil && r.Cost.v == 0,
		Shadow: r.Mode.v == "shadow", Exempt: r.Exempt.v, Stop: r.Stop.v, Unlimited: r.Unlimited.v,
		OnStoreFailure: stint.FailureMode(r.OnStoreFailure.v),
	}
	for name, n := range map[string]*node{
		"missing": r.Missing.n, "algorithm": r.Algorithm.n, "cost": r.Cost.n, "mode": r.Mode.n, "shadow": r.Mode.n,
		"exempt": r.Exempt.n, "stop": r.Stop.n, "unlimited": r.Unlimited.n, "free": r.Cost.n,
		"on_store_failure": r.OnStoreFailure.n, "queue": r.Queue.n,
		"queue.max_wait": r.Queue.MaxWait.n, "queue.max_waiting": r.Queue.MaxWaiting.n,
	} {
		b.put(path+"."+name, n)
	}
	if r.Queue.n != nil {
		out.Queue = &rules.Queue{MaxWait: r.Queue.MaxWait.v, MaxWaiting: r.Queue.MaxWaiting.v}
	}
	out.Limits = b.limits(r, path)
	out.Plans = b.tiers(&r.Plans, path)
	b.file.Spec.Rules = append(b.file.Spec.Rules, out)
	b.decoder.rule = ""
}

// limits are the one limit of a rule, or its list of them.
func (b *builder) limits(r *rule, path string) []stint.Limit {
	if r.Limits.n == nil {
		if !r.given() {
			return nil
		}
		l, ok := r.limit(b.decoder, r.n)
		if !ok {
			r.n.Faulty = true
			return nil
		}
		at := firstOf(r.Limit.n, r.Capacity.n)
		b.put(path+".limits", at)
		b.put(path+".limits[0]", at)
		return []stint.Limit{l}
	}
	if n := firstOf(r.Limit.n, r.Window.n, r.Burst.n, r.Capacity.n, r.RefillPerSec.n); n != nil {
		b.fault(n, nameOf(r.n, n)+n.Shown()+" beside limits", "write it into the list")
	}
	b.put(path+".limits", r.Limits.n)
	var all []stint.Limit
	for _, q := range r.Limits.v {
		if q.ok {
			b.put(fmt.Sprintf("%s.limits[%d]", path, len(all)), q.n)
			all = append(all, q.limit)
		}
	}
	return all
}

// tiers are the limits of a rule by plan.
func (b *builder) tiers(ps *names[quota, *quota], path string) map[string]stint.Limit {
	if ps.n == nil {
		return nil
	}
	b.put(path+".plans", ps.n)
	of := make(map[string]stint.Limit, len(ps.v))
	for _, e := range ps.v {
		b.put(path+".plans."+e.key.Value, e.value.n)
		if e.value.ok {
			of[e.key.Value] = e.value.limit
		}
	}
	return of
}

// texts returns the values of w and remembers their places.
func (b *builder) texts(w *words, path string) []string {
	b.put(path, w.n)
	for i, one := range w.v {
		b.put(fmt.Sprintf("%s[%d]", path, i), one.n)
	}
	return w.texts()
}

func (b *builder) match(m *match, path string) rules.Match {
	if m.n != nil {
		b.noEmptyLists(m.n)
	}
	return rules.Match{
		Plan: b.texts(&m.Plan, path+".plan"), Path: b.texts(&m.Path, path+".path"),
		Method: b.texts(&m.Method, path+".method"), Host: b.texts(&m.Host, path+".host"),
		Header: b.values(&m.Header, path+".header"), Query: b.values(&m.Query, path+".query"),
		Cookie: b.values(&m.Cookie, path+".cookie"), Descriptor: b.values(&m.Descriptor, path+".descriptor"), IP: b.networks(&m.IP, path+".ip"),
		Has: b.texts(&m.Has, path+".has"), Lacks: b.texts(&m.Lacks, path+".lacks"),
	}
}

// noEmptyLists refuses conditions that no value fulfils, or any, as one reads it.
func (b *builder) noEmptyLists(match *node) {
	for _, f := range match.Fields {
		if f.Value.Kind == yamlfile.List && len(f.Value.Items) == 0 {
			b.fault(f.Value, "match."+yamlfile.Cut(f.Key.Raw)+" is an empty list", "leave it out")
		}
	}
}

func (b *builder) values(v *values, path string) map[string][]string {
	if v.n == nil {
		return nil
	}
	b.put(path, v.n)
	of := make(map[string][]string, len(v.v))
	for _, e := range v.v {
		b.put(path+"."+e.key.Value, e.key)
		var texts []string
		for i, n := range e.value {
			b.put(fmt.Sprintf("%s.%s[%d]", path, e.key.Value, i), n)
			texts = append(texts, n.Value)
		}
		of[e.key.Value] = texts
	}
	return of
}

// networks reads addresses and networks.
func (b *builder) networks(w *words, path string) []netip.Prefix {
	b.put(path, w.n)
	var all []netip.Prefix
	for _, one := range w.v {
		var o clientip.Options
		if err := o.Trust(one.v); err != nil || len(o.TrustedProxies) != 1 {
			hint := `write a network such as "10.0.0.0/8" or an address such as "10.0.0.5"`
			var fe *clientip.FieldError
			if errors.As(err, &fe) && !one.n.Filled && !strings.Contains(fe.Hint, "private") {
				hint = fe.Hint
			}
			b.fault(one.n, "match.ip"+one.n.Shown(), hint)
			continue
		}
		b.put(fmt.Sprintf("%s[%d]", path, len(all)), one.n)
		all = append(all, o.TrustedProxies[0])
	}
	return all
}
