package replay

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stint-dev/stint/internal/accesslog"
)

// through gives out what comes out of an order for the times that go in.
func through(times []time.Duration) (out []time.Duration, late int64) {
	o := newOrder()
	take := func(end bool) {
		for e := o.next(end); e != nil; e = o.next(end) {
			out = append(out, e.Time.Sub(start))
			o.free(e)
		}
	}
	for _, after := range times {
		e := o.blank()
		*e = accesslog.Entry{Time: start.Add(after)}
		o.add(e)
		take(false)
	}
	take(true)
	return out, o.late
}

func TestOrderPutsLinesInOrderWithinItsWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	times := make([]time.Duration, 20000)
	for i := range times {
		times[i] = time.Duration(i)*time.Second/10 + time.Duration(r.Int64N(int64(Disorder)))
	}
	out, late := through(times)
	if len(out) != len(times) || late != 0 {
		t.Fatalf("%d of %d lines, %d late", len(out), len(times), late)
	}
	for i := 1; i < len(out); i++ {
		if out[i] < out[i-1] {
			t.Fatalf("%s after %s", out[i], out[i-1])
		}
	}
}

func TestOrderHoldsABoundedNumberOfLines(t *testing.T) {
	times := make([]time.Duration, maxWaiting+10)
	for i := range times {
		times[i] = time.Second
	}
	times = append(times, 0)
	out, late := through(times)
	if len(out) != len(times) || late != 1 {
		t.Errorf("%d of %d lines, %d late", len(out), len(times), late)
	}
}

func TestOneLineFromTheFutureDoesNotHoldTheOthers(t *testing.T) {
	out, late := through([]time.Duration{0, 1000 * time.Hour, time.Second, 2 * time.Second, 10 * time.Minute})
	if late != 0 || out[len(out)-1] != 1000*time.Hour {
		t.Errorf("out %v, %d late", out, late)
	}
}
