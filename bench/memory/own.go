package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

const (
	allowed = "Allow, token bucket"
	refused = "Allow, token bucket, refused"
)

// ownTables measures Stint's algorithms and longer requests beside its plainest.
func ownTables(w io.Writer, rounds int) ([]measure.Goal, error) {
	subjects := algorithmSubjects()
	subjects = append(subjects, requestSubjects()...)
	byRules, err := rulesSubject()
	if err != nil {
		return nil, err
	}
	subjects = append(subjects, byRules)
	r := measure.Alternate(rounds, subjects)
	t := measure.NewTable("stint, one key, serial", "ns/op", "× Allow", "B/op", "allocs/op")
	for _, name := range r.Names() {
		s, _ := r.Median(name)
		t.Row(name, measure.Num(s.Wall), fmt.Sprintf("%.2f", r.Ratio(name, allowed)), measure.Num(s.Bytes), measure.Num(s.Allocs))
	}
	t.Write(w, "Stint's algorithms and longer requests")
	goals := []measure.Goal{{What: "refused: of allowed", Want: 1, Got: r.Ratio(refused, allowed), Unit: " ×"}}
	return append(goals, rulesGoals(r)...), nil
}

// algorithmSubjects is one of each algorithm, and the refusal of the default.
func algorithmSubjects() []measure.Subject {
	queue := algo.LeakyQueue{MaxWait: 24 * time.Hour}
	list := field.Quota{Count: 64, Window: time.Millisecond}
	return []measure.Subject{
		decideSubject(allowed, plenty, algo.TokenBucket),
		decideSubject(refused, spent, algo.TokenBucket),
		decideSubject("Allow, leaky bucket", plenty, algo.LeakyBucket),
		decideSubject("Allow, leaky queue", plenty, queue),
		decideSubject("Allow, fixed window", plenty, algo.FixedWindow),
		decideSubject("Allow, sliding window counter", plenty, algo.SlidingWindowCounter),
		decideSubject("Allow, sliding window log, 64 entries", list, algo.SlidingWindowLog),
	}
}

func decideSubject(name string, q field.Quota, a stint.Algorithm) measure.Subject {
	l := field.OpenAlgorithm(q, a)
	return repeat(name, func() { l.Allow("198.51.100.7") })
}

// requestSubjects are requests of several charges.
func requestSubjects() []measure.Subject {
	return []measure.Subject{threeCharges("Decide, three policies", plenty), threeCharges("Decide, three policies, refused", spent)}
}

// threeCharges asks three policies; only the last has the quota q.
func threeCharges(name string, q field.Quota) measure.Subject {
	ctx := context.Background()
	l, first := field.NewStint(plenty, algo.TokenBucket)
	charges := []stint.Charge{
		{Policy: first, Key: []byte("k_acme"), Ask: stint.Ask{Cost: 1}},
		{Policy: field.NewPolicy("address", plenty, algo.TokenBucket), Key: []byte("198.51.100.7"), Ask: stint.Ask{Cost: 1}},
		{Policy: field.NewPolicy("service", q, algo.TokenBucket), Ask: stint.Ask{Cost: 1}},
	}
	var d stint.Decision
	return repeat(name, func() { _ = l.Decide(ctx, charges, &d) })
}

// repeat measures f in turns.
func repeat(name string, f func()) measure.Subject {
	const probe = 2000
	start := time.Now()
	for range probe {
		f()
	}
	each := max(int(probe*turn/max(time.Since(start), 1)), 100)
	return measure.Subject{Name: name, Run: func() measure.Sample {
		return measure.Of(each, 1, func(int) {
			for range each {
				f()
			}
		})
	}}
}
