package wire

import (
	"net/netip"
	"net/textproto"
	"slices"

	"github.com/stint-dev/stint"
)

// The names of members, in the order of the switches below.
var (
	checkNames  = []string{"method", "path", "host", "ip", "headers", "query", "cookies", "json", "descriptor", "cost", "charges"}
	askNames    = append(slices.Clip(checkNames), "checks")
	batchMember = len(checkNames)
	chargeNames = []string{"rule", "key", "cost"}
	refundNames = []string{"charges"}
)

// The numbers of the members of a check.
const (
	memberMethod = iota
	memberPath
	memberHost
	memberIP
	memberHeaders
	memberQuery
	memberCookies
	memberJSON
	memberDescriptor
	memberCost
	memberCharges
)

// ParseQuestion reads the body of a check into q. The error is an *Error.
func ParseQuestion(text string, q *Question) error {
	return parse(&q.reader, text, func(r *reader) *Error { return r.question(q) })
}

// ParseRefund reads the body of a refund: charges of at least one unit each.
func ParseRefund(text string, q *Question) error {
	return parse(&q.reader, text, func(r *reader) *Error {
		q.Batch, q.Checks = false, grow(q.Checks[:0])
		c := &q.Checks[0]
		c.reset()
		err := r.fields("a refund", refundNames, func(int) *Error { return r.charges(c, refundOf) })
		if err == nil && len(c.Charges) == 0 {
			err = r.fault(`nothing to give back: write {"charges":[{"rule":"…","key":["…"],"cost":1}]}`)
		}
		return err
	})
}

// parse reads one value that is the whole text.
func parse(r *reader, text string, value func(*reader) *Error) error {
	if len(text) > MaxBytes {
		return &Error{Detail: "the text is longer than 1 MiB: send less at once"}
	}
	err := r.begin(text)
	if err == nil {
		err = value(r)
	}
	if err == nil {
		err = r.end()
	}
	return err.asError()
}

func (r *reader) question(q *Question) *Error {
	q.Batch, q.Checks = false, grow(q.Checks[:0])
	var members uint
	var first checkReader
	first.begin(r, &q.Checks[0])
	err := r.fields("a check", askNames, func(i int) *Error {
		members |= 1 << i
		if i != batchMember {
			return first.member(i)
		}
		if members != 1<<batchMember {
			return r.fault("checks stand alone: write what else there is into one of them")
		}
		q.Batch, q.Checks = true, q.Checks[:0]
		return r.checks(q)
	})
	switch {
	case err != nil:
		return err
	case q.Batch && members != 1<<batchMember:
		return r.fault("checks stand alone: write what else there is into one of them")
	case q.Batch:
		return nil
	}
	return first.end()
}

// checks reads the list of a batch.
func (r *reader) checks(q *Question) *Error {
	err := r.list("checks", MaxChecks, func(i int) *Error {
		q.Checks = grow(q.Checks)
		var c checkReader
		c.begin(r, &q.Checks[i])
		if err := r.fields("a check", checkNames, c.member); err != nil {
			return err
		}
		return c.end()
	})
	if err == nil && len(q.Checks) == 0 {
		err = r.fault("no check: send 1 to %d", MaxChecks)
	}
	return err
}

// checkReader reads one check.
type checkReader struct {
	r       *reader
	into    *Check
	members uint
}

func (c *checkReader) begin(r *reader, into *Check) {
	into.reset()
	c.r, c.into = r, into
}

// member reads the i-th of checkNames.
func (c *checkReader) member(i int) (err *Error) {
	c.members |= 1 << i
	r, q := c.r, &c.into.Request
	switch i {
	case memberMethod:
		q.Method, err = r.filled("method", "GET")
	case memberPath:
		q.Path, err = r.filled("path", "/v1/search?q=a")
	case memberHost:
		q.Host, err = r.filled("host", "api.example.com")
	case memberIP:
		q.IP, err = r.address()
	case memberHeaders:
		err = r.values("headers", stint.FieldHeader, q)
	case memberQuery:
		err = r.values("query", stint.FieldQuery, q)
	case memberCookies:
		err = r.values("cookies", stint.FieldCookie, q)
	case memberJSON:
		err = r.values("json", stint.FieldJSON, q)
	case memberDescriptor:
		err = r.values("descriptor", stint.FieldDescriptor, q)
	case memberCost:
		q.Cost, err = r.cost(checkOf)
	case memberCharges:
		if err = r.charges(c.into, checkOf); err == nil && len(c.into.Charges) == 0 {
			err = r.fault("no charge: send 1 to %d, or describe a request instead", stint.MaxCharges)
		}
	}
	return err
}

// end checks what was read together.
func (c *checkReader) end() *Error {
	switch {
	case c.members == 0:
		return c.r.fault("nothing to check: describe a request by its method, path, host, ip and headers, or send charges")
	case c.members&(1<<memberCharges) != 0 && c.members != 1<<memberCharges:
		return c.r.fault("charges stand alone: describe a request, or name rules, not both")
	}
	return nil
}

// purpose is what a cost is for.
type purpose uint8

const (
	checkOf purpose = iota
	refundOf
)

// charges reads a list of charges.
func (r *reader) charges(c *Check, of purpose) *Error {
	return r.list("charges", stint.MaxCharges, func(i int) *Error {
		c.Charges = grow(c.Charges)
		into := &c.Charges[i]
		*into = Charge{Key: into.Key[:0], Cost: 1}
		err := r.fields("a charge", chargeNames, func(m int) (err *Error) {
			switch m {
			case 0:
				into.Rule, err = r.filled("rule", "send-otp")
			case 1:
				err = r.key(into)
			case 2:
				into.Cost, err = r.cost(of)
			}
			return err
		})
		if err == nil && into.Rule == "" {
			err = r.fault("no rule: write the id of one")
		}
		return err
	})
}

// key reads the values of a key.
func (r *reader) key(into *Charge) *Error {
	return r.list("key", MaxParts, func(int) *Error {
		s, err := r.str("a value of a key")
		into.Key = append(into.Key, s)
		return err
	})
}

// cost reads a cost.
func (r *reader) cost(of purpose) (int64, *Error) {
	n, err := r.integer("cost")
	switch {
	case err != nil:
		return 0, err
	case n < 0 && of == checkOf:
		return 0, r.fault("cost %d is negative: write 0 to look, or use /v1/refund to give units back", n)
	case n < 1 && of == refundOf:
		return 0, r.fault("a refund of %d units: write at least 1", n)
	case n > stint.MaxUnits:
		return 0, r.fault("cost %d is too large: at most %d", n, stint.MaxUnits)
	}
	return n, nil
}

// filled reads a string that is not empty.
func (r *reader) filled(want, example string) (string, *Error) {
	s, err := r.str(want)
	if err == nil && s == "" {
		err = r.fault("an empty %s: leave it out, or write one such as %s", want, example)
	}
	return s, err
}

// address reads an address.
func (r *reader) address() (netip.Addr, *Error) {
	s, err := r.filled("ip", "192.0.2.1")
	if err != nil {
		return netip.Addr{}, err
	}
	const longest = 64
	if len(s) > longest {
		return netip.Addr{}, r.fault("no address: write one such as 192.0.2.1 or 2001:db8::1")
	}
	a, bad := netip.ParseAddr(s)
	switch {
	case bad != nil:
		return a, r.fault("no address: write one such as 192.0.2.1 or 2001:db8::1, without a port and brackets")
	case a.Zone() != "":
		return a, r.fault("an address with a zone: leave out what follows the %%")
	}
	return a.Unmap(), nil
}

// values reads an object of names and strings.
func (r *reader) values(want string, kind stint.FieldKind, q *Request) *Error {
	from := len(q.Values)
	return r.object(want, func(name string) *Error {
		if len(q.Values)-from == MaxValues {
			return r.fault("more than %d %s: send those that rules read", MaxValues, want)
		}
		if name == "" {
			return r.fault("an empty name")
		}
		if kind == stint.FieldHeader {
			name = textproto.CanonicalMIMEHeaderKey(name)
		}
		f := stint.Field{Kind: kind, Name: name}
		if _, twice := (&Request{Values: q.Values[from:]}).Value(f); twice {
			return r.fault("the name is there twice: a rule reads the first value only, send that")
		}
		s, err := r.str("a value")
		q.Values = append(q.Values, Value{Field: f, Text: s})
		return err
	})
}
