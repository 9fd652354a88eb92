package wire

import (
	"net/netip"
	"strings"

	"github.com/stint-dev/stint"
)

// The bounds of a question.
const (
	// MaxBytes is the longest text of a question.
	MaxBytes = 1 << 20
	// MaxChecks is the most checks of a batch.
	MaxChecks = 1000
	// MaxValues is the most headers of a described request, and the most of its
	// other values of one kind.
	MaxValues = 128
	// MaxParts is the most values of a key.
	MaxParts = 16
)

// Question is what is asked: one check, or a batch of them. It is used again by
// [ParseQuestion]; its strings are parts of the text that was read.
type Question struct {
	Checks []Check
	// Batch says that the question is a list of checks, and the answer a list.
	Batch bool

	reader reader
}

// Check is about a described request, or, where Charges is not empty, about limits
// by the names of their rules.
type Check struct {
	Request Request
	Charges []Charge
}

// Request is a described request. What is not set, the request does not have.
type Request struct {
	// Method such as GET.
	Method string
	// Path as it was sent, with the query if there is one.
	Path string
	// Host is the host asked for; a port is left out of account.
	Host string
	// IP is the client's address; the zero Addr if none is known.
	IP netip.Addr
	// Values are headers, query parameters, cookies, fields of a JSON body and
	// entries of descriptors. The names of headers are in canonical form.
	Values []Value
	// Cost multiplies what each rule's requests cost. 0 looks.
	Cost int64
}

// Value is one value of a request.
type Value struct {
	Field stint.Field
	Text  string
}

// Charge asks the rule called Rule for Cost units of one bucket.
type Charge struct {
	Rule string
	// Key has a value for each part of the rule's key.
	Key []string
	// Cost in units; 0 looks. In a refund, what is given back.
	Cost int64
}

// Value returns a value of the request and whether it is there.
func (r *Request) Value(f stint.Field) (string, bool) {
	for i := range r.Values {
		if v := &r.Values[i]; v.Field == f {
			return v.Text, true
		}
	}
	return "", false
}

// Target splits Path into the path and the query.
func (r *Request) Target() (path, query string) {
	path, query, _ = strings.Cut(r.Path, "?")
	return path, query
}

// reset makes c an empty check that keeps its storage. A cost left out is 1.
func (c *Check) reset() {
	c.Request = Request{Values: c.Request.Values[:0], Cost: 1}
	c.Charges = c.Charges[:0]
}

// grow returns list with one more element, which may hold old storage.
func grow[T any](list []T) []T {
	if n := len(list); n < cap(list) {
		return list[:n+1]
	}
	var zero T
	return append(list, zero)
}
