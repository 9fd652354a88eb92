package descriptors

import (
	"sync"
	"time"

	"github.com/stint-dev/stint"
)

// maxOverrides bounds how many limits of requests are remembered, compiled.
const maxOverrides = 1024

// overrides remember the limits that requests brought.
type overrides struct {
	mu    sync.RWMutex
	rules map[override]*Rule
}

// override is a limit that a request brought, for one domain.
type override struct {
	domain *Domain
	count  int64
	window time.Duration
}

// Override is [Match] for a descriptor that brings its own limit of count in each
// window. It counts by the window and by all keys and values of the descriptor: a
// count that changes goes on where the last one stood, and limits for a second and
// for a day stand beside each other. The error says what is wrong with the limit.
func Override[E Entry](d *Domain, entries []E, limit stint.Limit, key []byte) (*Rule, []byte, error) {
	r, err := d.override(limit)
	if err != nil {
		return nil, key, err
	}
	h, from := &d.set.hasher, len(key)
	for i := range entries {
		key = h.appendValue(key, entries[i].GetValue())
		key = h.appendValue(key, entries[i].GetKey())
	}
	return r, h.finish(key, from, &r.id), nil
}

// override returns the rule of a limit.
func (d *Domain) override(l stint.Limit) (*Rule, error) {
	o, known := override{d, l.Count, l.Window}, &d.set.overrides
	known.mu.RLock()
	r := known.rules[o]
	known.mu.RUnlock()
	if r != nil {
		return r, nil
	}
	r, err := d.newOverride(l)
	if err != nil {
		return nil, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if len(known.rules) >= maxOverrides || known.rules == nil {
		known.rules = make(map[override]*Rule)
	}
	if earlier := known.rules[o]; earlier != nil {
		return earlier, nil
	}
	known.rules[o] = r
	return r, nil
}

func (d *Domain) newOverride(l stint.Limit) (*Rule, error) {
	a := d.set.options.algorithm()
	r := &Rule{Index: -1, id: identify(d.name, []step{{key: l.Window.String(), kind: overrideStep}})}
	r.Name = ruleName(d.name, []step{{key: "(limit of the request)", kind: anyStep}}, r.id)
	p, err := stint.NewPolicy(r.id.overrideName(a), l, a)
	if err != nil {
		return nil, err
	}
	p.OnStoreFailure = d.set.options.OnStoreFailure
	r.Policy = p
	return r, nil
}
