package rules_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
)

// Signed-in callers are limited by their plan, all others by their address.
func Example() {
	set, err := rules.Compile(rules.Spec{
		Keys:    []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}},
		Plans:   &rules.Plans{Key: "api_key", Of: map[string]string{"k_acme": "free", "k_globex": "paid"}},
		HashKey: []byte("the same long text on every server"),
		Rules: []rules.Rule{
			{
				ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"},
				Plans: map[string]stint.Limit{
					"free": {Count: 2, Window: time.Minute},
					"paid": {Count: 1000, Window: time.Minute, Burst: 200},
				},
			},
			{
				ID: "signed-out", Match: rules.Match{Lacks: []string{"api_key"}}, Key: []string{"ip"},
				Limits: []stint.Limit{{Count: 1, Window: time.Minute}},
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sentence := range set.Sentences() {
		fmt.Println(sentence)
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	decider := rules.NewDecider(&stint.Limiter{Store: store}, set)
	var d stint.Decision
	for _, key := range []string{"k_acme", "k_acme", "k_acme", "made-up", "also-made-up"} {
		if err := decider.Decide(context.Background(), get("/", "192.0.2.1").with("X-Api-Key", key), &d); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(key, d.Allowed, d.Policy, d.Remaining)
	}
	// Output:
	// per-key: each api_key: plan free at most 2 at once, then one every 30s; at most 4 in any minute; plan paid at most 200 at once, then one every 60ms; at most 1200 in any minute
	// signed-out: each ip (IPv6 /64) without api_key: at most 1 at once, then one every minute; at most 2 in any minute
	// k_acme true per-key 1
	// k_acme true per-key 0
	// k_acme false per-key 0
	// made-up true signed-out 0
	// also-made-up false signed-out 0
}
