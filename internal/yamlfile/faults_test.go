package yamlfile

import (
	"errors"
	"strings"
	"testing"
)

func TestFaultsAreSortedByFileAndPlace(t *testing.T) {
	f := Faults{File: "top"}
	for _, e := range []Error{
		{File: "b", Line: 2, Column: 1, Message: "third"},
		{File: "a", Message: "fifth"},
		{File: "top", Line: 3, Column: 1, Message: "second", Hint: "do"},
		{File: "b", Line: 2, Column: 2, Message: "fourth"},
		{File: "top", Line: 1, Column: 9, Message: "first"},
		{File: "b", Line: 2, Column: 1, Message: "third"},
	} {
		f.Add(&e)
	}
	want := "top:1:9: first\ntop:3:1: second: do\nb:2:1: third\nb:2:2: fourth\na: fifth"
	if got := f.Sorted(); got.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
	var one *Error
	if !errors.As(f.Sorted(), &one) || one.Message != "first" {
		t.Errorf("errors.As finds %v", one)
	}
}

func TestManyFaultsAreCounted(t *testing.T) {
	f := Faults{File: "f"}
	for i := range MaxFaults + 7 {
		f.Add(&Error{File: "f", Line: i + 1, Message: "no"})
	}
	if !f.Full() {
		t.Error("not full")
	}
	got := f.Sorted()
	if len(got) != MaxFaults+1 || got[MaxFaults].Error() != "f: and 7 more faults" {
		t.Errorf("%d faults, the last: %v", len(got), got[len(got)-1])
	}
}

func TestWords(t *testing.T) {
	long := strings.Repeat("é", MaxShown+1)
	for _, row := range [][2]string{
		{Cut(long[2:]), long[2:]},
		{Cut(long), long[4:] + "…"},
		{Quote("a\n"), `"a\n"`},
		{OneOf(nil), ""},
		{OneOf([]string{"a"}), "a"},
		{OneOf([]string{"a", "b", "c"}), "a, b or c"},
	} {
		if row[0] != row[1] {
			t.Errorf("got %q, want %q", row[0], row[1])
		}
	}
}

func TestWhatIsHiddenIsNotShown(t *testing.T) {
	n, _ := read("a: [b, {c: d}]", plain())
	n.Find("a").Hide()
	inner := n.Find("a").Items[1]
	for _, h := range []*Node{n.Find("a").Items[0], inner.Fields[0].Key, inner.Find("c")} {
		if h.Shown() != "" || h.Source() != "" {
			t.Errorf("shown: %q, %q", h.Shown(), h.Source())
		}
	}
	if key := n.Fields[0].Key; key.Shown() != ` "a"` || key.Source() != "a" || n.Find("z") != nil {
		t.Errorf("%+v", key)
	}
}
