package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/gateway"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// trial is what a try found out. It stands between the gateway and the rules and
// looks at what goes by.
type trial struct {
	Request   triedRequest `json:"request"`
	Rules     []triedRule  `json:"rules"`
	Decisions []tried      `json:"decisions"`
	Allowed   int          `json:"allowed"`
	Refused   int          `json:"refused"`
	Store     string       `json:"store,omitempty"`

	gateway *gateway.Gateway
	limiter *stint.Limiter
	rules   *rules.Decider
	now     time.Time
	last    tried
	err     error // of the store
}

// triedRequest is the request as the rules saw it.
type triedRequest struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Addr   string `json:"address,omitempty"`
}

// triedRule is what a rule makes of it.
type triedRule struct {
	ID      string   `json:"id"`
	Applies bool     `json:"applies"`
	Why     string   `json:"why"`
	Shadow  bool     `json:"shadow"`
	Key     string   `json:"key,omitempty"`
	Limits  []string `json:"limits,omitempty"`
	Cost    int64    `json:"cost,omitempty"`
}

// tried is the answer to one request.
type tried struct {
	At         string   `json:"at"`
	Allowed    bool     `json:"allowed"`
	Status     int      `json:"status"`
	Rule       string   `json:"rule,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Remaining  *int64   `json:"remaining,omitempty"`
	Delay      string   `json:"delay,omitempty"`
	RetryAfter string   `json:"retry_after,omitempty"`
	Header     string   `json:"retry_after_header,omitempty"`
	Shadow     []string `json:"shadow_refused,omitempty"`
}

// newTrial puts the rules of a file behind a gateway whose upstream is built in.
func newTrial(file *config.File) (*trial, error) {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		return nil, err
	}
	headers, err := httplimit.ParseHeaders(file.Headers)
	if err != nil {
		return nil, err
	}
	t := &trial{now: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}
	t.limiter = &stint.Limiter{Store: store, Clock: func() time.Time { return t.now }}
	t.rules = rules.NewDecider(t.limiter, file.Set)
	t.gateway, err = gateway.New(gateway.Options{Upstream: "demo", Limit: httplimit.Options{
		Decider: t, Headers: headers, DenyStatus: file.DenyStatus,
		TrustedProxies: file.TrustedProxies, TrustUnix: file.TrustUnix, ClientHeader: file.ClientHeader,
	}})
	return t, err
}

// share lets a shared store decide, by its own clock. Whoever calls closes it.
func (t *trial) share(url string, file config.Store) (closeStore func(), err error) {
	kept, err := config.ParseStore(url)
	if err == nil {
		err = checkStore(kept)
	}
	switch {
	case err != nil:
		return nil, usagef("--store %v", err)
	case kept.Redis == nil:
		return nil, usagef("--store memory is what try has without it: leave it out")
	}
	kept = withOptions(kept, file)
	store, err := openRedis(kept.Redis)
	if err != nil {
		return nil, err
	}
	t.limiter.Store, t.limiter.Clock = store, nil
	t.Store = kept.Redis.String()
	return store.Close, nil
}

// send sends the request as often as the flags say. The error is that of a shared
// store.
func (t *trial) send(f *tryFlags, r *http.Request) error {
	start := t.now
	began := time.Now()
	for i := range f.n {
		t.now = start.Add(time.Duration(i) * f.every)
		if t.Store != "" {
			t.now = start.Add(time.Since(began).Round(time.Millisecond))
		}
		t.last = tried{}
		again := r.Clone(context.Background())
		again.Body = io.NopCloser(strings.NewReader(f.data))
		answer := httptest.NewRecorder()
		t.gateway.ServeHTTP(answer, again)
		if t.err != nil {
			return fmt.Errorf("%s does not decide: %w", t.Store, t.err)
		}
		t.last.At, t.last.Status = t.now.Sub(start).String(), answer.Code
		t.last.Header = answer.Header().Get("Retry-After")
		t.Decisions = append(t.Decisions, t.last)
		if t.last.Allowed {
			t.Allowed++
		} else {
			t.Refused++
		}
	}
	return nil
}

// storeWait is how long a try waits for a shared store.
const storeWait = 2 * time.Second

// Decide implements [stint.Decider].
func (t *trial) Decide(ctx context.Context, src stint.Source, d *stint.Decision) error {
	if t.Rules == nil {
		t.explain(src)
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if t.err = t.rules.Decide(ctx, src, d); t.err != nil {
		return t.err
	}
	t.last.Allowed, t.last.Rule, t.last.Reason = d.Allowed, d.Policy, string(d.Reason)
	if len(d.Results) > 0 && d.Policy != "" && !d.Unlimited {
		remaining := d.Remaining
		t.last.Remaining = &remaining
	}
	if !d.Allowed {
		t.last.RetryAfter = waitText(d.RetryAfter)
	}
	if d.Delay > 0 {
		t.last.Delay = waitText(d.Delay)
		d.Delay = 0 // Nobody waits on this clock.
	}
	for i := range d.Results {
		if r := &d.Results[i]; r.Shadow && !r.OK {
			t.last.Shadow = append(t.last.Shadow, r.Policy)
		}
	}
	return nil
}

// explain notes what each rule makes of the request.
func (t *trial) explain(src stint.Source) {
	t.Request.Method, _ = src.Value(stint.Field{Kind: stint.FieldMethod})
	t.Request.Path, _ = src.Value(stint.Field{Kind: stint.FieldPath})
	if addr := src.Addr(); addr.IsValid() {
		t.Request.Addr = addr.String()
	}
	t.Rules = []triedRule{}
	for _, step := range t.rules.Set().Trace(src) {
		rule := triedRule{ID: step.Rule, Applies: step.Applies, Why: step.Why, Shadow: step.Shadow}
		for _, p := range step.Policies {
			if p.Algorithm == nil {
				rule.Limits = append(rule.Limits, "unlimited")
				continue
			}
			rule.Limits = append(rule.Limits, fmt.Sprintf("%v (%s)", p.Limit, p.Algorithm.Name()))
		}
		if len(step.Policies) > 0 {
			rule.Key, rule.Cost = rules.KeyText(step.Key), step.Cost
		}
		t.Rules = append(t.Rules, rule)
	}
}

// waitText writes a wait.
func waitText(d time.Duration) string {
	if d == stint.Never {
		return "never"
	}
	return d.String()
}

// text is the trial for people.
func (t *trial) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", t.Request.Method, t.Request.Path)
	if t.Request.Addr != "" {
		fmt.Fprintf(&b, " from %s", t.Request.Addr)
	}
	b.WriteString("\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RULE\tAPPLIES\tWHY\tKEY\tLIMIT")
	for _, r := range t.Rules {
		applies := "no"
		switch {
		case r.Applies && r.Shadow:
			applies = "shadow"
		case r.Applies:
			applies = "yes"
		}
		limits := strings.Join(r.Limits, "; ")
		if r.Cost > 1 {
			limits += fmt.Sprintf(", costs %d", r.Cost)
		}
		fmt.Fprintln(w, strings.Join([]string{r.ID, applies, r.Why, orDash(r.Key), orDash(limits)}, "\t"))
	}
	_ = w.Flush() // A strings.Builder takes everything.
	b.WriteString("\n")
	w = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "#\tAT\tSTATUS\tRULE\tREMAINING\tRETRY-AFTER\tNOTE")
	for i, d := range t.Decisions {
		fmt.Fprintln(w, strings.Join([]string{
			fmt.Sprint(i + 1), d.At, fmt.Sprint(d.Status), orDash(d.Rule), d.remaining(), d.retryAfter(), d.note(),
		}, "\t"))
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "\n%d allowed, %d refused\n", t.Allowed, t.Refused)
	if t.Store != "" && t.Allowed > 0 {
		fmt.Fprintf(&b, "charged in %s\n", t.Store)
	}
	return trimLines(b.String())
}

// trimLines takes off the blanks that fill up last columns.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func (d *tried) remaining() string {
	if d.Remaining == nil {
		return "-"
	}
	return fmt.Sprint(*d.Remaining)
}

// retryAfter shows the header, and the exact wait where it is another.
func (d *tried) retryAfter() string {
	switch {
	case d.Header == "":
		return orDash(d.RetryAfter)
	case d.RetryAfter == d.Header+"s":
		return d.Header
	}
	return d.Header + " (" + d.RetryAfter + ")"
}

func (d *tried) note() string {
	var notes []string
	if d.Delay != "" {
		notes = append(notes, "waits "+d.Delay)
	}
	if d.Reason != "" && d.Reason != string(stint.ReasonLimit) {
		notes = append(notes, d.Reason)
	}
	for _, rule := range d.Shadow {
		notes = append(notes, "shadow "+rule+" would refuse")
	}
	return strings.Join(notes, ", ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
