package config_test

import (
	"fmt"

	"github.com/stint-dev/stint/config"
)

func ExampleParse() {
	file, err := config.Parse("rules.yaml", []byte(`
upstream: demo
rules:
  - id: per-address
    key: ip
    limit: 100 per minute, burst 20
`), config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.Listen.Gateway, file.Spec.Rules[0].Limits[0])
	// Output: :8080 100 per minute, burst 20
}

func ExampleParse_faults() {
	_, err := config.Parse("rules.yaml", []byte(`
haeders: ietf
rules:
  - id: per-address
    key: ip
    limit: 5 per fortnight
    window: 10
`), config.Options{})
	fmt.Println(err)
	// Output:
	// rules.yaml:2:1: unknown field "haeders": did you mean headers?
	// rules.yaml:6:12: rule "per-address": limit "5 per fortnight": window "fortnight": "fortnight" is not a unit: write 2 weeks
	// rules.yaml:7:13: rule "per-address": window 10 has no unit: write 10s
}
