package descriptors_test

import (
	"fmt"

	"github.com/stint-dev/stint/descriptors"
)

// entry is an entry of Envoy's message, which has these methods too.
type entry struct{ key, value string }

func (e entry) GetKey() string   { return e.key }
func (e entry) GetValue() string { return e.value }

func ExampleMatch() {
	set, err := descriptors.Parse("edge.yaml", []byte(`
domain: edge
descriptors:
- key: plan
  value: free
  descriptors:
  - key: path
    value: /api/*
    rate_limit: {unit: minute, requests_per_unit: 60}
`), descriptors.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rule, _ := descriptors.Match(set.Domain("edge"), []entry{{"plan", "free"}, {"path", "/api/users"}}, nil)
	fmt.Println(rule.Name, "-", rule.Policy.Limit)
	rule, _ = descriptors.Match(set.Domain("edge"), []entry{{"plan", "paid"}, {"path", "/api/users"}}, nil)
	fmt.Println(rule == nil)
	// Output:
	// edge/plan=free/path="/api/*" - 60 per minute
	// true
}
