package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/internal/wire"
	"github.com/stint-dev/stint/memstore"
)

func newPolicy(t testing.TB, name, limit string, a stint.Algorithm) *stint.Policy {
	t.Helper()
	l, err := stint.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stint.NewPolicy(name, l, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// decisions are real ones of every kind.
func decisions(t testing.TB) []stint.Decision {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1772409600, 123_000)
	l := &stint.Limiter{Store: store, Clock: func() time.Time { return now }}
	var all []stint.Decision
	take := func(p *stint.Policy, cost int64, more ...stint.Charge) {
		charges := append([]stint.Charge{{Policy: p, Key: []byte("k\x00\xff"), Ask: stint.Ask{Cost: cost}}}, more...)
		d, err := l.Take(context.Background(), charges...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d.Clone())
		now = now.Add(77 * time.Millisecond)
	}
	blocked := newPolicy(t, "blocked", "0 per minute", algo.TokenBucket)
	shadow := stint.Charge{Policy: blocked, Shadow: true, Ask: stint.Ask{Cost: 1}}
	free := stint.Charge{Policy: stint.Unlimited("free"), Ask: stint.Ask{Cost: 1}}
	for _, p := range []*stint.Policy{
		newPolicy(t, "a \"quoted\" näme", "3 per minute, burst 7", algo.TokenBucket),
		newPolicy(t, "fixed", "3 per minute", algo.FixedWindow),
		newPolicy(t, "log", "3 per hour", algo.SlidingWindowLog),
		newPolicy(t, "counter", "3 per 7 seconds", algo.SlidingWindowCounter),
		newPolicy(t, "queue", "3 per second", algo.LeakyQueue{MaxWaiting: 3}),
		blocked,
	} {
		for _, cost := range []int64{1, 0, 2, 1, -1, 1, 4, 1, 100} {
			take(p, cost)
			take(p, cost, shadow, free)
		}
	}
	take(stint.Unlimited("only"), 1)
	var refused stint.Decision
	refused.Refuse(stint.ReasonMissingKey, stint.Result{Policy: "r", Cost: 1, Verdict: stint.Verdict{RetryAfter: stint.Never}})
	var unavailable stint.Decision
	unavailable.Refuse(stint.ReasonUnavailable, stint.Result{Verdict: stint.Verdict{RetryAfter: time.Second}})
	unavailable.Degraded = true
	unknown := all[0].Clone()
	unknown.Degraded, unknown.Results[0].Unknown, unknown.Unknown = true, true, true
	return append(all, refused, unavailable, unknown, stint.Decision{}, stint.Decision{Allowed: true, Degraded: true})
}

// plain returns what a caller can see of a decision.
func plain(d stint.Decision) stint.Decision {
	c := d.Clone()
	if len(c.Results) == 0 {
		c.Results = nil
	}
	if len(c.Key) == 0 {
		c.Key = nil
	}
	for i := range c.Results {
		if len(c.Results[i].Key) == 0 {
			c.Results[i].Key = nil
		}
	}
	return c
}

func TestDecisionsComeBackAsTheyWere(t *testing.T) {
	var into stint.Decision // Used again for each, as by a caller.
	reasons := map[stint.Reason]bool{}
	for _, d := range decisions(t) {
		reasons[d.Reason] = true
		text := string(wire.AppendDecision(nil, &d))
		if !json.Valid([]byte(text)) {
			t.Errorf("no JSON: %s", text)
		}
		if err := wire.ParseDecision(text, &into); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, want := plain(into), plain(d); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
	for _, r := range []stint.Reason{"", stint.ReasonLimit, stint.ReasonNever, stint.ReasonBlocked, stint.ReasonMissingKey, stint.ReasonUnavailable} {
		if !reasons[r] {
			t.Errorf("no decision with reason %q was tried", r)
		}
	}
}

func TestBatchesComeBackAsTheyWere(t *testing.T) {
	all := decisions(t)
	text := string(wire.AppendDecisions(nil, len(all), func(b []byte, i int) []byte { return wire.AppendDecision(b, &all[i]) }))
	into := make([]*stint.Decision, len(all))
	for i := range into {
		into[i] = new(stint.Decision)
	}
	if err := wire.ParseDecisions(text, into); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if got, want := plain(*into[i]), plain(all[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
	for _, into := range [][]*stint.Decision{into[1:], append(into, new(stint.Decision))} {
		if err := wire.ParseDecisions(text, into); err == nil || into[0].Policy != "" {
			t.Errorf("%d decisions for %d: %v, %+v", len(all), len(into), err, into[0])
		}
	}
}

// TestNewerAnswersAreUnderstood: what is not known is skipped.
func TestNewerAnswersAreUnderstood(t *testing.T) {
	var d stint.Decision
	err := wire.ParseDecision(`{"new":{"a":[1,-2.5e3,"x",true,null,{}]},"allowed":true,"policy":"p","results":[{"ok":true,"policy":"p","newer":[[]]}]}`, &d)
	if err != nil || !d.Allowed || !d.OK || d.Policy != "p" || len(d.Results) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestBrokenAnswersAreRefusals(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `[]`, `null`, `<html>`, `{"allowed":1}`, `{"allowed":true`, `{"allowed":true}x`, `{"allowed":true,"allowed":true}`,
		`{"allowed":true,"retry_after_us":-1}`, `{"allowed":true,"retry_after_us":9223372036854775807}`, `{"allowed":true,"key":"?"}`,
		`{"allowed":true,"results":[` + strings.Repeat(`{},`, stint.MaxCharges) + `{}]}`,
		`{"allowed":true,"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
	} {
		d := stint.Decision{Allowed: true}
		if err := wire.ParseDecision(text, &d); err == nil || d.Allowed {
			t.Errorf("%.60s: %+v, %v", text, d, err)
		}
	}
}

func TestAppendDecisionAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	all := decisions(t)
	b := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		for i := range all {
			b = wire.AppendDecision(b[:0], &all[i])
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleAppendDecision() {
	d := stint.Decision{Reason: stint.ReasonLimit, At: 1_772_409_600_000_000}
	d.Result = stint.Result{
		Policy: "send-otp", Limit: stint.Limit{Count: 5, Window: time.Hour}, Capacity: 5, Cost: 1,
		Verdict: stint.Verdict{RetryAfter: 90 * time.Second, ResetAfter: time.Hour, NextAfter: 90 * time.Second},
	}
	fmt.Println(string(wire.AppendDecision(nil, &d)))
	// Output:
	// {"allowed":false,"reason":"limit","policy":"send-otp","limit":{"count":5,"window_us":3600000000},"capacity":5,"cost":1,"remaining":0,"retry_after_us":90000000,"reset_after_us":3600000000,"next_after_us":90000000,"at_us":1772409600000000,"results":[]}
}
