package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stint-dev/stint/rules"
)

// compile makes the set of rules, and puts what is wrong with it at its places.
func (b *builder) compile() {
	set, err := rules.Compile(b.file.Spec)
	var faults []*rules.Error
	for _, one := range split(err) {
		if re, ok := errors.AsType[*rules.Error](one); ok {
			faults = append(faults, re)
		} else {
			b.Add(&Error{File: b.file.Path, Line: 1, Column: 1, Message: one.Error()})
		}
	}
	written := len(b.List) > 0
	var told []*Error
	for _, re := range faults {
		if e := b.placed(re, written); e != nil {
			told = append(told, e)
		}
	}
	for _, e := range told {
		b.Add(e)
	}
	if err != nil {
		if len(b.List) == 0 {
			b.Add(&Error{File: b.file.Path, Line: 1, Column: 1, Message: err.Error()})
		}
		return
	}
	b.file.Set = set
	warnings, more := set.Warnings()
	for _, w := range warnings {
		if e := b.placed(w, false); e != nil {
			b.file.Warnings = append(b.file.Warnings, e)
		}
	}
	all := faultsOf(b.file.Path, b.file.Warnings)
	b.file.Warnings = all.Sorted()
	if more > 0 {
		b.file.Warnings = append(b.file.Warnings, &Error{File: b.file.Path, Message: fmt.Sprintf("and %d more warnings", more)})
	}
}

// faultsOf collects errors to be sorted.
func faultsOf(file string, list []*Error) *faults { return &faults{File: file, List: list} }

// joined is an error that holds several.
type joined interface {
	error
	Unwrap() []error
}

// split returns the errors that err joins.
func split(err error) []error {
	if all, ok := errors.AsType[joined](err); ok {
		return all.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// placed returns re at its place in the file. Where the file was found faulty
// before, a fault is nil that only follows from that: one whose place is not
// there, or holds what was wrong.
func (b *builder) placed(re *rules.Error, written bool) *Error {
	n, exact := b.place(re.Path)
	if written && (!exact || anyFaulty(n, make(map[*node]bool))) {
		return nil
	}
	message, hint := cutHint(b.withLines(re.Message))
	for _, secret := range secrets(n, nil) {
		message, hint = redact(secret, message), redact(secret, hint)
	}
	return &Error{File: b.file.Path, Line: n.Line, Column: n.Column, Text: n.Source(), Message: b.prefixOf(re) + message, Hint: hint}
}

// withLines says the line of a rule where message says its index.
func (b *builder) withLines(message string) string {
	return b.rulePath.ReplaceAllStringFunc(message, func(path string) string {
		if n := b.places[path]; n != nil {
			return fmt.Sprintf("the rule in line %d", n.Line)
		}
		return path
	})
}

// place finds where a path of the Spec was written: at exactly that, or else at
// the nearest that holds it.
func (b *builder) place(path string) (n *node, exact bool) {
	if n = b.places[path]; n != nil {
		return n, true
	}
	for path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		if n = b.places[path]; n != nil {
			return n, false
		}
	}
	return b.root, false
}

// prefixOf names the rule that a fault is about, unless the message does so.
func (b *builder) prefixOf(re *rules.Error) string {
	n := b.places[b.rulePath.FindString(re.Path)]
	if n == nil {
		return ""
	}
	if id := n.Find("id"); id == nil || strings.HasPrefix(re.Message, fmt.Sprintf("rule %q ", id.Value)) {
		return ""
	}
	return rulePrefix(n)
}

// secrets appends the texts at n and below it that the environment has a part in.
func secrets(n *node, to []*node) []*node {
	if n.Filled {
		to = append(to, n)
	}
	for _, item := range n.Items {
		to = secrets(item, to)
	}
	for _, f := range n.Fields {
		to = secrets(f.Value, secrets(f.Key, to))
	}
	return to
}

// redact writes n as it stands in the file where s says its value.
func redact(n *node, s string) string {
	if len(n.Value) < 3 {
		return strings.ReplaceAll(s, strconv.Quote(n.Value), strconv.Quote(n.Raw))
	}
	return strings.ReplaceAll(s, n.Value, n.Raw)
}
