package descriptors_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/descriptors"
)

// The rows are files and all that is said about them.
func TestBrokenFiles(t *testing.T) {
	for _, row := range []struct{ name, file, errors string }{
		{"nothing", "", "f.yaml:1:1: the file is empty: write domain: NAME and descriptors: below it"},
		{"only a comment", "# soon\n", "f.yaml:1:1: the file is empty: write domain: NAME and descriptors: below it"},
		{"a list", "- a\n", "f.yaml:1:1: the file is a list: write domain: NAME and descriptors: below it"},
		{"no YAML", "][", "f.yaml:1:1: not YAML: could not find '[' character corresponding to ']'"},
		{"no domain", "descriptors: []\n", "f.yaml:1:1: no domain: write domain: NAME at the top"},
		{"an empty domain", "domain: ''\n", "f.yaml:1:9: domain is empty: write a text"},
		{"a domain that is a list", "domain: [a]\n", "f.yaml:1:9: domain: a list: write a text"},
		{"two documents", "domain: a\n---\ndomain: b\n", "f.yaml:3:7: a second document: write one domain to a file"},
		{"an unknown field at the top", "domain: a\ndescriptor: []\n", `f.yaml:2:1: unknown field "descriptor": did you mean descriptors?`},
		{"a field twice", "domain: a\ndomain: b\n", "f.yaml:2:1: domain is there twice: write one of them"},
		{"descriptors that are no list", "domain: a\ndescriptors: {key: a}\n", "f.yaml:2:15: descriptors: a mapping: write a list: - key: NAME"},
		{"a descriptor that is a word", "domain: a\ndescriptors: [b]\n", "f.yaml:2:15: a descriptor is text: write - key: NAME"},
		{"no key", "domain: a\ndescriptors:\n- value: b\n", "f.yaml:3:3: a descriptor without a key: write key: NAME"},
		{"an empty key", "domain: a\ndescriptors:\n- key: ''\n  value: b\n", "f.yaml:3:8: key is empty: write a text"},
		{
			"a key and a value twice", "domain: a\ndescriptors:\n- {key: b, value: c}\n- {key: b, value: d}\n- {key: b, value: c}\n",
			`f.yaml:5:4: the key "b" with the value "c" is there twice: first at f.yaml:3:4: write one of them`,
		},
		{
			"a key alone twice", "domain: a\ndescriptors:\n- {key: b}\n- {key: b, value: ''}\n",
			`f.yaml:4:4: the key "b" without a value is there twice: first at f.yaml:3:4: write one of them`,
		},
		{
			"a wildcard twice", "domain: a\ndescriptors:\n- {key: b, value: c*}\n- {key: b, value: c*}\n",
			`f.yaml:4:4: the key "b" with the value "c*" is there twice: first at f.yaml:3:4: write one of them`,
		},
		{"a bare star", "domain: a\ndescriptors:\n- key: b\n  value: *\n", "f.yaml:4:10: not YAML: undefined alias name: write a value that begins with * in quotes: value: \"*\""},
		{
			"an unknown unit", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: fortnight, requests_per_unit: 1}\n",
			`f.yaml:4:22: unit: "fortnight": write second, minute, hour, day, week, month or year`,
		},
		{
			"the unit unknown", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: unknown, requests_per_unit: 1}\n",
			`f.yaml:4:22: unit: "unknown": write second, minute, hour, day, week, month or year`,
		},
		{
			"a window as a unit", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: 10s, requests_per_unit: 1}\n",
			`f.yaml:4:22: unit: "10s": write window: 10s in its place, or unit: second, minute, hour, day, week, month or year`,
		},
		{
			"no unit", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {requests_per_unit: 1}\n",
			"f.yaml:4:16: rate_limit without a unit: write unit: second, minute, hour, day, week, month or year",
		},
		{
			"no number", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day}\n",
			"f.yaml:4:16: rate_limit without requests_per_unit: write how many, 0 to refuse everything, or unlimited: true",
		},
		{
			"a negative number", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: -1}\n",
			"f.yaml:4:46: requests_per_unit: -1: write a whole number from 0 to 4294967295",
		},
		{
			"a number too large", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: 4294967296}\n",
			"f.yaml:4:46: requests_per_unit: 4294967296: write a whole number from 0 to 4294967295",
		},
		{
			"a number in quotes", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: \"5\"}\n",
			`f.yaml:4:46: requests_per_unit: "5": write a whole number from 0 to 4294967295`,
		},
		{
			"C128 unlimited with a limit", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unlimited: true, unit: day, requests_per_unit: 5}\n",
			"f.yaml:4:39: unit beside unlimited: true: leave one of them out\nf.yaml:4:63: requests_per_unit beside unlimited: true: leave one of them out",
		},
		{"a limit that is a number", "domain: a\ndescriptors:\n- key: b\n  rate_limit: 5\n", "f.yaml:4:15: rate_limit: 5: write unit: and requests_per_unit: below it"},
		{
			"fields in the wrong place", "domain: a\ndescriptors:\n- key: b\n  unit: day\n  rate_limit: {unit: day, requests_per_unit: 1, shadow_mode: true}\n",
			`f.yaml:4:3: unknown field "unit": it belongs into rate_limit:` + "\n" +
				`f.yaml:5:49: unknown field "shadow_mode": it belongs to the descriptor, beside rate_limit:`,
		},
		{"a boolean that is none", "domain: a\ndescriptors:\n- {key: b, shadow_mode: maybe}\n", `f.yaml:3:25: shadow_mode: "maybe": write true or false`},
		{
			"sharing without a wildcard", "domain: a\ndescriptors:\n- {key: b, value: c, share_threshold: true}\n",
			`f.yaml:3:39: share_threshold without a wildcard: give the descriptor a value with one, such as value: "*"`,
		},
		{
			"replaces itself", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: 1, name: n, replaces: [{name: n}]}\n",
			"f.yaml:4:76: a limit that replaces itself: write the name of another limit",
		},
		{
			"replaces nothing", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: ''}, x, {}]}\n",
			"f.yaml:4:67: name is empty: write a text\nf.yaml:4:72: replaces: \"x\": write - name: NAME\nf.yaml:4:75: replaces without a name: write - name: NAME",
		},
		{
			"an unknown algorithm", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: 1, algorithm: token-bucket}\n",
			`f.yaml:4:60: algorithm: "token-bucket": did you mean token_bucket?`,
		},
		{
			"a burst where there is none", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: 1, burst: 5}\n",
			"f.yaml:4:56: burst 5: fixed_window has no burst of its own: leave it out, or use token_bucket",
		},
		{
			"an unknown failure mode", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, requests_per_unit: 1, on_store_failure: open}\n",
			`f.yaml:4:67: on_store_failure: "open": write local, allow or deny`,
		},
		{
			"a window and a unit", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {unit: day, window: 5m, requests_per_unit: 1}\n",
			"f.yaml:4:35: window beside unit: leave one of them out",
		},
		{
			"C123 a window without a unit", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {window: 10, requests_per_unit: 1}\n",
			`f.yaml:4:24: window "10" has no unit: write 10s or 10 seconds`,
		},
		{
			"C123 a window of a month", "domain: a\ndescriptors:\n- key: b\n  rate_limit: {window: 1mo, requests_per_unit: 1}\n",
			`f.yaml:4:24: window "1mo": a mo is not always equally long: write days, for example 30 days`,
		},
		{"metadata that is a word", "domain: a\ndescriptors:\n- {key: b, metadata: c}\n", `f.yaml:3:22: metadata: "c": write a mapping`},
		{"a tag", "domain: !!str a\n", `f.yaml:1:9: the tag "!!str": tags are not used here: leave it out, and write text in quotes`},
		{"an alias of nothing", "domain: a\ndescriptors: *x\n", `f.yaml:2:14: "*x": nothing before it is called so: write a value that begins with * in quotes: value: "*"`},
		{"a tab", "domain: a\ndescriptors:\n\t- key: b\n", "f.yaml:3:1: a tab in the indentation: write spaces"},
		{"no text", "domain: a\x00\n", "f.yaml:1:10: the control character 0x00: leave it out"},
		{"no UTF-8", "domain: \xff\n", "f.yaml:1:9: the byte 0xff is no UTF-8: save the file as UTF-8"},
		{
			"everything at once", "descriptors:\n- {value: b}\n- key: c\n  rate_limit: {unit: minut, requests_per_unit: x}\n  descriptors:\n  - {key: d, colour: red}\n",
			"f.yaml:1:1: no domain: write domain: NAME at the top\n" +
				"f.yaml:2:4: a descriptor without a key: write key: NAME\n" +
				"f.yaml:4:22: unit: \"minut\": did you mean minute?\n" +
				"f.yaml:4:48: requests_per_unit: \"x\": write a whole number from 0 to 4294967295\n" +
				"f.yaml:6:14: unknown field \"colour\": write key, value, rate_limit, descriptors, shadow_mode, quota_mode, detailed_metric, value_to_metric, share_threshold or metadata",
		},
	} {
		set, err := descriptors.Parse("f.yaml", []byte(row.file), descriptors.Options{})
		if err == nil || set != nil {
			t.Errorf("%s: taken", row.name)
			continue
		}
		if err.Error() != row.errors {
			t.Errorf("%s:\n got %s\nwant %s", row.name, err, row.errors)
		}
		var one *descriptors.Error
		if all := descriptors.Errors(nil); !errors.As(err, &all) || !errors.As(err, &one) || one.Message == "" {
			t.Errorf("%s: %T", row.name, err)
		}
	}
}

func TestFaultsTellTheText(t *testing.T) {
	_, err := descriptors.Parse("f.yaml", []byte("domain: a\ndescriptors: [{key: b, rate_limit: {unit: ever, requests_per_unit: 1}}]"), descriptors.Options{})
	var one *descriptors.Error
	if !errors.As(err, &one) || one.Text != "ever" || one.Line != 2 || one.Column != 43 || one.File != "f.yaml" {
		t.Errorf("got %+v", one)
	}
}

func TestBounds(t *testing.T) {
	nested := func(n int) string {
		var b strings.Builder
		b.WriteString("domain: a\n")
		for i := range n {
			fmt.Fprintf(&b, "%sdescriptors:\n%s- key: k\n", strings.Repeat("  ", i), strings.Repeat("  ", i))
		}
		return b.String()
	}
	var anchors strings.Builder
	anchors.WriteString("domain: a\nx0: &x0 {key: k}\n")
	bomb := "domain: a\ndescriptors:\n- &a {key: a}\n"
	for i := range 7 {
		bomb += fmt.Sprintf("- &b%d {key: b%d, descriptors: [", i, i)
		for j := range 9 {
			if j > 0 {
				bomb += ", "
			}
			if i == 0 {
				bomb += fmt.Sprintf("{key: c%d, descriptors: [*a]}", j)
			} else {
				bomb += fmt.Sprintf("{key: c%d, descriptors: [*b%d]}", j, i-1)
			}
		}
		bomb += "]}\n"
	}
	for _, row := range []struct{ name, file, text string }{
		{"nested too deep", nested(descriptors.MaxDepth + 1), "descriptors nested more than 32 deep"},
		{"nested far too deep", nested(500), "nested more than 144 deep"},
		{"too many", many(descriptors.MaxDescriptors+1, false), "more than 20000 descriptors"},
		{"aliases of aliases", bomb, "more than 20000 descriptors"},
		{"a long key", "domain: a\ndescriptors: [{key: " + strings.Repeat("k", 5000) + "}]", "key of 5000 bytes: at most 4096"},
		{"a large file", "domain: a\n" + strings.Repeat("# comment\n", 1<<20), "bytes: at most 8388608"},
		{"flow too deep", "domain: a\ndescriptors: " + strings.Repeat("[", 10_000), "nested more than 144 deep"},
		{"many documents", strings.Repeat("---\na: 1\n", 1<<17), "more than 16 lines of ---"},
		{"many faults", "domain: a\ndescriptors:\n" + strings.Repeat("- {value: x}\n", 5000), "and 4900 more faults"},
	} {
		_, err := descriptors.Parse("f.yaml", []byte(row.file), descriptors.Options{})
		if err == nil || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%s: %.300v, want %q", row.name, err, row.text)
		}
	}
	if _, err := descriptors.Parse("f.yaml", []byte(nested(descriptors.MaxDepth)), descriptors.Options{}); err != nil {
		t.Errorf("as deep as it may be: %v", err)
	}
}

func TestAnchorsAndMerges(t *testing.T) {
	s := parse(t, `domain: a
descriptors:
- {key: x, rate_limit: &l {unit: day, requests_per_unit: 3}}
- {key: y, rate_limit: *l}
- {key: z, rate_limit: {<<: *l, requests_per_unit: 4}}
- key: w
  descriptors: &d
  - {key: v, rate_limit: *l}
- {key: u, descriptors: *d}
`, descriptors.Options{Algorithm: algo.TokenBucket})
	var got []string
	for _, r := range s.Rules() {
		got = append(got, fmt.Sprintf("%s %s %s", r.Name, r.Policy.Limit, r.Policy.Algorithm.Name()))
	}
	want := "a/x 3 per day token_bucket, a/y 3 per day token_bucket, a/z 4 per day token_bucket, a/w/v 3 per day token_bucket, a/u/v 3 per day token_bucket"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
}

func TestMetadataIsWhatTheFileSays(t *testing.T) {
	s := parse(t, `domain: a
descriptors:
- key: k
  metadata: {t: true, T: True, f: FALSE, word: "true", n: 1_0.5, big: 1e999, none: ~, list: [1, [x]], map: {a: {b: c}}}
  rate_limit: {unlimited: true}
`, descriptors.Options{})
	want := "map[T:true big:1e999 f:false list:[1 [x]] map:map[a:map[b:c]] n:10.5 none:<nil> t:true word:true]"
	if got := s.Rules()[0].Metadata; fmt.Sprint(got) != want || got["T"] != any(true) || got["word"] != any("true") {
		t.Errorf("got %v", got)
	}
}
