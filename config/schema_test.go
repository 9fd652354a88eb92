package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

const schemaFile = "../docs/rules.schema.json"

func TestSchemaFileIsThatOfTheStructs(t *testing.T) {
	if *update {
		if err := os.MkdirAll("../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(schemaFile, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Schema(), want) {
		t.Errorf("%s is not up to date: go test ./config -run Schema -update", schemaFile)
	}
}

// TestTheSchemaBoundsNumbersAsTheFileDoes holds the numbers that an editor accepts
// beside those that Parse does.
func TestTheSchemaBoundsNumbersAsTheFileDoes(t *testing.T) {
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	for path, file := range map[string]string{
		"deny_status":                "deny_status: %d",
		"client_ip.ipv4_prefix":      "client_ip: { ipv4_prefix: %d }",
		"client_ip.ipv6_prefix":      "client_ip: { ipv6_prefix: %d }",
		"store.memory.max_buckets":   "store: { memory: { max_buckets: %d } }",
		"store.redis.failures":       "store: { redis: { url: redis://a, failures: %d } }",
		"store.redis.fleet":          "store: { redis: { url: redis://a, fleet: %d } }",
		"store.redis.fleet.at_least": "store: { redis: { url: redis://a, fleet: { at_least: %d } } }",
	} {
		var at any = s
		for name := range strings.SplitSeq(path, ".") {
			at = find(at, "properties", name)
		}
		number := find(at, "type", "integer").(map[string]any)
		accepted := func(n float64) bool {
			_, err := Parse("f", fmt.Appendf(nil, file+"\nrules: []", int64(n)), Options{})
			return err == nil
		}
		least := number["minimum"].(float64)
		if !accepted(least) || accepted(least-1) {
			t.Errorf("%s: %v is not the least that a file may have", path, least)
		}
		if most, ok := number["maximum"].(float64); ok && (!accepted(most) || accepted(most+1)) {
			t.Errorf("%s: %v is not the most that a file may have", path, most)
		}
	}
}

// find returns, in v or in what it may be, the member named value of the one called
// name, or the mapping in which name is value.
func find(v any, name, value string) any {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if found := find(one, name, value); found != nil {
				return found
			}
		}
	case map[string]any:
		if v[name] == value {
			return v
		}
		if members, ok := v[name].(map[string]any); ok && members[value] != nil {
			return members[value]
		}
		return find(v["anyOf"], name, value)
	}
	return nil
}

func TestEveryFieldIsDescribed(t *testing.T) {
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(path, item)
			}
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok {
				for name, p := range properties {
					if p.(map[string]any)["description"] == nil {
						t.Errorf("%s.%s has no description", path, name)
					}
					walk(path+"."+name, p)
				}
			}
			for _, in := range []string{"anyOf", "items", "additionalProperties"} {
				walk(path, v[in])
			}
		}
	}
	walk("", s)
}
