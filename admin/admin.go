package admin

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/stint-dev/stint"
)

// Admin collects what an operator wants to know. It is made by [New], owns its
// registry of metrics, and is safe for concurrent use.
type Admin struct {
	o        Options
	registry *prometheus.Registry
	started  time.Time
	draining atomic.Bool

	rules    ruleCounters
	requests requestCounters
	seconds  prometheus.Histogram
	upstream *prometheus.CounterVec
	refused  sketch
	reload   reload

	mu        sync.Mutex
	listeners []Listener
	shown     []Rule
}

// New returns an Admin.
func New(o Options) *Admin {
	if o.KeyText == nil {
		o.KeyText = keyText
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Admin{o: o, registry: prometheus.NewRegistry(), started: o.Now()}
	a.rules.init()
	a.requests.init()
	a.reload.init()
	a.seconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "stint_decision_seconds",
		Help:    "Time taken to settle the charges of a request, in memory or in the shared store.",
		Buckets: []float64{5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 1e-1},
	})
	a.upstream = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "stint_upstream_errors_total",
		Help: "Requests that the upstream failed, by the way in which it did.",
	}, []string{"kind"})
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "stint_build_info",
		Help: "Always 1; the labels say which program this is.",
	}, []string{"version", "go_version"})
	build.WithLabelValues(label(o.Version), runtime.Version()).Set(1)
	a.registry.MustRegister(
		&a.rules, &a.requests, a.seconds, a.upstream, build, &a.reload,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	if o.Store != nil {
		a.registry.MustRegister(storeCollector(o.Store))
	}
	if o.Shared != nil {
		a.registry.MustRegister(sharedCollector(o.Shared))
	}
	return a
}

// Registry is where others add metrics of their own.
func (a *Admin) Registry() *prometheus.Registry { return a.registry }

// SetListeners says what listens where.
func (a *Admin) SetListeners(l []Listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listeners = append([]Listener(nil), l...)
}

// SetRules says which rules are in force. Metrics of rules that are no more stay.
func (a *Admin) SetRules(rules []Rule) {
	var policies []string
	for _, r := range rules {
		policies = append(policies, r.Policies...)
	}
	a.rules.add(policies...)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown = append([]Rule(nil), rules...)
}

// UpstreamError counts a request that the upstream failed. There are only a few
// kinds.
func (a *Admin) UpstreamError(kind string) { a.upstream.WithLabelValues(label(kind)).Inc() }

// Drain makes the process unready for good, since it is about to end.
func (a *Admin) Drain() { a.draining.Store(true) }

// notReady says why the process takes no requests, empty if it does.
func (a *Admin) notReady() string {
	if a.draining.Load() {
		return "draining"
	}
	if a.o.Ready == nil {
		return ""
	}
	if err := a.o.Ready(); err != nil {
		return err.Error()
	}
	return ""
}

// Handler returns the handler of the admin listener: /healthz, /readyz, /metrics
// and the page at /.
func (a *Admin) Handler() http.Handler { return a.newMux() }

// Observe counts a decision. It is for the field Observe of stint.Limiter.
func (a *Admin) Observe(d *stint.Decision) {
	if d.Cost < 0 {
		return // A refund is no request.
	}
	a.requests.count(d)
	if len(d.Results) > 0 {
		for i := range d.Results {
			r := &d.Results[i]
			a.rules.of(r.Policy).count(r, d.Allowed)
			if !r.OK && !r.Shadow {
				a.refused.add(r.Policy, r.Key, d.At)
			}
		}
		return
	}
	if d.Policy == "" || d.Reason == stint.ReasonUnavailable {
		return
	}
	a.rules.of(d.Policy).count(&d.Result, d.Allowed)
	if !d.Allowed && d.Reason != stint.ReasonMissingKey && d.Reason != stint.ReasonTooLarge {
		a.refused.add(d.Policy, d.Key, d.At)
	}
}
