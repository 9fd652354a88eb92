package stint_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/storetest"
)

// TestAPlaceGivenUpIsWorthItsCost: those behind move by what the place cost, not by
// what the next one costs, or the queue would let more through than its rate.
func TestAPlaceGivenUpIsWorthItsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 1s, burst 3", algo.LeakyQueue{MaxWaiting: 20})
		l.wait("a", 3)
		small := l.wait("b", 1) // would leave after 1s
		l.wait("c", 3)          // after 4s
		large := l.wait("d", 3) // after 7s
		l.wait("e", 1)          // after 8s
		small()
		synctest.Wait()
		large()
		synctest.Wait()
		l.ends(
			outcome{"a", 0, true, nil},
			outcome{"b", 0, false, context.Canceled}, outcome{"d", 0, false, context.Canceled},
			outcome{"c", 3 * s, true, nil}, outcome{"e", 4 * s, true, nil},
		)
	})
}

// partial is a store that fails with half an answer.
type partial struct{ stint.Store }

func (partial) Take(_ context.Context, _ stint.Micros, _ []stint.Charge, v []stint.Verdict) (stint.Micros, error) {
	for i := range v {
		v[i] = stint.Verdict{OK: true, Remaining: 9}
	}
	return 1, errors.New("gone")
}

func (partial) TakeOne(context.Context, stint.Micros, *stint.Policy, string, stint.Ask) (stint.Micros, stint.Verdict, error) {
	return 1, stint.Verdict{OK: true, Remaining: 9}, errors.New("gone")
}

func TestAFailedDecisionIsZero(t *testing.T) {
	p := newPolicy(t, "p", "5 per 1s", algo.TokenBucket)
	for _, store := range []stint.Store{partial{}, struct{ stint.Store }{partial{}}} {
		l := &stint.Limiter{Store: store}
		d, err := l.Allow(context.Background(), p, "k")
		if err == nil || d.OK || d.Remaining != 0 || d.At != 0 || d.Policy != "" {
			t.Errorf("%T: %+v, %v, want the zero decision and an error", store, d, err)
		}
		d, err = l.Take(context.Background(), charge(p, "k"), charge(stint.Unlimited("free"), "k"))
		if err == nil || d.Allowed || d.OK || d.At != 0 || len(d.Results) != 0 {
			t.Errorf("%T: %+v, %v, want the zero decision and an error", store, d, err)
		}
	}
}

// TestOwnKeysTwice keeps the keys that were kept already.
func TestOwnKeysTwice(t *testing.T) {
	l := &stint.Limiter{Store: storetest.NewReference()}
	p, q := newPolicy(t, "p", "5 per 1s", algo.TokenBucket), newPolicy(t, "q", "2 per 1s", algo.TokenBucket)
	shared := []byte("shared key")
	charges := []stint.Charge{charge(p, ""), {Policy: p, Key: shared, Ask: stint.Ask{Cost: 1}}, {Policy: q, Key: shared, Ask: stint.Ask{Cost: 1}}}
	var d stint.Decision
	for range 3 {
		if err := l.Decide(context.Background(), charges, &d); err != nil {
			t.Fatal(err)
		}
		d.OwnKeys()
		d.OwnKeys()
		kept := d.Clone()
		copy(shared, "XXXXXXXXXX")
		for _, d := range []*stint.Decision{&d, &kept} {
			if string(d.Key) != "shared key" || string(d.Results[0].Key) != "" || string(d.Results[1].Key) != "shared key" || string(d.Results[2].Key) != "shared key" {
				t.Errorf("keys %q and %q, %q, %q", d.Key, d.Results[0].Key, d.Results[1].Key, d.Results[2].Key)
			}
		}
		copy(shared, "shared key")
	}
}

// TestOwnKeysOfARefusal: the key of a refusal without a store is not among the
// results.
func TestOwnKeysOfARefusal(t *testing.T) {
	var d stint.Decision
	key := []byte("key")
	d.Refuse(stint.ReasonTooLarge, stint.Result{Policy: "p", Key: key})
	d.OwnKeys()
	copy(key, "XXX")
	if string(d.Key) != "key" {
		t.Errorf("key %q, want it to be the decision's own", d.Key)
	}
	d.Results = append(d.Results, stint.Result{Key: []byte("first")}, stint.Result{Key: []byte("second")})
	d.OwnKeys()
	d.Refuse(stint.ReasonTooLarge, stint.Result{Policy: "p", Key: []byte("a longer key")})
	d.OwnKeys()
	if string(d.Key) != "a longer key" || string(d.Results[0].Key) != "first" || string(d.Results[1].Key) != "second" {
		t.Errorf("keys %q and %q, %q", d.Key, d.Results[0].Key, d.Results[1].Key)
	}
}

// TestNobodyIsLeftInLine: all ways out of a line empty it.
func TestNobodyIsLeftInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, "1 per 1s", algo.LeakyQueue{MaxWaiting: 50})
		for round := range 5 {
			l.wait("served", 1)
			cancel := l.wait("gone", 1)
			ctx, end := context.WithTimeout(context.Background(), time.Microsecond)
			l.waitIn(ctx, "late", 1)
			time.Sleep(time.Duration(round) * 500 * time.Millisecond)
			cancel()
			end()
			for range 3 {
				<-l.done
			}
			time.Sleep(10 * s)
			l.left(51)
			if d, err := l.limiter.Wait(context.Background(), charge(l.policy, "k")); err != nil || d.Delay != 0 {
				t.Errorf("round %d: the next waits %v, %v", round, d.Delay, err)
			}
			time.Sleep(10 * s)
		}
	})
}

func TestAChargeWithoutAPolicyIsAnError(t *testing.T) {
	l := &stint.Limiter{Store: storetest.NewReference()}
	if _, err := l.Allow(context.Background(), nil, "k"); err == nil {
		t.Error("Allow: no error")
	}
	if _, err := l.Take(context.Background(), stint.Charge{}); err == nil {
		t.Error("Take: no error")
	}
}

// oddAlgorithm is neither of cells nor of lists.
type oddAlgorithm struct{ stint.Algorithm }

func TestAnAlgorithmWithoutBucketsIsRefused(t *testing.T) {
	odd := oddAlgorithm{algo.TokenBucket}
	if _, err := stint.NewPolicy("p", stint.Limit{Count: 1, Window: time.Second}, odd); err == nil {
		t.Error("no error")
	}
}
