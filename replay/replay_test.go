package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rules"
)

func TestEnforcedRuleRefusesAndIsReported(t *testing.T) {
	log := line(0, "192.0.2.1", "/") + line(1*time.Second, "192.0.2.1", "/") + line(2*time.Second, "192.0.2.1", "/") +
		line(3*time.Second, "192.0.2.2", "/") + line(4*time.Second, "192.0.2.1", "/")
	r := run(t, Options{Rules: specOf(byAddress("per-address", 2, "fixed_window"))}, log)
	if r.Requests != 5 || r.Refused != 2 || r.Unreadable != 0 || r.OutOfOrder != 0 {
		t.Errorf("got %+v", r)
	}
	if !r.First.Equal(start) || !r.Last.Equal(start.Add(4*time.Second)) {
		t.Errorf("from %s to %s", r.First, r.Last)
	}
	rule := r.Rules[0]
	if rule.ID != "per-address" || rule.Mode != "enforce" || rule.Matched != 5 || rule.Refused != 2 || rule.KeysRefused != 1 ||
		!rule.FirstRefused.Equal(start.Add(2*time.Second)) || !rule.LastRefused.Equal(start.Add(4*time.Second)) {
		t.Errorf("got %+v", rule)
	}
	if want := []KeyCount{{"192.0.2.1", 2}}; !slices.Equal(rule.Top, want) {
		t.Errorf("top %v, want %v", rule.Top, want)
	}
}

func TestShadowRulesAreCountedEachAlone(t *testing.T) {
	var log strings.Builder
	for i := range 10 {
		log.WriteString(line(time.Duration(i)*time.Second, "192.0.2.1", "/"))
	}
	var spec rules.Spec
	for _, n := range []int64{3, 5, 9} {
		rule := byAddress(fmt.Sprintf("r%d", n), n, "fixed_window")
		rule.Shadow = true
		spec.Rules = append(spec.Rules, rule)
	}
	r := run(t, Options{Rules: spec}, log.String())
	if r.Refused != 0 {
		t.Errorf("shadow rules refused %d", r.Refused)
	}
	for i, want := range []int64{7, 5, 1} {
		if got := r.Rules[i]; got.Refused != want || got.Mode != "shadow" || got.Limits[0].Refused != want {
			t.Errorf("rule %s would have refused %d, want %d", got.ID, got.Refused, want)
		}
	}
}

func TestRequestRefusedByOneRuleChargesNoOther(t *testing.T) {
	tight, wide := byAddress("tight", 1, ""), byAddress("wide", 2, "")
	r := run(t, Options{Rules: specOf(tight, wide)}, strings.Repeat(line(0, "192.0.2.1", "/"), 3))
	if r.Refused != 2 || r.Rules[0].Refused != 2 || r.Rules[1].Refused != 0 || r.Rules[1].Matched != 3 {
		t.Errorf("got %+v", r.Rules)
	}
}

func TestRuleWithSeveralLimitsRefusesARequestOnce(t *testing.T) {
	rule := byAddress("login", 1, "")
	rule.Limits = append(rule.Limits, stint.Limit{Count: 1, Window: time.Hour})
	r := run(t, Options{Rules: specOf(rule)}, strings.Repeat(line(0, "192.0.2.1", "/"), 3))
	got := r.Rules[0]
	if got.Matched != 3 || got.Refused != 2 || len(got.Limits) != 2 || got.Limits[0].Policy != "login/minute" || got.Limits[1].Policy != "login/hour" {
		t.Errorf("got %+v", got)
	}
}

func TestLinesOutOfOrderArePutInOrder(t *testing.T) {
	times := make([]int, 300)
	for i := range times {
		times[i] = i
	}
	inOrder := logAt(times)
	r := rand.New(rand.NewPCG(1, 1))
	places := make(map[int]int)
	for i := range times {
		places[i] = i + r.IntN(100)
	}
	slices.SortStableFunc(times, func(a, b int) int { return places[a] - places[b] })
	o := Options{Rules: specOf(byAddress("a", 20, ""))}
	want, got := run(t, o, inOrder), run(t, o, logAt(times))
	if want.Refused == 0 || got.OutOfOrder != 0 || text(t, got) != text(t, want) {
		t.Errorf("got  %s\nwant %s", text(t, got), text(t, want))
	}
}

// logAt has a line for each of the times in seconds.
func logAt(times []int) string {
	var log strings.Builder
	for _, s := range times {
		log.WriteString(line(time.Duration(s)*time.Second, "192.0.2.1", "/"))
	}
	return log.String()
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLineTooLateForItsPlaceIsCountedAtItsTimeAndReported(t *testing.T) {
	log := logAt([]int{0, 1, 300, 301, 2, 302})
	r := run(t, Options{Rules: specOf(byAddress("a", 3, "fixed_window"))}, log)
	if r.Requests != 6 || r.OutOfOrder != 0 || r.Refused != 0 {
		t.Errorf("2 s is put before 300 s, which nobody has seen yet: got %+v", r)
	}
	log = logAt([]int{0, 1, 300, 301, 600, 601, 2})
	r = run(t, Options{Rules: specOf(byAddress("a", 3, "fixed_window"))}, log)
	if r.Requests != 7 || r.OutOfOrder != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestLogsAreMergedInAnyOrder(t *testing.T) {
	first, second, third := logAt([]int{0, 1, 2}), logAt([]int{600, 601}), logAt([]int{601, 900})
	o := Options{Rules: specOf(byAddress("a", 1, "fixed_window"))}
	want := text(t, run(t, o, first, second, third))
	for _, logs := range [][]string{{third, second, first}, {second, third, first}, {third, first, second}} {
		if got := text(t, run(t, o, logs...)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestLinesThatCanNotBeReadAreCountedByReason(t *testing.T) {
	log := line(0, "192.0.2.1", "/") + "\n" + "rubbish\n" + "more rubbish\n" + `{"ts":1` + "\n"
	r := run(t, Options{Rules: specOf(byAddress("a", 1, ""))}, log)
	want := map[string]int64{"empty": 1, "not a known format": 2, "bad JSON": 1}
	if r.Requests != 1 || r.Unreadable != 4 || fmt.Sprint(r.Reasons) != fmt.Sprint(want) {
		t.Errorf("got %+v", r)
	}
	if len(r.Samples) != 4 || r.Samples[1] != `log1: line 3: not a known format: "rubbish"` {
		t.Errorf("samples %q", r.Samples)
	}
}

func TestEmptyLog(t *testing.T) {
	for _, log := range []string{"", "\n"} {
		r := run(t, Options{Rules: specOf(byAddress("a", 1, ""))}, log)
		if r.Requests != 0 || r.Refused != 0 || len(r.Rules) != 1 || !r.First.IsZero() {
			t.Errorf("got %+v", r)
		}
	}
}

func TestForwardedAddressCountsBehindATrustedPeerOnly(t *testing.T) {
	log := ""
	for i := range 4 {
		log += jsonLine("10.0.0.1", fmt.Sprintf(`"X-Forwarded-For":["198.51.100.%d"]`, i))
		log += jsonLine("192.0.2.1", fmt.Sprintf(`"X-Forwarded-For":["198.51.100.%d"]`, i))
	}
	r := run(t, Options{Rules: specOf(byAddress("a", 1, "")), TrustedProxies: prefixesOf(t, "10.0.0.0/8")}, log)
	if want := []KeyCount{{"192.0.2.1", 3}}; !slices.Equal(r.Rules[0].Top, want) {
		t.Errorf("refused %v, want %v", r.Rules[0].Top, want)
	}
}

func perKey(id string) rules.Rule {
	rule := byAddress(id, 1, "")
	rule.Key, rule.Match.Has = []string{"api_key"}, []string{"api_key"}
	return rule
}

func TestRuleThatNeedsWhatTheLogLacksIsNamed(t *testing.T) {
	spec := specOf(perKey("per-key"), byAddress("by-address", 1, ""))
	spec.Keys = []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}}
	r := run(t, Options{Rules: spec}, strings.Repeat(line(0, "192.0.2.1", "/"), 2))
	if want := []string{"needs X-Api-Key, which this log does not record"}; !slices.Equal(r.Rules[0].Notes, want) {
		t.Errorf("notes %q, want %q", r.Rules[0].Notes, want)
	}
	if r.Rules[0].Matched != 0 || len(r.Rules[1].Notes) != 0 {
		t.Errorf("got %+v", r.Rules)
	}
	r = run(t, Options{Rules: spec}, strings.Repeat(jsonLine("192.0.2.1", `"X-Api-Key":["REDACTED"]`), 2))
	if want := []string{"needs X-Api-Key, which the log shows as REDACTED only"}; !slices.Equal(r.Rules[0].Notes, want) || r.Rules[0].Matched != 0 {
		t.Errorf("notes %q, want %q", r.Rules[0].Notes, want)
	}
}

func TestSecretKeysOfTheLogAreNotInTheReport(t *testing.T) {
	spec := specOf(perKey("per-key"))
	spec.Keys = []rules.Key{{Name: "api_key", Header: "X-Api-Key", Secret: true}}
	r := run(t, Options{Rules: spec}, strings.Repeat(jsonLine("192.0.2.1", `"X-Api-Key":["k_secret"]`), 3))
	if r.Rules[0].Refused != 2 || len(r.Rules[0].Notes) != 0 || strings.Contains(text(t, r), "k_secret") {
		t.Errorf("got %s", text(t, r))
	}
}

func TestRulesWithoutAChargeAreCounted(t *testing.T) {
	health := rules.Rule{ID: "health", Match: rules.Match{Path: []string{"/healthz"}}, Exempt: true}
	deny := perKey("per-key")
	deny.Match.Has, deny.Missing = nil, rules.MissingDeny
	spec := specOf(health, deny)
	spec.Keys = []rules.Key{{Name: "api_key", Header: "X-Api-Key"}}
	r := run(t, Options{Rules: spec}, line(0, "192.0.2.1", "/healthz")+line(0, "192.0.2.1", "/")+line(0, "192.0.2.1", "/"))
	if r.Refused != 2 || r.Rules[0].Matched != 1 || r.Rules[0].Mode != "exempt" || r.Rules[1].Matched != 2 || r.Rules[1].Refused != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestQueueDelaysAreCountedAndNobodyWaits(t *testing.T) {
	rule := byAddress("queue", 60, "leaky_bucket")
	rule.Queue = &rules.Queue{MaxWaiting: 2}
	r := run(t, Options{Rules: specOf(rule)}, strings.Repeat(line(0, "192.0.2.1", "/"), 5))
	if r.Delayed != 2 || r.Refused != 2 {
		t.Errorf("delayed %d and refused %d, want 2 and 2", r.Delayed, r.Refused)
	}
}

func TestCutOffLogIsReportedAsFarAsItGoes(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for i := range 20000 {
		text := line(time.Duration(i)*time.Second, fmt.Sprintf("192.0.2.%d", i%250), fmt.Sprintf("/%d", i*7919))
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	whole := run(t, Options{Rules: specOf(byAddress("a", 1, ""))}, packed.String())
	if whole.Requests != 20000 {
		t.Fatalf("%d requests", whole.Requests)
	}
	packed.Truncate(packed.Len() / 2)
	r, err := Run(context.Background(), Options{Rules: specOf(byAddress("a", 1, ""))}, logsOf(packed.String())...)
	if err == nil || !strings.Contains(err.Error(), "log1: ") || r == nil || r.Requests < 1000 || r.Requests >= 20000 {
		t.Errorf("error %v and report %+v", err, r)
	}
}

func TestEndedContextEndsTheReplay(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Run(ctx, Options{Rules: specOf(byAddress("a", 1, ""))}, logsOf(line(0, "192.0.2.1", "/"))...)
	if !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("report %v, error %v", r, err)
	}
}

func TestFaultyRulesAreTold(t *testing.T) {
	_, err := Run(context.Background(), Options{Rules: specOf(rules.Rule{ID: "a b"})})
	if err == nil {
		t.Error("no error")
	}
	_, err = Run(context.Background(), Options{}, make([]Log, MaxLogs+1)...)
	if err == nil || !strings.Contains(err.Error(), "at most 256") {
		t.Errorf("error %v", err)
	}
}

func FuzzRun(f *testing.F) {
	f.Add([]byte(line(0, "192.0.2.1", "/") + line(time.Hour, "2001:db8::1", "http://x/?a=%zz")))
	f.Add([]byte(jsonLine("10.0.0.1", `"X-Forwarded-For":["a, 192.0.2.9"],"Cookie":["sid=1"]`)))
	f.Add([]byte("\x1f\x8b rubbish"))
	spec := specOf(byAddress("a", 2, ""), byAddress("b", 2, "sliding_window_log"),
		rules.Rule{ID: "c", Key: []string{"sid", "q"}, Limits: []stint.Limit{{Count: 1, Window: time.Second}}})
	spec.Keys = []rules.Key{{Name: "sid", Cookie: "sid"}, {Name: "q", Query: "a"}}
	o := Options{Rules: spec, TrustedProxies: prefixesOf(f, "10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, log []byte) {
		r, err := Run(context.Background(), o, Log{Reader: bytes.NewReader(log)})
		if r == nil {
			t.Fatal(err)
		}
		for _, rule := range r.Rules {
			if rule.Refused > rule.Matched || rule.Matched > r.Requests || r.Refused > r.Requests {
				t.Errorf("%+v of %d", rule, r.Requests)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	log := randomLog(1, 50_000)
	o := Options{Rules: specOf(byAddress("a", 30, ""), byAddress("b", 600, "fixed_window"))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(context.Background(), o, Log{Reader: strings.NewReader(log)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(50_000*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
