package wire

import (
	"strconv"

	"github.com/stint-dev/stint"
)

// AppendRequest appends a check about a described request.
func AppendRequest(b []byte, r *Request) []byte {
	b = append(b, '{')
	start := len(b)
	b = appendFilled(b, start, "method", r.Method)
	b = appendFilled(b, start, "path", r.Path)
	b = appendFilled(b, start, "host", r.Host)
	if r.IP.IsValid() {
		b = append(appendName(b, start, "ip"), '"')
		b = append(r.IP.WithZone("").AppendTo(b), '"')
	}
	for _, kind := range [...]stint.FieldKind{
		stint.FieldHeader, stint.FieldQuery, stint.FieldCookie, stint.FieldJSON, stint.FieldDescriptor,
	} {
		b = appendValues(b, start, kind, r.Values)
	}
	if r.Cost != 1 {
		b = strconv.AppendInt(appendName(b, start, "cost"), r.Cost, 10)
	}
	return append(b, '}')
}

// AppendCharges appends a check, or a refund, of charges.
func AppendCharges(b []byte, charges []Charge) []byte {
	b = append(b, `{"charges":[`...)
	for i := range charges {
		c := &charges[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(append(b, `{"rule":`...), c.Rule)
		if len(c.Key) > 0 {
			b = append(b, `,"key":[`...)
			for j, s := range c.Key {
				if j > 0 {
					b = append(b, ',')
				}
				b = AppendString(b, s)
			}
			b = append(b, ']')
		}
		b = strconv.AppendInt(append(b, `,"cost":`...), c.Cost, 10)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// valuesName is the member that holds values of a kind.
func valuesName(kind stint.FieldKind) string {
	switch kind {
	case stint.FieldHeader:
		return "headers"
	case stint.FieldQuery:
		return "query"
	case stint.FieldCookie:
		return "cookies"
	case stint.FieldJSON:
		return "json"
	}
	return "descriptor"
}

// appendValues appends the values of one kind, if there are any.
func appendValues(b []byte, start int, kind stint.FieldKind, values []Value) []byte {
	listed := false
	for i := range values {
		v := &values[i]
		if v.Field.Kind != kind {
			continue
		}
		if listed {
			b = append(b, ',')
		} else {
			b = append(appendName(b, start, valuesName(kind)), '{')
		}
		b = append(AppendString(b, v.Field.Name), ':')
		b, listed = AppendString(b, v.Text), true
	}
	if listed {
		b = append(b, '}')
	}
	return b
}

// appendFilled appends a member unless it is empty.
func appendFilled(b []byte, start int, name, value string) []byte {
	if value == "" {
		return b
	}
	return AppendString(appendName(b, start, name), value)
}

// appendName appends a member's name; the first one of an object stands at start.
func appendName(b []byte, start int, name string) []byte {
	if len(b) > start {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), `":`...)
}
