package rules

import (
	"fmt"
	"strings"
)

// Error is one fault in a Spec.
type Error struct {
	// Path says where: rules[2].match.path[0], keys.api_key, plans.of.k_acme. The
	// indexes are those of the Spec's slices; keys, plans, headers, query
	// parameters and cookies are named. The other names are those of the Spec's
	// fields in snake case: rules[0].limits[1], rules[0].plans.free,
	// rules[0].queue, rules[0].match.header.X-Team[0], keys.api_key.header,
	// plans.key, hash_key, client_ip.ipv4_prefix.
	Path string
	// Message says what is wrong with which value and, after its last colon if it
	// has one, what to write instead.
	Message string
	// Warning faults do not stop the rules from working.
	Warning bool
}

// Error implements error.
func (e *Error) Error() string { return e.Path + ": " + e.Message }

// Errors are all faults of a Spec that stop it from working, in its order.
type Errors []*Error

// Error returns the faults, one on a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults for errors.As.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

// faults collects what a check finds.
type faults struct {
	all []*Error
}

// fault notes what stops the rules from working.
func (f *faults) fault(path, format string, args ...any) {
	f.all = append(f.all, &Error{Path: path, Message: fmt.Sprintf(format, args...)})
}

// warn notes what is legal and probably not meant.
func (f *faults) warn(path, format string, args ...any) {
	f.all = append(f.all, &Error{Path: path, Message: fmt.Sprintf(format, args...), Warning: true})
}

// split returns the faults and the warnings apart.
func (f *faults) split() (errs Errors, warnings []*Error) {
	for _, e := range f.all {
		if e.Warning {
			warnings = append(warnings, e)
		} else {
			errs = append(errs, e)
		}
	}
	return errs, warnings
}

// quote shows a value of the file in a message, cut when it is long.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
