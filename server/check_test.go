package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/server"
)

// otp names a rule and a phone number.
const otp = `{"charges":[{"rule":"send-otp","key":["+49171"],"cost":%d}]}`

func TestADescribedRequestIsDecidedByTheRules(t *testing.T) {
	s := serve(t)
	const ask = `{"method":"GET","path":"/v1/search?q=a","ip":"192.0.2.7"}`
	for left := int64(2); left >= 0; left-- {
		wantDecision(t, s.check(ask), "search", "", left)
	}
	d := s.check(ask)
	wantDecision(t, d, "search", "limit", 0)
	if *d.RetryAfterUS != 60_000_000 || d.policies() != "search whole-service" || !d.Results[1].Shadow {
		t.Errorf("%+v", d)
	}
	wantDecision(t, s.check(`{"path":"/v1/search","ip":"192.0.2.8"}`), "search", "", 2)
	s.clock.add(time.Minute)
	wantDecision(t, s.check(ask), "search", "", 2)
}

func TestEveryFieldOfADescribedRequestReachesTheRules(t *testing.T) {
	for _, c := range []struct{ ask, policy string }{
		{`{"path":"/v1/otp/send","method":"POST","json":{"phone_number":"+49"}}`, "send-otp"},
		{`{"path":"/v1/otp/send","json":{"phone_number":"+49"}}`, ""},
		{`{"host":"Only.Example:8443","ip":"192.0.2.1"}`, "host"},
		{`{"cookies":{"session":"s"}}`, "session"},
		{`{"headers":{"cookie":"a=b; session=s"}}`, "session"},
		{`{"query":{"page":"1"}}`, "page"},
		{`{"path":"/?a=;&page=1"}`, "page"},
		{`{"descriptor":{"tenant":"t"}}`, "tenant"},
		{`{"path":"/named","headers":{"x-api-key":"k"}}`, "named"},
		{`{"path":"/v1/%73earch","ip":"192.0.2.1"}`, "search"},
		{`{"path":"v1/search","ip":"192.0.2.1"}`, "search"},
		{`{"path":"*"}`, ""},
		{`{"ip":"::ffff:192.0.2.1"}`, ""},
	} {
		if d := serve(t).check(c.ask); d.Policy != c.policy || !d.Allowed {
			t.Errorf("%s: %+v, want %s", c.ask, d, c.policy)
		}
	}
}

func TestRefusalsWithoutAWait(t *testing.T) {
	s := serve(t)
	for _, c := range []struct{ ask, policy, reason string }{
		{`{"path":"/closed"}`, "closed", "blocked"},
		{`{"path":"/named"}`, "named", "missing key"},
		{`{"path":"/` + strings.Repeat("a", 70_000) + `"}`, "closed", "too large"},
		{fmt.Sprintf(otp, 6), "send-otp", "never"},
	} {
		d := s.check(c.ask)
		if d.Allowed || d.Policy != c.policy || d.Reason != c.reason || d.RetryAfterUS != nil {
			t.Errorf("%.60s: %+v", c.ask, d)
		}
	}
}

// TestNamedRulesShareTheBucketOfRequests: a service that names a rule and a gateway
// that sees requests count together.
func TestNamedRulesShareTheBucketOfRequests(t *testing.T) {
	s := serve(t)
	wantDecision(t, s.check(fmt.Sprintf(otp, 2)), "send-otp", "", 3)
	wantDecision(t, s.check(`{"method":"POST","path":"/v1/otp/send","json":{"phone_number":"+49171"}}`), "send-otp", "", 2)
	wantDecision(t, s.check(fmt.Sprintf(otp, 0)), "send-otp", "", 2)
	wantDecision(t, s.check(fmt.Sprintf(otp, 3)), "send-otp", "limit", 2)
	d := s.refund(fmt.Sprintf(otp, 1))
	wantDecision(t, d, "send-otp", "", 3)
	if d.Cost != -1 {
		t.Errorf("cost %d", d.Cost)
	}
	wantDecision(t, s.check(fmt.Sprintf(otp, 3)), "send-otp", "", 0)
	wantDecision(t, s.refund(fmt.Sprintf(otp, 99)), "send-otp", "", 5)
	wantDecision(t, s.check(`{"charges":[{"rule":"send-otp","key":["+49171"]}]}`), "send-otp", "", 4)
}

func TestAllChargesOrNone(t *testing.T) {
	s := serve(t)
	d := s.check(`{"charges":[{"rule":"send-otp","key":["+49"]},{"rule":"closed"}]}`)
	if d.Allowed || d.policies() != "send-otp closed" {
		t.Errorf("%+v", d)
	}
	wantDecision(t, s.check(`{"charges":[{"rule":"send-otp","key":["+49"],"cost":0}]}`), "send-otp", "", 5)
}

func TestABatchIsAnsweredInOrder(t *testing.T) {
	s := serve(t)
	const search = `{"path":"/v1/search","ip":"192.0.2.7"}`
	var got struct{ Decisions []decision }
	s.ask("/v1/check", `{"checks":[`+strings.Repeat(search+",", 4)+`{"charges":[{"rule":"send-otp","key":["1"]},{"rule":"whole-service"}]},{"path":"/other"}]}`, &got)
	if len(got.Decisions) != 6 {
		t.Fatalf("%+v", got)
	}
	for i, left := range []int64{2, 1, 0} {
		wantDecision(t, got.Decisions[i], "search", "", left)
	}
	wantDecision(t, got.Decisions[3], "search", "limit", 0)
	wantDecision(t, got.Decisions[4], "send-otp", "", 4)
	wantDecision(t, got.Decisions[5], "", "", 0)
}

func TestABatchOfAThousand(t *testing.T) {
	s := serve(t)
	batch := func(n int) string { return `{"checks":[` + strings.Repeat(`{"path":"/"},`, n-1) + `{"path":"/"}]}` }
	var got struct{ Decisions []json.RawMessage }
	if s.ask("/v1/check", batch(1000), &got); len(got.Decisions) != 1000 {
		t.Errorf("%d decisions", len(got.Decisions))
	}
	wantProblem(t, s.post("/v1/check", batch(1001)), problem{400, "more than 1000 elements", "/checks"})
}

// TestABadCheckChargesNothing: not even the good ones before it.
func TestABadCheckChargesNothing(t *testing.T) {
	s := serve(t)
	const good = `{"charges":[{"rule":"send-otp","key":["+49171"]}]}`
	wantProblem(t, s.post("/v1/check", `{"checks":[`+good+`,{"charges":[{"rule":"send-otp","key":["1"]},{"rule":"sendotp"}]}]}`),
		problem{400, `there is no rule "sendotp": did you mean send-otp?`, "/checks/1/charges/1"})
	wantProblem(t, s.post("/v1/check", `{"checks":[`+good+`,{"pth":"/"}]}`), problem{400, `no member "pth": write method, path`, "/checks/1/pth"})
	wantDecision(t, s.check(fmt.Sprintf(otp, 0)), "send-otp", "", 5)
}

func TestBadQuestions(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		path, body string
		want       problem
	}{
		{"/v1/check", ``, problem{400, "a check has to be an object, this is no value", ""}},
		{"/v1/check", `{}`, problem{400, "nothing to check: describe a request", ""}},
		{"/v1/check", `{"path":"/"`, problem{400, "the JSON ends where a comma or } has to be", ""}},
		{"/v1/check", `{"path":"/"} {}`, problem{400, "something follows the JSON at byte 13", ""}},
		{"/v1/check", `{"path":""}`, problem{400, "an empty path: leave it out", "/path"}},
		{"/v1/check", `{"path":"/","path":"/"}`, problem{400, "twice", "/path"}},
		{"/v1/check", `{"ip":"192.0.2.1:80"}`, problem{400, "without a port", "/ip"}},
		{"/v1/check", `{"headers":{"X-A":1}}`, problem{400, "a value has to be a string, this is a number", "/headers/X-A"}},
		{"/v1/check", `{"headers":{"x-a":"1","X-A":"2"}}`, problem{400, "twice", "/headers/X-A"}},
		{"/v1/check", `{"path":"/","cost":2}`, problem{400, "knows no cost of described requests", "/cost"}},
		{"/v1/check", `{"path":"/","charges":[{"rule":"closed"}]}`, problem{400, "charges stand alone", ""}},
		{"/v1/check", `{"checks":[{"path":"/"}],"path":"/"}`, problem{400, "checks stand alone", ""}},
		{"/v1/check", `{"checks":[]}`, problem{400, "send 1 to 1000", "/checks"}},
		{"/v1/check", `{"charges":[{"rule":"closed","cost":-1}]}`, problem{400, "use /v1/refund to give units back", "/charges/0/cost"}},
		{"/v1/check", `{"charges":[{"rule":"closed","cost":1.5}]}`, problem{400, "1.5 is no whole number", "/charges/0/cost"}},
		{"/v1/check", `{"charges":[{"rule":"closed","cost":18446744073709551615}]}`, problem{400, "out of range", "/charges/0/cost"}},
		{"/v1/check", `{"charges":[{"rule":"closed","cost":4503599627370497}]}`, problem{400, "too large", "/charges/0/cost"}},
		{"/v1/check", `{"charges":[{"rule":"send-otp"}]}`, problem{400, "give 1, of phone_number", "/charges/0"}},
		{"/v1/check", `{"charges":[{"key":["1"]}]}`, problem{400, "no rule", "/charges/0"}},
		{"/v1/check", `{"charges":[` + strings.Repeat(`{"rule":"closed"},`, 32) + `{"rule":"closed"}]}`, problem{400, "more than 32", "/charges"}},
		{"/v1/refund", `{"charges":[{"rule":"closed","cost":0}]}`, problem{400, "at least 1", "/charges/0/cost"}},
		{"/v1/refund", `{"path":"/"}`, problem{400, "a refund has no member", "/path"}},
		{"/v1/refund", `{}`, problem{400, "nothing to give back", ""}},
	} {
		wantProblem(t, s.post(c.path, c.body), c.want)
	}
}

// TestProblemsKeepSecrets: what is wrong is said without repeating values.
func TestProblemsKeepSecrets(t *testing.T) {
	s := serve(t)
	for _, body := range []string{
		`{"headers":{"Authorization":"hunter2` + "\n" + `"}}`,
		`{"ip":"hunter2"}`,
		`{"path":["hunter2"]}`,
		`{"charges":[{"rule":"closed","key":["hunter2"]}]}`,
		`{"charges":[{"rule":"send-otp","key":["hunter2","hunter2"]}]}`,
	} {
		if a := s.post("/v1/check", body); a.status != 400 || strings.Contains(a.body, "hunter2") {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

func TestRoutes(t *testing.T) {
	s := serve(t, func(o *server.Options) {
		o.Mount = map[string]http.Handler{"/json": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	})
	wantProblem(t, s.send("GET", "/", ""), problem{404, "There are /json, /v1/auth, /v1/check, /v1/openapi.json, /v1/refund.", ""})
	for path, allow := range map[string]string{"/v1/check": "POST", "/v1/refund": "POST", "/v1/openapi.json": "GET, HEAD"} {
		a := s.send("DELETE", path, "")
		wantProblem(t, a, problem{405, "This path takes", ""})
		if got := a.header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow %q, want %q", path, got, allow)
		}
	}
	if a := s.send("POST", "/json", ""); a.status != http.StatusTeapot {
		t.Errorf("mounted: %d", a.status)
	}
	if a := s.send("HEAD", "/v1/openapi.json", ""); a.status != 200 || a.body != "" || a.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD: %+v", a)
	}
}

func TestContentTypes(t *testing.T) {
	s := serve(t)
	for contentType, want := range map[string]int{
		"":                                  415,
		"text/plain":                        415,
		"application/x-www-form-urlencoded": 415,
		"application/jsonx":                 415,
		"application/json; charset=latin1":  415,
		"application/json":                  200,
		"Application/JSON; charset=UTF-8":   200,
		`application/json;charset="utf-8"`:  200,
		"application/json; version=1":       200,
	} {
		if a := s.send("POST", "/v1/check", `{"path":"/"}`, "Content-Type: "+contentType); a.status != want {
			t.Errorf("%q: %d, want %d", contentType, a.status, want)
		}
	}
	a := s.send("POST", "/v1/check", "", "Content-Type: application/json", "Content-Encoding: gzip")
	wantProblem(t, a, problem{415, "without a Content-Encoding", ""})
}

func TestLargeBodies(t *testing.T) {
	s := serve(t)
	body := `{"path":"/` + strings.Repeat("a", 1<<20) + `"}`
	wantProblem(t, s.post("/v1/check", body), problem{413, "larger than 1 MiB", ""})
	r := httptest.NewRequest(http.MethodPost, "/v1/check", strings.NewReader(body))
	r.ContentLength = -1
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 413 {
		t.Errorf("without a length: %d", w.Code)
	}
}

func TestDecideNWeighsDescribedRequests(t *testing.T) {
	var got []int64
	s := serve(t, func(o *server.Options) {
		o.DecideN = func(_ context.Context, _ stint.Source, n int64, d *stint.Decision) error {
			d.Clear()
			d.Allowed = true
			got = append(got, n)
			return nil
		}
	})
	s.check(`{"path":"/","cost":0}`)
	s.check(`{"path":"/","cost":7}`)
	s.check(`{"path":"/","cost":1}`)
	if fmt.Sprint(got) != "[0 7]" {
		t.Errorf("%v", got)
	}
}

// broken is a decider that fails.
type broken struct{ err error }

func (b *broken) Decide(_ context.Context, _ stint.Source, d *stint.Decision) error {
	d.Clear()
	return b.err
}

func TestADeciderThatFailsIsADegradedDecision(t *testing.T) {
	for _, open := range []bool{false, true} {
		var told error
		s := serve(t, func(o *server.Options) {
			o.Limit.Decider, o.Limit.FailOpen = &broken{errors.New("gone")}, open
			o.OnError = func(err error) { told = err }
		})
		d := s.check(`{"path":"/"}`)
		if d.Allowed != open || !d.Degraded || !open && d.Reason != "unavailable" || told == nil {
			t.Errorf("open %v: %+v, told %v", open, d, told)
		}
	}
}

func TestAServerWithoutNamedRules(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.Charger, o.Limiter = nil, nil })
	wantProblem(t, s.post("/v1/check", fmt.Sprintf(otp, 1)), problem{400, "knows no rules by name", "/charges/0"})
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := server.New(server.Options{
		Charger: serve(t).decider, BodyTimeout: -1,
		Mount: map[string]http.Handler{"json": nil, "/v1/check": http.NotFoundHandler(), "/x": nil},
	})
	for _, want := range []string{"no decider", "a charger without a limiter", "body timeout", `mount "json"`, `mount "/v1/check"`, `mount "/x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
