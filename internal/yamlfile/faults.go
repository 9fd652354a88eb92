package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxFaults is how many faults are told; more of them are only counted.
const MaxFaults = 100

// Faults collects what is wrong. The zero Faults is ready to use.
type Faults struct {
	// File is the file whose faults come first, and whose name the count of those
	// left out bears. It may be empty.
	File string
	// List is what was collected, in the order in which it was added.
	List Errors

	more int
	seen map[Error]bool
}

// Full says whether more faults are only counted: what to write instead of them need
// not be found out.
func (f *Faults) Full() bool { return len(f.List) >= MaxFaults }

// Add keeps e unless the same was said about the same place: what an alias
// repeats is told once.
func (f *Faults) Add(e *Error) {
	switch {
	case f.seen[*e]:
		return
	case f.Full():
		f.more++
		return
	case f.seen == nil:
		f.seen = make(map[Error]bool)
	}
	f.seen[*e] = true
	f.List = append(f.List, e)
}

// Sorted returns what was collected in the order of the places: files in the order
// in which they were met, but File before all others.
func (f *Faults) Sorted() Errors {
	order := map[string]int{f.File: 0}
	for _, e := range f.List {
		if _, met := order[e.File]; !met {
			order[e.File] = len(order)
		}
	}
	slices.SortStableFunc(f.List, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if f.more == 0 {
		return f.List
	}
	return append(f.List, &Error{File: f.File, Message: fmt.Sprintf("and %d more faults", f.more)})
}
