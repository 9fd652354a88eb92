package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/accesslog"
	"github.com/stint-dev/stint/rules"
)

// notes says which fields a rule needs that no line of the logs has.
func (r *replay) notes(spec *rules.Rule) []string {
	var notes []string
	for _, u := range r.source.fields {
		if u.found > u.redacted || !r.needs(spec, u.Field) {
			continue
		}
		switch {
		case u.redacted > 0:
			notes = append(notes, fmt.Sprintf("needs %s, which the log shows as %s only", fieldText(u.Field), accesslog.Redacted))
		default:
			notes = append(notes, fmt.Sprintf("needs %s, which this log does not record", fieldText(u.Field)))
		}
	}
	slices.Sort(notes)
	return notes
}

// fieldText names a field of which a log may have none. Of paths, methods and
// parameters a line that has none tells as much as one that has.
func fieldText(f stint.Field) string {
	switch f.Kind {
	case stint.FieldHeader:
		return f.Name
	case stint.FieldCookie:
		return "the cookie " + f.Name
	case stint.FieldJSON:
		return "the body's " + f.Name
	case stint.FieldDescriptor:
		return "the descriptor entry " + f.Name
	case stint.FieldHost:
		return "the host"
	case stint.FieldPath:
		return "the path"
	case stint.FieldMethod:
		return "the method"
	}
	return ""
}

// needs says whether a rule asks for f.
func (r *replay) needs(spec *rules.Rule, f stint.Field) bool {
	m := &spec.Match
	switch f.Kind {
	case stint.FieldMethod:
		if len(m.Method) > 0 {
			return true
		}
	case stint.FieldPath:
		if len(m.Path) > 0 {
			return true
		}
	case stint.FieldHost:
		if len(m.Host) > 0 {
			return true
		}
	case stint.FieldHeader:
		if hasName(m.Header, f.Name) {
			return true
		}
	case stint.FieldCookie:
		if hasName(m.Cookie, f.Name) {
			return true
		}
	case stint.FieldDescriptor:
		if _, ok := m.Descriptor[f.Name]; ok {
			return true
		}
	case stint.FieldQuery:
		return false
	}
	names := slices.Concat(spec.Key, m.Has, m.Lacks)
	if plans := r.options.Rules.Plans; plans != nil && (len(m.Plan) > 0 || len(spec.Plans) > 0) {
		names = append(names, plans.Key)
	}
	return slices.ContainsFunc(names, func(name string) bool { return r.isKey(name, f) })
}

// hasName says whether a header or cookie is among those of a match.
func hasName(of map[string][]string, name string) bool {
	for n := range of {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// isKey says whether the key called name is the field f.
func (r *replay) isKey(name string, f stint.Field) bool {
	switch f.Kind {
	case stint.FieldMethod:
		return name == "method"
	case stint.FieldPath:
		return name == "path"
	case stint.FieldHost:
		return name == "host"
	}
	for i := range r.options.Rules.Keys {
		k := &r.options.Rules.Keys[i]
		if k.Name != name {
			continue
		}
		switch f.Kind {
		case stint.FieldHeader:
			return strings.EqualFold(k.Header, f.Name)
		case stint.FieldCookie:
			return k.Cookie == f.Name
		case stint.FieldJSON:
			return k.JSON == f.Name
		case stint.FieldDescriptor:
			return k.Descriptor == f.Name
		}
	}
	return false
}
