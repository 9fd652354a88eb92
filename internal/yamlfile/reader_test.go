package yamlfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// plain is a dialect that changes nothing.
func plain() Dialect {
	return Dialect{
		Bounds:       Bounds{Tokens: 1000, Depth: 10, Entries: 5, TokensHint: "write less", EntriesHint: "write a list"},
		OneDocument:  "write one",
		Scalar:       func(*Node) {},
		UnknownAlias: func(name string) string { return "write &" + name + " before it" },
		Syntax:       func(line string, e *yaml.SyntaxError) (shown, message, hint string) { return line, e.Message, "" },
	}
}

// read returns what is in a file and what is wrong with it.
func read(src string, d Dialect) (*Node, Errors) {
	r := &Reader{Faults: new(Faults), Name: "f", Dialect: d}
	n := r.Read([]byte(src))
	return n, r.Sorted()
}

// outline writes a tree as kinds, values and places.
func outline(n *Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d", n.Line, n.Column)
	switch n.Kind {
	case Mapping:
		b.WriteString("{")
		for _, f := range n.Fields {
			fmt.Fprintf(&b, " %s=%s", f.Key.Value, outline(f.Value))
		}
		b.WriteString(" }")
	case List:
		b.WriteString("[")
		for _, item := range n.Items {
			b.WriteString(" " + outline(item))
		}
		b.WriteString(" ]")
	default:
		fmt.Fprintf(&b, " %s%s", n.Kind, n.Shown())
	}
	return b.String()
}

func TestNodesKnowTheirKindAndPlace(t *testing.T) {
	for _, row := range []struct{ src, want string }{
		{"", "1:1 empty"},
		{"a:\nb: ~\n", "1:1{ a=1:1 empty b=2:4 empty }"},
		{"a: {b: 1, c: [x, 'y', true]}", `1:1{ a=1:4{ b=1:8 a number 1 c=1:14[ 1:15 text "x" 1:18 text "y" 1:23 a boolean true ] } }`},
		{"- &x {a: 1}\n- *x\n- {<<: *x, b: 2}\n", "1:1[ 1:6{ a=1:10 a number 1 } 1:6{ a=1:10 a number 1 } 3:3{ b=3:15 a number 2 a=1:10 a number 1 } ]"},
		{"\xef\xbb\xbfa: 1\r\nb: 2\rc: 3", "1:1{ a=1:4 a number 1 b=2:4 a number 2 c=3:4 a number 3 }"},
		{"a: |\n  x\n", `1:1{ a=1:4 text "x\n" }`},
	} {
		n, faults := read(row.src, plain())
		if n == nil || len(faults) > 0 || outline(n) != row.want {
			t.Errorf("%q: %v\n got %s\nwant %s", row.src, faults, outline(n), row.want)
		}
	}
}

func TestInsideIsWhereWhatIsHeldStands(t *testing.T) {
	d := plain()
	d.Inside = true
	if n, _ := read("a: {b: 1}", d); outline(n) != "1:1{ a=1:5{ b=1:8 a number 1 } }" {
		t.Error(outline(n))
	}
	for inside, want := range map[bool]string{false: "f:2:1: a second document: write one", true: "f:3:1: a second document: write one"} {
		d.Inside = inside
		if n, faults := read("a\n---\nb\n", d); n != nil || faults.Error() != want {
			t.Errorf("%v, want %s", faults, want)
		}
	}
}

func TestWhatIsWrongIsToldWithItsPlace(t *testing.T) {
	for _, row := range []struct{ src, want string }{
		{"\xff\xfea", "f:1:1: the file is UTF-16: save it as UTF-8"},
		{"a: \xff", "f:1:4: the byte 0xff is no UTF-8: save the file as UTF-8"},
		{"a\r\nb\rc\x01", "f:3:2: the control character 0x01: leave it out"},
		{"a:\n\tb: 1\n", "f:2:1: a tab in the indentation: write spaces"},
		{"a: *b", `f:1:4: "*b": nothing before it is called so: write &b before it`},
		{"a: &a [*a]", `f:1:8: "*a": nothing before it is called so: write &a before it`},
		{"a: &l [x]\n*l : b", "f:1:7: a field's name is a list: write a word"},
		{"<<: [x, [y]]", "f:1:6: << \"x\" is text: write the alias of a mapping: <<: *name\nf:1:9: << is a list: write the alias of a mapping: <<: *name"},
		{"a: !!str b", `f:1:4: the tag "!!str": tags are not used here: leave it out, and write text in quotes`},
		{"%YAML 1.2\n---\na: b", "f:1:1: a directive: leave the line out"},
		{strings.Repeat("- ", 11) + "a", "f:1:21: nested more than 10 deep"},
		{strings.Repeat("[", 11), "f:1:11: nested more than 10 deep"},
		{"a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6", "f:6:2: a mapping with more than 5 entries: write a list"},
		{"[" + strings.Repeat("1,", 700) + "]", "f:1:1001: too much for one file: write less"},
		{"[" + strings.Repeat("1,", 1000) + "]", "f:1:2001: too much for one file: write less"},
		{strings.Repeat("---\n", 17), "f:17:1: more than 16 lines of ---: write one"},
	} {
		_, faults := read(row.src, plain())
		if faults.Error() != row.want {
			t.Errorf("%.40q:\n got %v\nwant %s", row.src, faults, row.want)
		}
	}
}

func TestAnchorsAndMergesAreBounded(t *testing.T) {
	d := plain()
	d.Bounds = Bounds{Tokens: 1 << 20, Depth: 10, Entries: 10}
	if _, faults := read(strings.Repeat("- &a 1\n", maxAnchors+1), d); faults.Error() != "f:1001:3: more than 1000 anchors" {
		t.Error(faults)
	}
	var b strings.Builder
	b.WriteString("- &m {")
	for i := range 1000 {
		fmt.Fprintf(&b, "k%d: 1, ", i)
	}
	b.WriteString("}\n" + strings.Repeat("- {<<: *m}\n", maxMerged/1000) + "- {<<: *m}\n")
	if _, faults := read(b.String(), d); faults.Error() != "f:302:3: << repeats too much: write it out" {
		t.Error(faults)
	}
}

// What has too many tokens is refused before they are made: a token takes hundreds of
// bytes.
func TestTooManyTokensAreNotMade(t *testing.T) {
	d := plain()
	for _, sign := range []string{"[", "{a: ", "- ", "? ", "a: ", "&a ", "*a ", "!a ", "''", "\"\"", "-\n", "{}", ",,"} {
		src := strings.Repeat(sign, 200_000)
		var faults Errors
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, faults = read(src, d)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(10*len(src)) {
			t.Errorf("%q: %d bytes for a file of %d", sign, took, len(src))
		}
		if len(faults) != 1 || faults[0].Message != tooMuch || faults[0].Hint != "write less" || faults[0].Line < 1 {
			t.Errorf("%q: %v", sign, faults)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, src := range []string{"a: {b: [1, x, ~]}", "- &a {<<: *a}", "a: |\n  b\n---\nc", "? [a]\n: !t b", "\"a", "%YAML", "*", "\t- a", "a:\r b", "\xff\xfe"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		n, faults := read(src, plain())
		if n == nil && len(faults) == 0 {
			t.Error("neither a node nor a fault")
		}
		lines := strings.Count(src, "\n") + strings.Count(src, "\r") + 1
		for _, e := range faults {
			if e.Line < 1 || e.Column < 1 || e.Line > lines+1 || e.Message == "" {
				t.Errorf("%+v", e)
			}
		}
		walkNodes(t, n, 0)
	})
}

// walkNodes checks that what is below n is a tree with places.
func walkNodes(t *testing.T, n *Node, depth int) {
	if n == nil || depth > 100 {
		return
	}
	if n.Line < 1 || n.Column < 1 {
		t.Errorf("no place: %+v", n)
	}
	for _, item := range n.Items[:min(len(n.Items), 3)] {
		walkNodes(t, item, depth+1)
	}
	for _, f := range n.Fields[:min(len(n.Fields), 3)] {
		walkNodes(t, f.Value, depth+1)
	}
}
