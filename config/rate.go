package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/yamlfile"
)

// rate is the fields that make a limit, one way or another.
type rate struct {
	Limit        amount  `yaml:"limit" doc:"How much is allowed: a sentence such as \"100 per minute, burst 20\", or a number with window beside it. 0 refuses everything."`
	Window       span    `yaml:"window,period" doc:"The window of a limit that is a number, a duration such as 1m30s. period is another word for it."`
	Burst        whole   `yaml:"burst" doc:"How much may come at once. Left out, it is the limit."`
	Capacity     whole   `yaml:"capacity" doc:"Size of the bucket, with refill_per_sec instead of limit."`
	RefillPerSec decimal `yaml:"refill_per_sec" doc:"How much comes back each second, such as 1.67; kept exactly."`
}

// amount is the field limit: a sentence, a number, or a mapping of its own.
type amount struct {
	n        *node
	number   whole
	sentence stint.Limit
	nested   *rate
}

func (a *amount) set(d *decoder, n *node, t tag) {
	switch {
	case n.Kind == yamlfile.Mapping:
		a.n, a.nested = n, new(rate)
		if !d.fields(n, a.nested, t) {
			a.n = nil
		}
	case isNumeric(n):
		t.name = "limit"
		if a.number.set(d, n, t); a.number.n != nil {
			a.n = n
		}
	case n.Kind == yamlfile.Text:
		if l, ok := d.sentence(n); ok {
			a.n, a.sentence = n, l
		}
	default:
		d.wrongKind(n, t.name, `write it like "100 per minute, burst 20"`)
	}
}

// isSentence says whether the limit was written as one.
func (a *amount) isSentence() bool { return a.n != nil && a.nested == nil && a.number.n == nil }

// sentence reads a limit written as one.
func (d *decoder) sentence(n *node) (stint.Limit, bool) {
	l, err := stint.ParseLimit(n.Value)
	switch {
	case err == nil:
		return l, true
	case n.Filled || n.Hidden:
		d.fault(n, "limit"+n.Shown()+" is none once the environment is filled in", `it must read like "100 per minute, burst 20"`)
	case len(n.Value) > yamlfile.MaxShown:
		d.fault(n, "limit"+n.Shown()+" is none", `write it like "100 per minute, burst 20"`)
	default:
		message, hint := cutHint(err.Error())
		if !beginsHint(": " + hint) {
			message, hint = err.Error(), `write it like "100 per minute, burst 20"`
		}
		d.fault(n, message, hint)
	}
	return stint.Limit{}, false
}

// given says whether r says anything.
func (r *rate) given() bool {
	return r.Limit.n != nil || r.Window.n != nil || r.Burst.n != nil || r.Capacity.n != nil || r.RefillPerSec.n != nil
}

// limit makes a limit of the fields. at is the mapping they are in; it says false
// after a fault, also an earlier one.
func (r *rate) limit(d *decoder, at *node) (stint.Limit, bool) {
	for _, f := range at.Fields {
		if isRateField(f.Key.Value) && anyFaulty(f.Value, make(map[*node]bool)) {
			return stint.Limit{}, false
		}
	}
	switch {
	case r.Limit.nested != nil:
		if n := firstOf(r.Window.n, r.Burst.n, r.Capacity.n, r.RefillPerSec.n); n != nil {
			d.fault(n, "limit is a mapping, and "+nameOf(at, n)+" stands beside it", "write it into the mapping")
			return stint.Limit{}, false
		}
		return r.Limit.nested.limit(d, r.Limit.n)
	case r.Capacity.n != nil || r.RefillPerSec.n != nil:
		return r.bucket(d, at)
	case r.Limit.isSentence():
		return r.sentence(d, at)
	case r.Limit.n != nil:
		return r.counted(d, at)
	}
	if misspelt(at) {
		return stint.Limit{}, false
	}
	if n := firstOf(r.Window.n, r.Burst.n); n != nil {
		d.fault(n, nameOf(at, n)+n.Shown()+" without limit", "write limit beside it")
	} else {
		d.fault(at, "no limit", `write limit: 100 per minute`)
	}
	return stint.Limit{}, false
}

// bucket is capacity with refill_per_sec.
func (r *rate) bucket(d *decoder, at *node) (stint.Limit, bool) {
	if n := firstOf(r.Limit.n, r.Window.n, r.Burst.n); n != nil {
		d.fault(n, nameOf(at, n)+n.Shown()+" beside capacity and refill_per_sec", "leave out one or the other")
		return stint.Limit{}, false
	}
	switch {
	case r.RefillPerSec.n == nil:
		d.fault(r.Capacity.n, "capacity"+r.Capacity.n.Shown()+" without refill_per_sec", "write refill_per_sec beside it")
	case r.Capacity.n == nil:
		d.fault(r.RefillPerSec.n, "refill_per_sec"+r.RefillPerSec.n.Shown()+" without capacity", "write capacity beside it")
	case r.Capacity.v == 0:
		d.fault(r.Capacity.n, "capacity 0 lets nothing through", "write at least 1, or limit: 0 per minute to refuse everything")
	default:
		g := gcd(r.RefillPerSec.units, r.RefillPerSec.over)
		return stint.Limit{
			Count:  r.RefillPerSec.units / g,
			Window: time.Duration(r.RefillPerSec.over/g) * time.Second,
			Burst:  r.Capacity.v,
		}, true
	}
	return stint.Limit{}, false
}

// sentence is a limit as a sentence, with burst beside it perhaps.
func (r *rate) sentence(d *decoder, at *node) (stint.Limit, bool) {
	l := r.Limit.sentence
	if n := r.Window.n; n != nil {
		d.fault(n, nameOf(at, n)+n.Shown()+" beside a limit that has its own window", "leave out one of them")
		return stint.Limit{}, false
	}
	if n := r.Burst.n; n != nil && l.Burst != 0 {
		d.fault(n, "burst"+n.Shown()+" beside a limit that has its own burst", "leave out one of them")
		return stint.Limit{}, false
	}
	return r.withBurst(d, l)
}

// counted is a limit as a number with a window.
func (r *rate) counted(d *decoder, at *node) (stint.Limit, bool) {
	if r.Window.n == nil {
		n := r.Limit.n
		if misspelt(at) {
			return stint.Limit{}, false
		}
		d.fault(n, "limit"+n.Shown()+" has no window", fmt.Sprintf("write window: 1m beside it, or limit: %s per minute", orShown(n, n.Value, "100")))
		return stint.Limit{}, false
	}
	return r.withBurst(d, stint.Limit{Count: r.Limit.number.v, Window: r.Window.v})
}

func (r *rate) withBurst(d *decoder, l stint.Limit) (stint.Limit, bool) {
	if r.Burst.n == nil {
		return l, true
	}
	if r.Burst.v == 0 {
		d.fault(r.Burst.n, "burst 0 lets nothing through", "leave burst out, or write at least 1")
		return stint.Limit{}, false
	}
	l.Burst = r.Burst.v
	return l, true
}

// misspelt says whether n has a field that is not known: what seems to be missing
// may be there under a wrong name.
func misspelt(n *node) bool {
	return slices.ContainsFunc(n.Fields, func(f yamlfile.Field) bool { return f.Key.Faulty })
}

// isRateField says whether name is a field of rate.
func isRateField(name string) bool {
	switch name {
	case "limit", "window", "period", "burst", "capacity", "refill_per_sec":
		return true
	}
	return false
}

// nameOf is the name under which v stands in n.
func nameOf(n, v *node) string {
	for _, f := range n.Fields {
		if f.Value == v {
			return yamlfile.Cut(f.Key.Raw)
		}
	}
	return ""
}

// firstOf returns the first that is there.
func firstOf(nodes ...*node) *node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// quota is a limit in a list or under a plan: a sentence, or a mapping.
type quota struct {
	n     *node
	limit stint.Limit
	ok    bool
}

func (q *quota) set(d *decoder, n *node, t tag) {
	q.n = n
	switch n.Kind {
	case yamlfile.Mapping:
		var r rate
		if d.fields(n, &r, t) {
			q.limit, q.ok = r.limit(d, n)
		}
	case yamlfile.Text:
		if !isNumeric(n) || n.Filled {
			q.limit, q.ok = d.sentence(n)
			return
		}
		fallthrough
	case yamlfile.Number:
		d.fault(n, t.name+n.Shown()+" has no window", fmt.Sprintf("write %s per minute", orShown(n, n.Raw, "100")))
	default:
		d.wrongKind(n, t.name, `write it like "100 per minute, burst 20"`)
	}
}
