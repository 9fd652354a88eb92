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

// Bounds of what is told about one Spec. In a file of many rules each can have the
// same fault, and a set keeps its warnings as long as it lives.
const (
	maxWarnings    = 200
	maxSuggestions = 200
)

// faults collects what a check finds.
type faults struct {
	errs     Errors
	warnings []*Error
	more     int // warnings that were not kept

	suggestions int
}

// fault notes what stops the rules from working.
func (f *faults) fault(path, format string, args ...any) {
	f.errs = append(f.errs, &Error{Path: path, Message: fmt.Sprintf(format, args...)})
}

// warn notes what is legal and probably not meant.
func (f *faults) warn(path, format string, args ...any) {
	if len(f.warnings) >= maxWarnings {
		f.more++
		return
	}
	f.warnings = append(f.warnings, &Error{Path: path, Message: fmt.Sprintf(format, args...), Warning: true})
}

// didYouMean is [DidYouMean] for names of the spec. It compares name with all of
// them, which is too much to do for each rule of many.
func (f *faults) didYouMean(name string, known []string) string {
	if f.suggestions++; f.suggestions > maxSuggestions {
		return "write one that is there"
	}
	return DidYouMean(name, known)
}

// quote shows a value of the file in a message, cut when it is long.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
