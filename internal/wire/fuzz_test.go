package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/wire"
)

// FuzzParseQuestion: what is accepted is JSON, and is the same when it is written
// and read again.
func FuzzParseQuestion(f *testing.F) {
	for _, s := range []string{
		`{"method":"GET","path":"/v1/search?q=a","host":"h","ip":"192.0.2.7","headers":{"x-api-key":"k"},"cost":0}`,
		`{"query":{"a":"b"},"cookies":{"c":"d"},"json":{"e.f":"g"},"descriptor":{"h":"\ud83d\ude00"}}`,
		`{"charges":[{"rule":"send-otp","key":["+49"],"cost":1}]}`,
		`{"checks":[{"path":"/"},{"charges":[{"rule":"r"}]}]}`,
		`{"checks":[]}`, `{"path":"/","path":"/"}`, `{"cost":1e9}`, `{"ip":"::1%eth0"}`, `{`, "",
	} {
		f.Add(s)
	}
	var q, again wire.Question
	f.Fuzz(func(t *testing.T, text string) {
		if wire.ParseQuestion(text, &q) != nil {
			_ = wire.ParseRefund(text, &q)
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON and was accepted", text)
		}
		for i := range q.Checks {
			c := &q.Checks[i]
			if len(c.Charges) == 0 && string(encode(c)) == "{}" {
				continue // All that was described is empty objects.
			}
			if err := wire.ParseQuestion(string(encode(c)), &again); err != nil {
				t.Fatalf("%s of %q: %v", encode(c), text, err)
			}
			wantCheck(t, &again.Checks[0], c)
		}
	})
}

// FuzzParseDecision: what is accepted is JSON, and its decision comes back as it was.
func FuzzParseDecision(f *testing.F) {
	for _, d := range decisions(f) {
		f.Add(string(wire.AppendDecision(nil, &d)))
	}
	f.Add(`{"allowed":true,"policy":"","cost":1,"x":[{"y":1.5e-7}]}`)
	var d, again stint.Decision
	f.Fuzz(func(t *testing.T, text string) {
		if wire.ParseDecision(text, &d) != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON and was accepted", text)
		}
		once := string(wire.AppendDecision(nil, &d))
		if err := wire.ParseDecision(once, &again); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice := string(wire.AppendDecision(nil, &again)); twice != once {
			t.Fatalf("%s, then %s", once, twice)
		}
	})
}
