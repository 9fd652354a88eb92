package stint

import (
	"context"
	"net/netip"
	"time"
)

// FieldKind says where in a request a field is found.
type FieldKind uint8

// The kinds of fields.
const (
	// FieldMethod is the request method, such as GET. It has no name.
	FieldMethod FieldKind = iota
	// FieldPath is the path of the request target as it was sent, percent-escapes
	// included and without the query. It has no name.
	FieldPath
	// FieldHost is the host asked for, without a port, in lower case. It has no
	// name.
	FieldHost
	// FieldHeader is the first line of the header called Name, which is in
	// canonical form (X-Api-Key).
	FieldHeader
	// FieldQuery is the first value of the query parameter called Name.
	FieldQuery
	// FieldCookie is the first value of the cookie called Name.
	FieldCookie
	// FieldJSON is the text of the field of a JSON body at the path Name, such as
	// user.phone. Reading it reads the body, up to a bound.
	FieldJSON
	// FieldDescriptor is the value of the first entry called Name in the descriptors
	// that Envoy sends about a request.
	FieldDescriptor
)

// Field names one value of a request.
type Field struct {
	Kind FieldKind
	Name string
}

// Source is a request as rules see it. It is used by one goroutine, for the time
// of one decision. Its values come from a client and are hostile.
type Source interface {
	// Addr is the client's address as far as it is trusted; the zero Addr if
	// there is none.
	Addr() netip.Addr
	// Value returns a field and whether the request has it. The string is valid
	// for the time of the decision.
	Value(Field) (string, bool)
}

// WaitingSource is a Source of a door that lets a request wait for its turn in a queue.
type WaitingSource interface {
	Source
	// Deadline is when the request gives up; ok is false if it does not.
	Deadline() (deadline time.Time, ok bool)
}

// Decider answers for one request. Implementations are safe for concurrent use.
//
// Decide fills d, whose old contents are dropped and whose storage is used
// again. A refusal is not an error; an error means that nobody could tell, and d
// then is a refusal.
type Decider interface {
	Decide(ctx context.Context, src Source, d *Decision) error
}
