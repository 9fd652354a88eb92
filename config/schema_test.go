package config

import (
	"bytes"
	"encoding/json"
	"os"
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
