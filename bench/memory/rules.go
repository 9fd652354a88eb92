package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
	"github.com/stint-dev/stint/rules"
)

// order is a request as rules see it.
type order struct{ addr netip.Addr }

// Addr implements [stint.Source].
func (o order) Addr() netip.Addr { return o.addr }

// Value implements [stint.Source].
func (order) Value(f stint.Field) (string, bool) {
	switch {
	case f.Kind == stint.FieldPath:
		return "/v1/orders/7", true
	case f.Kind == stint.FieldMethod:
		return "POST", true
	case f.Kind == stint.FieldHost:
		return "api.example", true
	case f.Kind == stint.FieldHeader && f.Name == "X-Api-Key":
		return "k_acme", true
	}
	return "", false
}

// fiveRules are rules of which an order matches three: its key's plan, orders,
// and the whole service.
func fiveRules() rules.Spec {
	limit := stint.Limit{Count: plenty.Count, Window: plenty.Window}
	return rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{"k_acme": "free", "k_globex": "paid"}},
		Rules: []rules.Rule{
			{
				ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"},
				Plans: map[string]stint.Limit{"free": limit, "paid": limit},
			},
			{ID: "signed-out", Match: rules.Match{Lacks: []string{"api_key"}}, Key: []string{"ip"}, Limits: []stint.Limit{limit}},
			{ID: "search", Match: rules.Match{Path: []string{"/v1/search"}}, Key: []string{"ip"}, Limits: []stint.Limit{limit}},
			{
				ID: "orders", Match: rules.Match{Path: []string{"/v1/orders/{id}"}, Method: []string{"POST"}},
				Key: []string{"ip"}, Limits: []stint.Limit{limit},
			},
			{ID: "service", Key: []string{"global"}, Limits: []stint.Limit{limit}},
		},
	}
}

const byRules = "Decide by 5 rules, 3 matching"

// rulesSubject is a whole decision: from a request by rules and memory.
func rulesSubject() (measure.Subject, error) {
	set, err := rules.Compile(fiveRules())
	if err != nil {
		return measure.Subject{}, err
	}
	l, _ := field.NewStint(plenty, algo.TokenBucket)
	decider := rules.NewDecider(l, set)
	ctx, src := context.Background(), stint.Source(order{netip.MustParseAddr("198.51.100.7")})
	var d stint.Decision
	s := repeat(byRules, func() { _ = decider.Decide(ctx, src, &d) })
	if !d.Allowed || len(d.Results) != 3 {
		return s, fmt.Errorf("an order got %d results and allowed %v: want 3 and true", len(d.Results), d.Allowed)
	}
	return s, nil
}

// rulesGoals are those of a whole decision.
func rulesGoals(r *measure.Rounds) []measure.Goal {
	s, _ := r.Median(byRules)
	return []measure.Goal{
		{What: "rules, memory and decision", Want: 1, Got: s.Wall / float64(time.Microsecond), Unit: " µs"},
		{What: "their allocations", Got: float64(int(s.Allocs))},
	}
}
