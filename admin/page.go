package admin

import (
	_ "embed"
	"html/template"
	"maps"
	"slices"
	"time"

	"github.com/stint-dev/stint"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// shownKeys is how many refused keys the page lists.
const shownKeys = 20

// page is what the page shows.
type page struct {
	Version   string
	Now, Up   string
	NotReady  string
	Listeners []Listener
	Rules     []Rule
	Policies  []pagePolicy
	Keys      []pageKey
	Reload    pageReload
	Store     *StoreStats
	Shared    *SharedStats
}

type pagePolicy struct {
	Name                                                   string
	Allowed, Refused, ShadowRefused, Unlimited, NotCharged int64
}

type pageKey struct {
	Policy, Key, Last string
	Count, Excess     int64
}

type pageReload struct {
	At        string // empty if there was none
	Error     string
	Good, Bad int64
}

// page collects what the page shows.
func (a *Admin) page() page {
	now := a.o.Now()
	p := page{
		Version: a.o.Version, Now: timeText(now), Up: now.Sub(a.started).Round(time.Second).String(),
		NotReady: a.notReady(), Policies: a.rules.page(), Keys: a.keys(), Reload: a.reload.page(),
	}
	if a.o.Store != nil {
		stats := a.o.Store()
		p.Store = &stats
	}
	if a.o.Shared != nil {
		stats := a.o.Shared()
		p.Shared = &stats
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p.Listeners, p.Rules = a.listeners, a.shown
	return p
}

func (c *ruleCounters) page() []pagePolicy {
	by := *c.by.Load()
	var list []pagePolicy
	for _, name := range slices.Sorted(maps.Keys(by)) {
		seen := by[name]
		list = append(list, pagePolicy{
			name, seen[allowed].Load(), seen[refused].Load(), seen[shadowRefused].Load(),
			seen[unlimited].Load(), seen[notCharged].Load(),
		})
	}
	return list
}

func (a *Admin) keys() []pageKey {
	var list []pageKey
	for _, k := range a.refused.top(shownKeys) {
		list = append(list, pageKey{
			Policy: k.Policy, Key: a.o.KeyText(k.Key), Last: microsText(k.Last), Count: k.Count, Excess: k.Excess,
		})
	}
	return list
}

func (r *reload) page() pageReload {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := pageReload{Good: r.good, Bad: r.bad}
	if !r.at.IsZero() {
		p.At = timeText(r.at)
	}
	if r.err != nil {
		p.Error = r.err.Error()
	}
	return p
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// microsText is empty for an instant that is not known.
func microsText(m stint.Micros) string {
	if m == 0 {
		return ""
	}
	return timeText(m.Time())
}
