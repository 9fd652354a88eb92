package rls_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rls"
)

const quotas = `domain: d
descriptors:
- {key: q, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: none, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 0}}
- {key: second, rate_limit: {unit: second, requests_per_unit: 1}}
- {key: minute, rate_limit: {unit: minute, requests_per_unit: 3}}
- {key: hard, rate_limit: {unit: day, requests_per_unit: 10}}`

// What a refusal tells to wait for is enough for all that stands in the way.
func TestARefusalBesideQuotasTellsTheWholeWait(t *testing.T) {
	d := open(t, quotas, setup{})
	d.want("q=1 | q=2 | second=1", "ok: ok 0/1da | ok 0/1da | ok 0/1se")
	resp := d.must(request(t, "d", "q=1 | q=2 | second=1"))
	if got := show(resp); got != "over: over 0/1da | over 0/1da | over 0/1se" || headerOf(resp, "Retry-After") != "86400" {
		t.Errorf("%s, Retry-After %s, want a day", got, headerOf(resp, "Retry-After"))
	}
	// A quota with something left keeps nobody waiting.
	resp = d.must(request(t, "d", "q=1 | q=3 | second=1"))
	if got := show(resp); got != "over: ok 0/1da | ok 1/1da | over 0/1se" || headerOf(resp, "Retry-After") != "1" {
		t.Errorf("%s, Retry-After %s, want 1", got, headerOf(resp, "Retry-After"))
	}
	d.want("none=1 | none=2 | hard=1", "over: over 0/0da | over 0/0da | ok 10/10da")
	if seen := d.seen[len(d.seen)-1]; seen.Reason != stint.ReasonBlocked {
		t.Errorf("reason %s, want %s", seen.Reason, stint.ReasonBlocked)
	}
}

// What quotas refuse gives nothing back and charges nothing that was given back.
func TestGivingBackBesideQuotas(t *testing.T) {
	d := open(t, quotas, setup{})
	d.want("x3 hard=1", "ok: ok 7/10da")
	d.want("hard=1 -2 | q=1 | q=2 | minute=1", "ok: ok 9/10da | ok 0/1da | ok 0/1da | ok 2/3mi")
	for range 3 {
		d.want("hard=1 -8 | q=1 | q=2 | minute=1", "over: ok | over 0/1da | over 0/1da | ok 2/3mi")
	}
	d.want("hard=1 +0", "ok: ok 9/10da")
	d.want("minute=1 +0", "ok: ok 2/3mi")
	last := d.seen[len(d.seen)-3]
	if n := len(last.Results); n != 4 || last.Results[3].Policy != "d/hard" || last.Results[0].Policy != "d/q" {
		t.Errorf("observed %+v", last.Results)
	}
}

// onTake is a store that does something before some calls.
type onTake struct {
	stint.Store
	calls atomic.Int64
	do    func(call int64) error
}

func (o *onTake) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	n := o.calls.Add(1)
	if err := o.do(n); err != nil {
		return 0, err
	}
	return o.Store.Take(ctx, now, charges, verdicts)
}

// Where a window ends between a charge and its return, the next one gives nothing
// back.
func TestNothingIsGivenBackToTheNextWindow(t *testing.T) {
	store := &onTake{Store: memory(t), do: func(int64) error { return nil }}
	d := open(t, quotas, setup{store: store})
	d.ask("q=1 | q=2")
	d.clock.set(epoch.Add(59*time.Second + 980*time.Millisecond))
	store.calls.Store(0)
	d.want("q=1 | q=2 | minute=1", "over: over 0/1da | over 0/1da | ok 2/3mi")
	if n := store.calls.Load(); n != 1 {
		t.Errorf("%d calls of the store, want 1: what is charged is gone in 20 ms", n)
	}
	d.clock.set(epoch.Add(time.Minute + time.Second))
	d.want("q=1 | q=2 | minute=1", "over: over 0/1da | over 0/1da | ok 3/3mi")
}

// A store that fails before the return keeps the charge.
func TestAReturnThatFailsKeepsTheCharge(t *testing.T) {
	store := &onTake{Store: memory(t), do: func(int64) error { return nil }}
	d := open(t, quotas, setup{store: store})
	d.ask("q=1 | q=2")
	store.calls.Store(0)
	store.do = func(call int64) error {
		if call == 2 {
			return context.DeadlineExceeded
		}
		return nil
	}
	d.want("q=1 | q=2 | hard=1", "over: over 0/1da | over 0/1da | ok 9/10da")
	d.want("hard=1 +0", "ok: ok 9/10da")
}

// However many ask at once, and whatever is given back meanwhile, no limit lets
// more through than it says, and when all is quiet nothing is lost.
func TestQuotasUnderLoadNeverAdmitTooMuch(t *testing.T) {
	d := open(t, quotas, setup{service: func(o *rls.Options) { o.Observe = nil }})
	var passed, refused atomic.Int64
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			for i := range 100 {
				ask := fmt.Sprintf("q=%d | q=%d | hard=1", w*100+i, w*100+i+1)
				if i%2 == 1 {
					ask = fmt.Sprintf("q=%d | q=%d | hard=1", w*100+i-1, w*100+i) // Both are over, if hard was not.
				}
				resp, err := d.service.ShouldRateLimit(t.Context(), request(t, "d", ask))
				switch {
				case err != nil:
					t.Error(err)
				case strings.HasPrefix(show(resp), "ok"):
					passed.Add(1)
				default:
					refused.Add(1)
				}
			}
		})
	}
	work.Wait()
	if passed.Load() > 10 || passed.Load()+refused.Load() != 800 {
		t.Errorf("%d passed, %d were refused, want at most 10 of 800", passed.Load(), refused.Load())
	}
	left := d.must(request(t, "d", "hard=1 +0")).GetStatuses()[0].GetLimitRemaining()
	if int64(left) != 10-passed.Load() {
		t.Errorf("%d left after %d passed", left, passed.Load())
	}
}
