package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// decoder reads nodes into the structs of shape.go. The structs' tags are:
//
//	yaml    the field's name, and after a comma other names for it
//	doc     what it means, for the schema
//	enum    the words it may be
//	hint    what to write instead of a field that comes later
//	secret  "value": what stands there is shown in no message
//	        "names": neither is it, nor are its names
//	        "fields": unknown fields in it are not shown
type decoder struct {
	*faults
	values int    // read so far
	rule   string // prefix of messages inside of a rule
}

// tag is what a struct says about a field.
type tag struct {
	name   string   // as messages call it, such as listen.http
	known  []string // all names of the field
	doc    string
	words  []string // what it may be
	hint   string   // what to write instead
	secret string
}

// value is a field's type: it reads itself from a node, and describes itself for
// the schema.
type value interface {
	set(d *decoder, n *node, t tag)
	schema(t tag) schema
}

// tagOf reads the tags of a field.
func tagOf(f reflect.StructField) tag {
	known := strings.Split(f.Tag.Get("yaml"), ",")
	return tag{
		name: known[0], known: known, doc: f.Tag.Get("doc"),
		words: strings.Fields(f.Tag.Get("enum")), hint: f.Tag.Get("hint"), secret: f.Tag.Get("secret"),
	}
}

// within returns t with the name of what it is in before its own.
func (t tag) within(outer string) tag {
	if outer != "" {
		t.name = outer + "." + t.name
	}
	return t
}

// fault adds a fault of n.
func (d *decoder) fault(n *node, message, hint string) {
	n.Faulty = true
	d.Add(&Error{File: d.File, Line: n.Line, Column: n.Column, Text: n.Source(), Message: d.rule + message, Hint: hint})
}

// wrongKind says that n is not what the field called name wants.
func (d *decoder) wrongKind(n *node, name, hint string) {
	if n.Kind == yamlfile.Null {
		d.fault(n, name+" is empty", hint)
		return
	}
	d.fault(n, name+n.Shown()+" is "+n.Kind.String(), hint)
}

// read reads n into v, unless n was found to be wrong before or aliases repeat too
// much.
func (d *decoder) read(n *node, v value, t tag) {
	if n.Faulty && n.IsScalar() {
		return
	}
	if d.values++; d.values > maxValues {
		if d.values == maxValues+1 {
			d.fault(n, fmt.Sprintf("aliases repeat more than %d values", maxValues), "write fewer aliases into one another")
		}
		return
	}
	if t.secret == "value" || t.secret == "names" {
		n.Hide()
	}
	v.set(d, n, t)
}

// fields reads a mapping into the struct that v points to. Fields of embedded
// structs count as v's own.
func (d *decoder) fields(n *node, v any, t tag) bool {
	if n.Kind != yamlfile.Mapping {
		hint := "write a mapping"
		if t.name == "" {
			hint = "write rules: with a list below it"
		}
		d.wrongKind(n, orFile(t.name), hint)
		return false
	}
	targets := make(map[string]target)
	names := collect(reflect.ValueOf(v).Elem(), targets)
	given := make(map[string]*node)
	for _, f := range n.Fields {
		to, ok := targets[f.Key.Value]
		switch {
		case !ok && t.name == "" && strings.HasPrefix(f.Key.Value, "x-") && d.rule == "":
		case !ok:
			d.unknown(f.Key, t, names)
		case given[to.tag.name] != nil:
			d.twice(f.Key, given[to.tag.name], t)
		default:
			given[to.tag.name] = f.Key
			to.tag.name = f.Key.Value
			d.read(f.Value, to.value, to.tag.within(t.name))
		}
	}
	return true
}

// target is where a field goes.
type target struct {
	value value
	tag   tag
}

// collect finds the fields of a struct by all their names, and returns the first
// name of each in order.
func collect(v reflect.Value, targets map[string]target) (names []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			names = append(names, collect(v.Field(i), targets)...)
			continue
		}
		t := tagOf(f)
		to, ok := reflect.TypeAssert[value](v.Field(i).Addr())
		if t.name == "" || !ok {
			continue
		}
		if _, ok := to.(*later); !ok {
			names = append(names, t.name)
		}
		for _, known := range t.known {
			targets[known] = target{to, t}
		}
	}
	return names
}

// unknown reports a field that does not exist.
func (d *decoder) unknown(key *node, t tag, names []string) {
	if t.secret == "fields" {
		key.Hide()
		d.fault(key, t.name+" has no such field", "write "+yamlfile.OneOf(names))
		return
	}
	where := ""
	if t.name != "" {
		where = " in " + t.name
	}
	d.fault(key, fmt.Sprintf("unknown field%s%s", key.Shown(), where), suggest(key.Value, names))
}

// twice reports a field that was there before.
func (d *decoder) twice(key, first *node, t tag) {
	name := "the field" + key.Shown()
	switch {
	case key.Hidden:
		name = "a key"
	case key.Value != first.Value:
		name = fmt.Sprintf("the field%s, another name of%s,", key.Shown(), first.Shown())
	}
	if t.name != "" {
		name += " in " + t.name
	}
	d.fault(key, name+" is given twice", fmt.Sprintf("leave it out here or in line %d", first.Line))
}

// orFile names the whole file where there is no field.
func orFile(name string) string {
	if name == "" {
		return "the file"
	}
	return name
}
