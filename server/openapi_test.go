package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is the OpenAPI document as the server serves it.
func document(t *testing.T, s *service) map[string]any {
	t.Helper()
	a := s.send("GET", "/v1/openapi.json", "")
	var doc map[string]any
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != 200 {
		t.Fatalf("%d %v", a.status, err)
	}
	if v, _ := doc["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("openapi %v", doc["openapi"])
	}
	return doc
}

// at follows names from v.
func at(t *testing.T, v any, names ...string) map[string]any {
	t.Helper()
	for _, name := range names {
		m, _ := v.(map[string]any)
		if v = m[name]; v == nil {
			t.Fatalf("the document has no %s of %v", name, names)
		}
	}
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%v is no object", names)
	}
	return m
}

// schema is a JSON schema as far as the document uses the language.
type schema struct {
	t   *testing.T
	doc map[string]any
}

// faults says where v is not what the schema says.
func (s schema) faults(of map[string]any, v any, where string) []string {
	if ref, ok := of["$ref"].(string); ok {
		return s.faults(at(s.t, s.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...), v, where)
	}
	if all, ok := of["oneOf"].([]any); ok {
		return s.oneOf(all, v, where)
	}
	if !isType(of["type"], v) {
		return []string{fmt.Sprintf("%s: %v is no %v", where, v, of["type"])}
	}
	var faults []string
	fault := func(wrong bool, name string) {
		if wrong {
			faults = append(faults, fmt.Sprintf("%s: %v against %s %v", where, v, name, of[name]))
		}
	}
	number := func(name string, less bool, n int) {
		if bound, ok := of[name].(float64); ok {
			fault(less && float64(n) < bound || !less && float64(n) > bound, name)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		number("minProperties", true, len(v))
		number("maxProperties", false, len(v))
		faults = append(faults, s.members(of, v, where)...)
	case []any:
		number("minItems", true, len(v))
		number("maxItems", false, len(v))
		items, _ := of["items"].(map[string]any)
		for i, element := range v {
			faults = append(faults, s.faults(items, element, fmt.Sprintf("%s/%d", where, i))...)
		}
	case string:
		number("minLength", true, len(v))
		if enum, ok := of["enum"].([]any); ok {
			fault(!slices.Contains(enum, any(v)), "enum")
		}
	case float64:
		for _, name := range []string{"minimum", "maximum"} {
			bound, ok := of[name].(float64)
			fault(ok && (name == "minimum" && v < bound || name == "maximum" && v > bound), name)
		}
	}
	return faults
}

func (s schema) members(of, v map[string]any, where string) []string {
	var faults []string
	properties, _ := of["properties"].(map[string]any)
	required, _ := of["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			faults = append(faults, fmt.Sprintf("%s has no %s", where, name))
		}
	}
	for name, value := range v {
		member, ok := properties[name].(map[string]any)
		if more, is := of["additionalProperties"].(map[string]any); !ok && is {
			member, ok = more, true
		}
		switch {
		case ok:
			faults = append(faults, s.faults(member, value, where+"/"+name)...)
		case of["additionalProperties"] == false:
			faults = append(faults, fmt.Sprintf("%s has an unknown %s", where, name))
		}
	}
	return faults
}

// oneOf wants exactly one of the schemas to hold.
func (s schema) oneOf(all []any, v any, where string) []string {
	var faults []string
	good := 0
	for _, one := range all {
		f := s.faults(one.(map[string]any), v, where)
		if len(f) == 0 {
			good++
		}
		faults = append(faults, f...)
	}
	switch good {
	case 1:
		return nil
	case 0:
		return faults
	}
	return []string{where + " is more than one"}
}

func isType(want, v any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return isType(one, v) })
	}
	switch v := v.(type) {
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case nil:
		return want == "null"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	}
	return false
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestOpenAPIExamples are sent to the server: its answers are as documented.
func TestOpenAPIExamples(t *testing.T) {
	s := serve(t)
	doc := document(t, s)
	for path, n := range map[string]int{"/v1/check": 5, "/v1/refund": 1} {
		content := at(t, doc, "paths", path, "post", "requestBody", "content", "application/json")
		answer := at(t, doc, "paths", path, "post", "responses", "200", "content", "application/json", "schema")
		examples := at(t, content, "examples")
		if len(examples) != n {
			t.Errorf("%s: %d examples, want %d", path, len(examples), n)
		}
		for _, name := range slices.Sorted(maps.Keys(examples)) {
			value := at(t, examples, name)["value"]
			for _, f := range (schema{t, doc}).faults(at(t, content, "schema"), value, name) {
				t.Errorf("%s: the example %s", path, f)
			}
			body, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			a := s.post(path, string(body))
			if a.status != 200 {
				t.Errorf("%s: %s: %d %s", path, name, a.status, a.body)
				continue
			}
			for _, f := range (schema{t, doc}).faults(answer, decode(t, a.body), name) {
				t.Errorf("%s: the answer %s", path, f)
			}
		}
	}
}

// TestOpenAPIKnowsEveryAnswer: decisions of every kind, and problems.
func TestOpenAPIKnowsEveryAnswer(t *testing.T) {
	s := serve(t)
	doc := document(t, s)
	answers := at(t, doc, "paths", "/v1/check", "post", "responses", "200", "content", "application/json", "schema")
	written := map[string]bool{}
	note := func(prefix string, v any) {
		for name := range v.(map[string]any) {
			written[prefix+name] = true
		}
	}
	for _, ask := range []string{
		`{"path":"/v1/search","ip":"192.0.2.7"}`, `{"path":"/closed"}`, `{"path":"/named"}`, `{"path":"/other"}`,
		`{"path":"/slow","ip":"192.0.2.7"}`, `{"path":"/slow","ip":"192.0.2.7"}`, `{"path":"/` + strings.Repeat("a", 70_000) + `"}`,
		`{"charges":[{"rule":"send-otp","key":["1"],"cost":9}]}`, `{"charges":[{"rule":"free"}]}`, `{"charges":[{"rule":"burst","cost":5}]}`,
	} {
		a := s.post("/v1/check", ask)
		v := decode(t, a.body)
		for _, f := range (schema{t, doc}).faults(answers, v, ask) {
			t.Errorf("%d %s", a.status, f)
		}
		note("", v)
		for _, r := range v.(map[string]any)["results"].([]any) {
			note("results/", r)
			if l, ok := r.(map[string]any)["limit"]; ok {
				note("limit/", l)
			}
		}
	}
	// What only a store that fails makes is written by the tests of the wire.
	for prefix, name := range map[string]string{"": "Decision", "results/": "Result", "limit/": "Limit"} {
		for property := range at(t, doc, "components", "schemas", name, "properties") {
			switch prefix + property {
			case "shadow", "unlimited", "unknown", "degraded", "results/unknown":
				continue
			}
			if !written[prefix+property] {
				t.Errorf("%s is in the document and was never written", prefix+property)
			}
		}
	}
	problems := at(t, doc, "components", "schemas", "Problem")
	a := s.post("/v1/check", `{"pth":1}`)
	for _, f := range (schema{t, doc}).faults(problems, decode(t, a.body), "problem") {
		t.Error(f)
	}
	for name := range decode(t, a.body).(map[string]any) {
		if at(t, problems, "properties")[name] == nil {
			t.Errorf("problems have %s, which is not documented", name)
		}
	}
}

// TestOpenAPIKnowsEveryMember: the server says which members it takes, and they are
// those of the document.
func TestOpenAPIKnowsEveryMember(t *testing.T) {
	s := serve(t)
	doc := document(t, s)
	for _, c := range []struct{ path, ask, schema string }{
		{"/v1/check", `{"checks":[{"?":1}]}`, "Check"},
		{"/v1/check", `{"charges":[{"?":1}]}`, "Charge"},
		{"/v1/refund", `{"?":1}`, "Refund"},
	} {
		var p problem
		if err := json.Unmarshal([]byte(s.post(c.path, c.ask).body), &p); err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(p.Detail, ": write ")
		taken := regexp.MustCompile(`, | or `).Split(list, -1)
		slices.Sort(taken)
		documented := slices.Sorted(maps.Keys(at(t, doc, "components", "schemas", c.schema, "properties")))
		if !slices.Equal(taken, documented) {
			t.Errorf("%s: the server takes %v, the document has %v", c.schema, taken, documented)
		}
	}
}

// TestOpenAPIKnowsEveryPath: and its methods.
func TestOpenAPIKnowsEveryPath(t *testing.T) {
	s := serve(t)
	paths := at(t, document(t, s), "paths")
	var p problem
	if err := json.Unmarshal([]byte(s.send("GET", "/", "").body), &p); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/auth", "/v1/check", "/v1/openapi.json", "/v1/refund"} {
		if paths[path] == nil || !strings.Contains(p.Detail, path) {
			t.Errorf("%s is not in the document or not served: %s", path, p.Detail)
		}
	}
	for path := range paths {
		for method := range at(t, paths, path) {
			if a := s.send(strings.ToUpper(method), path, ""); a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, a.status)
			}
		}
	}
}

// TestDocumentedQuestions sends each question that docs/http-api.md has.
func TestDocumentedQuestions(t *testing.T) {
	text, err := os.ReadFile("../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t)
	found := regexp.MustCompile(`(/v1/(?:check|refund)) [^\n]*-d '([^']+)'`).FindAllStringSubmatch(string(text), -1)
	if len(found) < 4 {
		t.Errorf("%d questions found", len(found))
	}
	for _, q := range found {
		if a := s.post(q[1], q[2]); a.status != 200 {
			t.Errorf("%s %s: %d %s", q[1], q[2], a.status, a.body)
		}
	}
}
