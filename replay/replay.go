package replay

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/accesslog"
	"github.com/stint-dev/stint/internal/clientip"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// Options say what is replayed and how. Only Rules must be set.
type Options struct {
	// Rules are the rules.
	Rules rules.Spec
	// TrustedProxies are the networks whose X-Forwarded-For is believed, where the
	// log has it. None means that the peer is the client.
	TrustedProxies []netip.Prefix
	// ClientHeader is the header in which they name the client. Empty means
	// X-Forwarded-For.
	ClientHeader string
	// Location is where times without an offset were written. Nil means UTC.
	Location *time.Location
	// MaxBuckets bounds the buckets kept. 0 means memstore's default.
	MaxBuckets int64
	// MaxMemory bounds the bytes kept in memory for the search of limits. 0 means
	// DefaultMaxMemory.
	MaxMemory int64
	// TempDir is where further ones go. Empty means the system's.
	TempDir string
}

// sweepEvery is the number of requests after which worthless buckets go.
const sweepEvery = 1 << 18

// replay is one run.
type replay struct {
	options  Options
	set      *rules.Set
	decider  stint.Decider
	store    *memstore.Store
	recorder *recorder
	source   source
	tallies  tallies
	report   *Report
	now      time.Time
}

// Run replays logs. It may return a report and an error: then a log could not be
// read to its end, and the report is about what was read until there. If ctx ends
// it returns ctx.Err() without a report.
func Run(ctx context.Context, o Options, logs ...Log) (*Report, error) {
	if len(logs) > MaxLogs {
		return nil, fmt.Errorf("%d logs: at most %d at once", len(logs), MaxLogs)
	}
	r, err := newReplay(o)
	if err != nil {
		return nil, err
	}
	defer r.recorder.spool.remove()
	lines := newMerge(logs, o.Location, r.report)
	if err := r.run(ctx, lines); err != nil {
		return nil, err
	}
	r.report.OutOfOrder = lines.order.late
	if err := r.finish(ctx); err != nil {
		return nil, err
	}
	return r.report, errors.Join(append(lines.failed, r.recorder.err)...)
}

func newReplay(o Options) (*replay, error) {
	set, err := rules.Compile(countExempt(o.Rules))
	if err != nil {
		return nil, err
	}
	clients, err := clientip.New(clientip.Options{TrustedProxies: o.TrustedProxies, Header: o.ClientHeader})
	if err != nil {
		return nil, err
	}
	store, err := memstore.New(memstore.Options{MaxBuckets: o.MaxBuckets})
	if err != nil {
		return nil, err
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = DefaultMaxMemory
	}
	r := &replay{
		options: o, set: set, store: store, tallies: make(tallies), report: &Report{},
		source: source{clients: clients, trusts: len(o.TrustedProxies) > 0},
	}
	r.recorder = newRecorder(store, &spool{dir: o.TempDir, max: o.MaxMemory})
	r.decider = rules.NewDecider(&stint.Limiter{Store: r.recorder, Clock: r.clock}, set)
	return r, nil
}

// countExempt returns rules that decide as those of spec, and show in decisions
// also what they exempt: a rule without a limit that is the last one does the
// same as an exempt one.
func countExempt(spec rules.Spec) rules.Spec {
	spec.Rules = slices.Clone(spec.Rules)
	for i := range spec.Rules {
		if r := &spec.Rules[i]; r.Exempt {
			r.Exempt, r.Unlimited, r.Stop = false, true, true
		}
	}
	return spec
}

// clock is the time of the line that is looked at.
func (r *replay) clock() time.Time { return r.now }

// run puts all lines through the rules.
func (r *replay) run(ctx context.Context, lines *merge) error {
	var d stint.Decision
	var used *accesslog.Entry
	for {
		e := lines.next(used)
		if e == nil {
			return ctx.Err()
		}
		used = e
		r.now = e.Time
		r.source.set(e)
		if err := r.decider.Decide(ctx, &r.source, &d); err != nil {
			return err
		}
		r.report.request(e.Time)
		if !d.Allowed {
			r.report.Refused++
		}
		r.tallies.count(&d, e.Time)
		if r.report.Requests%sweepEvery == 0 {
			r.store.Sweep(max(stint.MicrosOf(e.Time), 1))
		}
		if r.report.Requests%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// finish writes the report.
func (r *replay) finish(ctx context.Context) error {
	r.report.Delayed = r.recorder.delayed
	r.report.Rules = make([]Rule, 0, len(r.options.Rules.Rules))
	for i := range r.options.Rules.Rules {
		r.report.Rules = append(r.report.Rules, r.rule(&r.options.Rules.Rules[i]))
	}
	if r.recorder.err != nil {
		return ctx.Err()
	}
	r.addLimits(ctx)
	return ctx.Err()
}

// rule is the part of the report about one rule, without its limits.
func (r *replay) rule(spec *rules.Rule) Rule {
	t := r.tallies.of(spec.ID)
	return Rule{
		ID: spec.ID, Mode: mode(spec), Matched: t.matched, Refused: t.refused,
		FirstRefused: t.first, LastRefused: t.last,
		KeysRefused: t.keys.distinct(), Inexact: t.keys.dropped, TopMissed: t.keys.missed,
		Top: t.keys.top(), Limits: []Limit{}, Notes: r.notes(spec),
	}
}

func mode(spec *rules.Rule) string {
	switch {
	case spec.Exempt:
		return "exempt"
	case spec.Shadow:
		return "shadow"
	case spec.Unlimited:
		return "unlimited"
	}
	return "enforce"
}

// addLimits adds to each rule its limits, and the smallest that would have done.
func (r *replay) addLimits(ctx context.Context) {
	var searches []*search
	for _, p := range r.set.Policies() {
		if h := r.recorder.histories[p]; h != nil {
			searches = append(searches, &search{
				ctx: ctx, history: h, spool: r.recorder.spool, keys: len(r.recorder.numbers),
			})
		}
	}
	found := searchAll(searches)
	for i, s := range searches {
		r.addLimit(s.history, &found[i])
	}
}

func (r *replay) addLimit(h *history, found *limits) {
	id := ruleOf(h.policy.Name)
	for i := range r.report.Rules {
		rule := &r.report.Rules[i]
		if rule.ID != id {
			continue
		}
		rule.Limits = append(rule.Limits, Limit{
			Policy: h.policy.Name, Limit: h.policy.Limit.String(), Algorithm: h.policy.Algorithm.Name(),
			Asked: h.asked, Refused: h.refused,
			PerMille: smallest(found.perMille), Percent: smallest(found.percent),
		})
		if h.unknown > 0 {
			rule.Notes = append(rule.Notes, fmt.Sprintf(
				"the smallest limits are about the first %d keys: %d requests of others are not in them", maxNumbered, h.unknown))
		}
		if found.err != nil {
			rule.Notes = append(rule.Notes, "no smallest limit: "+found.err.Error())
		}
		return
	}
}
