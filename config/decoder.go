package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
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
	values  int    // read so far
	rule    string // prefix of messages inside of a rule
	layouts map[reflect.Type]*layout
}

// tag is what a struct says about a field.
type tag struct {
	name   string   // as messages call it, such as listen.http
	known  []string // all names of the field
	doc    string
	words  []string // what it may be
	hint   string   // what to write instead
	secret string
	least  int64 // of a number
	most   int64 // of a number, 0 for stint.MaxUnits
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
	least, most := bounds(f.Tag.Get("range"))
	return tag{
		name: known[0], known: known, doc: f.Tag.Get("doc"),
		words: strings.Fields(f.Tag.Get("enum")), hint: f.Tag.Get("hint"), secret: f.Tag.Get("secret"),
		least: least, most: most,
	}
}

// bounds reads a range such as "1 32", or "1" without an upper bound. The editor's
// schema tells it; what reads the field says in its own words what is wrong.
func bounds(s string) (least, most int64) {
	from, to, _ := strings.Cut(s, " ")
	least, _ = strconv.ParseInt(from, 10, 64)
	most, _ = strconv.ParseInt(to, 10, 64)
	return least, most
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
	into := reflect.ValueOf(v).Elem()
	l := d.layout(into.Type())
	given := make(map[string]*node, len(n.Fields))
	for _, f := range n.Fields {
		to, ok := l.targets[f.Key.Value]
		switch {
		case !ok && t.name == "" && strings.HasPrefix(f.Key.Value, "x-") && d.rule == "":
		case !ok:
			d.unknown(f.Key, t, l.names)
		case given[to.tag.name] != nil:
			d.twice(f.Key, given[to.tag.name], t)
		default:
			given[to.tag.name] = f.Key
			to.tag.name = f.Key.Value
			if field, ok := reflect.TypeAssert[value](into.FieldByIndex(to.index).Addr()); ok {
				d.read(f.Value, field, to.tag.within(t.name))
			}
		}
	}
	return true
}

// layout is the fields of a struct.
type layout struct {
	targets map[string]target // by all their names
	names   []string          // the first one of each, in order
}

// target is where a field goes.
type target struct {
	index []int
	tag   tag
}

// layout returns the fields of a struct. Each kind of struct is looked at once: a file
// can have very many rules.
func (d *decoder) layout(t reflect.Type) *layout {
	l := d.layouts[t]
	if l == nil {
		l = &layout{targets: make(map[string]target)}
		l.collect(t, nil)
		d.layouts[t] = l
	}
	return l
}

// collect adds the fields of t, which is at index of the struct.
func (l *layout) collect(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f, at := t.Field(i), append(slices.Clip(index), i)
		if f.Anonymous {
			l.collect(f.Type, at)
			continue
		}
		to := target{at, tagOf(f)}
		if to.tag.name == "" || !reflect.PointerTo(f.Type).Implements(reflect.TypeFor[value]()) {
			continue
		}
		if f.Type != reflect.TypeFor[later]() {
			l.names = append(l.names, to.tag.name)
		}
		for _, known := range to.tag.known {
			l.targets[known] = to
		}
	}
}

// unknown reports a field that does not exist.
func (d *decoder) unknown(key *node, t tag, names []string) {
	if t.secret == "fields" {
		key.Hide()
		d.fault(key, t.name+" has no such field", "write "+yamlfile.OneOf(names))
		return
	}
	where, hint := "", ""
	if t.name != "" {
		where = " in " + t.name
	}
	if !d.Full() {
		hint = suggest(key.Value, names)
	}
	d.fault(key, fmt.Sprintf("unknown field%s%s", key.Shown(), where), hint)
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
