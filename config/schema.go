package config

import (
	"encoding/json"
	"reflect"
)

// schema is a piece of a JSON Schema.
type schema map[string]any

// Schema returns the JSON Schema (draft 2020-12) of the rules file, for editors.
func Schema() []byte {
	s := object(reflect.TypeFor[shape]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Stint rules file"
	s["required"] = []string{"rules"}
	s["patternProperties"] = schema{"^x-": schema{"description": "Ignored: a place for anchors."}}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil // Maps of strings can always be written.
	}
	return append(out, '\n')
}

// object describes a mapping that is read into a struct.
func object(t reflect.Type) schema {
	properties := schema{}
	addProperties(t, properties)
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

func addProperties(t reflect.Type, to schema) {
	for f := range t.Fields() {
		if f.Anonymous {
			addProperties(f.Type, to)
			continue
		}
		v, ok := reflect.TypeAssert[value](reflect.New(f.Type))
		if !ok {
			continue
		}
		described := tagOf(f)
		s := v.schema(described)
		if s == nil {
			continue
		}
		if described.doc != "" {
			s["description"] = described.doc
		}
		for _, name := range described.known {
			to[name] = s
		}
	}
}

func (w *word) schema(t tag) schema {
	if len(t.words) > 0 {
		return schema{"type": "string", "enum": t.words}
	}
	return schema{"type": "string"}
}

func (w *words) schema(t tag) schema {
	one := new(word).schema(t)
	return schema{"anyOf": []schema{one, {"type": "array", "items": one}}}
}

// fromEnvironment describes a value that the environment fills in.
func fromEnvironment() schema {
	return schema{"type": "string", "pattern": `\$\{[A-Za-z_]`}
}

func (w *whole) schema(t tag) schema {
	number := schema{"type": "integer", "minimum": t.least}
	if t.most > 0 {
		number["maximum"] = t.most
	}
	return schema{"anyOf": []schema{number, fromEnvironment()}}
}

func (f *toggle) schema(tag) schema {
	return schema{"anyOf": []schema{{"type": "boolean"}, fromEnvironment()}}
}

func (s *span) schema(tag) schema {
	return schema{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|\$\{[A-Za-z_]`}
}

func (s *size) schema(tag) schema {
	return schema{"type": "string", "pattern": `^[0-9_]+(k|Ki|[MGT]i?)B$|\$\{[A-Za-z_]`}
}

func (s *spanOrOff) schema(t tag) schema {
	return schema{"anyOf": []schema{{"const": "off"}, s.span.schema(t)}}
}

func (c *decimal) schema(tag) schema {
	return schema{"anyOf": []schema{{"type": "number", "exclusiveMinimum": 0}, fromEnvironment()}}
}

func (*later) schema(tag) schema { return nil }

func (m *names[T, P]) schema(t tag) schema {
	return schema{"type": "object", "additionalProperties": P(new(T)).schema(tag{words: t.words})}
}

func (m *many[T, P]) schema(t tag) schema {
	return schema{"type": "array", "items": P(new(T)).schema(tag{words: t.words})}
}

// limitMapping is a limit written as a mapping of its own.
func limitMapping() schema {
	s := object(reflect.TypeFor[plainRate]())
	s["anyOf"] = []schema{{"required": []string{"limit"}}, {"required": []string{"capacity", "refill_per_sec"}}}
	return s
}

// plainRate is rate without another mapping in it.
type plainRate struct {
	Limit        sentenceOrNumber `yaml:"limit" doc:"A sentence such as \"100 per minute\", or a number with window beside it."`
	Window       span             `yaml:"window,period" doc:"The window, a duration such as 1m30s."`
	Burst        whole            `yaml:"burst" doc:"How much may come at once."`
	Capacity     whole            `yaml:"capacity" doc:"Size of the bucket."`
	RefillPerSec decimal          `yaml:"refill_per_sec" doc:"How much comes back each second."`
}

// sentenceOrNumber describes a limit that is no mapping.
type sentenceOrNumber struct{}

func (*sentenceOrNumber) set(*decoder, *node, tag) {}

func (*sentenceOrNumber) schema(tag) schema {
	return schema{"anyOf": []schema{{"type": "string"}, {"type": "integer", "minimum": 0}}}
}

func (a *amount) schema(tag) schema {
	return schema{"anyOf": []schema{{"type": "string"}, {"type": "integer", "minimum": 0}, limitMapping()}}
}

func (q *quota) schema(tag) schema {
	return schema{"anyOf": []schema{{"type": "string"}, limitMapping()}}
}

func (v *values) schema(tag) schema {
	scalar := schema{"type": []string{"string", "number", "boolean"}}
	return schema{"anyOf": []schema{
		{"type": "string"},
		{"type": "array", "items": schema{"type": "string"}},
		{"type": "object", "additionalProperties": schema{"anyOf": []schema{scalar, {"type": "array", "items": scalar}}}},
	}}
}

func (*queue) schema(tag) schema    { return object(reflect.TypeFor[queueFields]()) }
func (*match) schema(tag) schema    { return object(reflect.TypeFor[matchFields]()) }
func (*listen) schema(tag) schema   { return object(reflect.TypeFor[listenFields]()) }
func (*envoy) schema(tag) schema    { return object(reflect.TypeFor[envoyFields]()) }
func (*clientIP) schema(tag) schema { return object(reflect.TypeFor[clientIPFields]()) }
func (*key) schema(tag) schema      { return object(reflect.TypeFor[keyFields]()) }
func (*plans) schema(tag) schema    { return object(reflect.TypeFor[plansFields]()) }
func (*paths) schema(tag) schema    { return object(reflect.TypeFor[pathsFields]()) }

func (*memory) schema(tag) schema {
	s := object(reflect.TypeFor[memoryFields]())
	s["type"] = []string{"object", "null"}
	return s
}

func (*store) schema(tag) schema {
	return schema{"anyOf": []schema{{"const": "memory"}, new(storeURL).schema(tag{}), object(reflect.TypeFor[storeFields]())}}
}

func (*fleet) schema(tag) schema {
	return schema{"anyOf": []schema{{"type": "integer", "minimum": 1, "maximum": maxCount}, fromEnvironment(), object(reflect.TypeFor[fleetFields]())}}
}

func (*redis) schema(tag) schema {
	s := object(reflect.TypeFor[redisFields]())
	s["required"] = []string{"url"}
	return s
}

func (*storeURL) schema(tag) schema {
	return schema{"type": "string", "pattern": `^((redis|valkey)s?(\+(sentinel|cluster))?|(redis\+)?unix)://|\$\{[A-Za-z_]`}
}

func (*rule) schema(tag) schema {
	s := object(reflect.TypeFor[ruleFields]())
	s["required"] = []string{"id"}
	return s
}
