package wire_test

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/wire"
)

func parse(t testing.TB, text string) (wire.Question, error) {
	t.Helper()
	var q wire.Question
	err := wire.ParseQuestion(text, &q)
	return q, err
}

// value is a value of a described request.
func value(kind stint.FieldKind, name, text string) wire.Value {
	return wire.Value{Field: stint.Field{Kind: kind, Name: name}, Text: text}
}

func TestParseQuestionReadsEveryMember(t *testing.T) {
	q, err := parse(t, ` { "method":"GET", "path":"/a?b", "host":"h", "ip":"::ffff:192.0.2.1",
		"headers":{"x-api-key":"k"}, "query":{"q":""}, "cookies":{"c":"1"}, "json":{"a.b":"2"}, "descriptor":{"d":"3"}, "cost":0 } `)
	want := wire.Request{
		Method: "GET", Path: "/a?b", Host: "h", IP: netip.MustParseAddr("192.0.2.1"),
		Values: []wire.Value{
			value(stint.FieldHeader, "X-Api-Key", "k"), value(stint.FieldQuery, "q", ""), value(stint.FieldCookie, "c", "1"),
			value(stint.FieldJSON, "a.b", "2"), value(stint.FieldDescriptor, "d", "3"),
		},
	}
	if err != nil || q.Batch || len(q.Checks) != 1 || !reflect.DeepEqual(q.Checks[0].Request, want) || len(q.Checks[0].Charges) != 0 {
		t.Errorf("%+v, %v", q, err)
	}
}

// TestParseQuestionUsesStorageAgain: nothing of an earlier question is left.
func TestParseQuestionUsesStorageAgain(t *testing.T) {
	var q wire.Question
	for _, text := range []string{
		`{"checks":[{"charges":[{"rule":"a","key":["1","2"],"cost":5}]},{"method":"GET","headers":{"A":"b"},"ip":"::1","cost":0}]}`,
		`{"checks":[{"path":"/"},{"charges":[{"rule":"b"}]}]}`,
		`{"path":"/"}`,
	} {
		var fresh wire.Question
		if err := errors.Join(wire.ParseQuestion(text, &q), wire.ParseQuestion(text, &fresh)); err != nil {
			t.Fatal(err)
		}
		if len(q.Checks) != len(fresh.Checks) || q.Batch != fresh.Batch {
			t.Fatalf("%+v, want %+v", q, fresh)
		}
		for i := range fresh.Checks {
			wantCheck(t, &q.Checks[i], &fresh.Checks[i])
		}
	}
}

// wantCheck compares checks; an empty list is no list.
func wantCheck(t testing.TB, got, want *wire.Check) {
	t.Helper()
	g, w := string(encode(got)), string(encode(want))
	if g != w {
		t.Errorf("%s, want %s", g, w)
	}
}

// encode writes a check.
func encode(c *wire.Check) []byte {
	if len(c.Charges) > 0 {
		return wire.AppendCharges(nil, c.Charges)
	}
	return wire.AppendRequest(nil, &c.Request)
}

func TestStringsAreReadAsJSONHasThem(t *testing.T) {
	for text, want := range map[string]string{
		`"a"`: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u00e9\u20AC"`: "é€", `"\ud83d\ude00x"`: "😀x", `"é😀"`: "é😀", `"x\u0000"`: "x\x00",
	} {
		q, err := parse(t, `{"method":`+text+`}`)
		if err != nil || q.Checks[0].Request.Method != want {
			t.Errorf("%s: %q, %v, want %q", text, q.Checks[0].Request.Method, err, want)
		}
	}
	for _, text := range []string{
		`"`, `"\`, `"\x"`, `"\u12"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00"`, "\"\n\"", "\"\\n\n\"", "\"\xff\"", `'a'`, `a`,
	} {
		if _, err := parse(t, `{"method":`+text+`}`); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestNumbersAreReadAsJSONHasThem(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-0": 0, "7": 7, "4503599627370496": 1 << 52} {
		q, err := parse(t, `{"cost":`+text+`}`)
		if err != nil || q.Checks[0].Request.Cost != want {
			t.Errorf("%s: %d, %v", text, q.Checks[0].Request.Cost, err)
		}
	}
	for _, text := range []string{
		"", "-", "01", "+1", ".5", "1.", "1e", "1e+", "1.0", "1e2", "1E2", "0x1", "NaN", "true", "null", `"1"`,
		"-1", "4503599627370497", "9223372036854775808", strings.Repeat("9", 400),
	} {
		if _, err := parse(t, `{"cost":`+text+`}`); err == nil {
			t.Errorf("%q: no error", text)
		} else if len(err.Error()) > 200 {
			t.Errorf("%q: a long error: %v", text, err)
		}
	}
}

func TestBrokenJSONIsAnError(t *testing.T) {
	const whole = `{"checks":[{"path":"/","headers":{"A":"b"}},{"charges":[{"rule":"r","key":["k"],"cost":1}]}]}`
	if _, err := parse(t, whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if _, err := parse(t, whole[:i]); err == nil {
			t.Errorf("%s: no error", whole[:i])
		}
	}
	for _, text := range []string{`[]`, `null`, `{"path":"/",}`, `{,}`, `{"path"}`, `{path:"/"}`, `{"checks":[,]}`, `{"checks":[{"path":"/"},]}`, whole + "x", "\ufeff" + whole} {
		if _, err := parse(t, text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestPointersAreJSONPointers(t *testing.T) {
	for text, want := range map[string]string{
		`{"headers":{"a/b~":1}}`: "/headers/a~1b~0",
		`{"checks":[{"path":"/"},{"charges":[{"rule":"r","cost":"x"}]}]}`: "/checks/1/charges/0/cost",
		`{"charges":[{"rule":"r","key":["a",1]}]}`:                        "/charges/0/key/1",
	} {
		_, err := parse(t, text)
		if e, ok := errors.AsType[*wire.Error](err); !ok || e.Pointer != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	var headers, keys []string
	for i := range wire.MaxValues + 1 {
		headers = append(headers, `"h`+string(rune('a'+i/26))+string(rune('a'+i%26))+`":""`)
	}
	for range wire.MaxParts + 1 {
		keys = append(keys, `"k"`)
	}
	for _, text := range []string{
		`{"path":"` + strings.Repeat("a", wire.MaxBytes) + `"}`,
		`{"checks":[` + many(wire.MaxChecks+1, `{"path":"/"}`) + `]}`,
		`{"headers":{` + strings.Join(headers, ",") + `}}`,
		`{"charges":[{"rule":"r","key":[` + strings.Join(keys, ",") + `]}]}`,
		`{"charges":[` + many(stint.MaxCharges+1, `{"rule":"r"}`) + `]}`,
		`{"` + strings.Repeat("a", 5000) + `":1}`,
	} {
		if _, err := parse(t, text); err == nil {
			t.Errorf("%.40s: no error", text)
		} else if len(err.Error()) > 500 {
			t.Errorf("%.40s: an error of %d bytes", text, len(err.Error()))
		}
	}
	if _, err := parse(t, `{"headers":{`+strings.Join(headers[1:], ",")+`}}`); err != nil {
		t.Error(err)
	}
}

func TestRequestsAndChargesComeBackAsTheyWere(t *testing.T) {
	for _, c := range []wire.Check{
		{Request: wire.Request{Method: "POST", Path: "/a\"b?c", Host: "h", IP: netip.MustParseAddr("2001:db8::1"), Cost: 3, Values: []wire.Value{
			value(stint.FieldHeader, "X-A", "\x00\n é"), value(stint.FieldHeader, "X-B", ""), value(stint.FieldDescriptor, "d", "1"),
		}}},
		{Request: wire.Request{Cost: 0, IP: netip.MustParseAddr("192.0.2.1")}},
		{Request: wire.Request{Cost: 1, Values: []wire.Value{value(stint.FieldJSON, "a.b", "1"), value(stint.FieldQuery, "q", "2"), value(stint.FieldCookie, "c", "3")}}},
		{Charges: []wire.Charge{{Rule: "r", Key: []string{"a", "\u2028"}, Cost: 0}, {Rule: "s", Cost: 1 << 52}}},
	} {
		text := string(encode(&c))
		q, err := parse(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if len(c.Charges) == 0 {
			c.Request.Values = append([]wire.Value(nil), c.Request.Values...)
		}
		wantCheck(t, &q.Checks[0], &c)
	}
}

func TestAppendStringReplacesWhatIsNotUTF8(t *testing.T) {
	if got := string(wire.AppendString(nil, "a\xffb\xc3\"\x7f\x01é")); got != `"a`+"\uFFFD"+`b`+"\uFFFD"+`\"\u007f\u0001é"` {
		t.Error(got)
	}
}

func TestParseQuestionAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var q wire.Question
	for _, text := range []string{
		`{"method":"GET","path":"/v1/search?q=a","host":"api.example","ip":"192.0.2.7","headers":{"X-Api-Key":"k"}}`,
		`{"charges":[{"rule":"send-otp","key":["+49171"],"cost":1}]}`,
	} {
		if n := testing.AllocsPerRun(100, func() { _ = wire.ParseQuestion(text, &q) }); n > 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}
