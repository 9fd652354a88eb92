package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/yamlfile"
	"github.com/stint-dev/stint/rules"
)

// parseGood reads a file that must be good.
func parseGood(t *testing.T, src string) *File {
	t.Helper()
	f, err := Parse("rules.yaml", []byte(src), Options{})
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, src)
	}
	return f
}

// wantFault reads a file that must be refused with the message.
func wantFault(t *testing.T, src, message string) {
	t.Helper()
	_, err := Parse("rules.yaml", []byte(src), Options{})
	if err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("got  %v\nwant %s\nfor\n%s", err, message, src)
	}
}

// oneLimit is a file with one rule that has the fields.
func oneLimit(fields string) string {
	return "rules:\n  - { id: a, key: ip, " + fields + " }\n"
}

// limitOf returns the limit that the fields make.
func limitOf(t *testing.T, fields string) stint.Limit {
	t.Helper()
	return parseGood(t, oneLimit(fields)).Spec.Rules[0].Limits[0]
}

func TestGoodFilesLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		f, err := Load(path, Options{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if f.Set == nil || f.Path != path {
			t.Errorf("%s: set %v, path %q", path, f.Set, f.Path)
		}
	}
}

func TestEveryFieldArrives(t *testing.T) {
	f, err := Load("testdata/good/everything.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	type settings struct {
		Listen       Listen
		Upstream     string
		Store        Store
		Unix         bool
		Proxies      int
		ClientHeader string
		Headers      []string
		DenyStatus   int
	}
	got := settings{f.Listen, f.Upstream.String(), f.Store, f.TrustUnix, len(f.TrustedProxies), f.ClientHeader, f.Headers, f.DenyStatus}
	want := settings{
		Listen{Gateway: ":8080", Admin: "127.0.0.1:9090"},
		"http://127.0.0.1:3000/base",
		Store{MaxBuckets: 1_000_000, MaxMemory: 512 << 20, RefuseNew: true},
		true, 10, "X-Real-IP",
		[]string{"ietf", "github"},
		503,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("settings\n got %+v\nwant %+v", got, want)
	}
	limit := func(n int64, w time.Duration, burst int64) stint.Limit {
		return stint.Limit{Count: n, Window: w, Burst: burst}
	}
	wantSpec := rules.Spec{
		Keys: []rules.Key{
			{Name: "api_key", Header: "X-Api-Key", Secret: true},
			{Name: "team", Query: "team"},
			{Name: "session", Cookie: "sid", Secret: true},
			{Name: "order", Param: "id"},
			{Name: "phone_number", JSON: "user.phone"},
		},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{
			"k_acme": "free", "k_globex": "paid", "12345": "internal", "k_initech": "paid", "k_hooli": "free",
		}},
		HashKey: []byte("a default that is only for tests"), IgnoreCase: true, StrictSlash: true, IPv4Prefix: 24, IPv6Prefix: 56,
		Rules: []rules.Rule{
			{ID: "health", Match: rules.Match{
				Path: []string{"/healthz", "/readyz"}, Method: []string{"GET"}, IP: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
			}, Exempt: true},
			{ID: "internal", Match: rules.Match{Plan: []string{"internal"}}, Unlimited: true},
			{ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"}, Plans: map[string]stint.Limit{
				"free": limit(100, time.Minute, 0), "paid": limit(1000, time.Minute, 200),
				"internal": limit(5, 2*time.Second, 50), "default": limit(10, time.Minute, 0),
			}},
			{
				ID: "exports", Match: rules.Match{
					Path:   []string{"/v1/exports"},
					Header: map[string][]string{"X-Version": {"1", "2"}, "X-Mode": {"bulk"}},
					Query:  map[string][]string{"format": nil}, Cookie: map[string][]string{"sid": nil},
				},
				Key: []string{"api_key", "path"}, Missing: rules.MissingDeny, Algorithm: "leaky_bucket",
				Limits: []stint.Limit{limit(1, time.Second, 0)}, Queue: &rules.Queue{MaxWait: 10 * time.Second, MaxWaiting: 5},
			},
			{
				ID: "orders", Match: rules.Match{Path: []string{"/v1/orders/{id}"}, Host: []string{"*.example.com"}}, Key: []string{"order"},
				Limits:    []stint.Limit{limit(5, time.Minute, 0), limit(50, 24*time.Hour, 0), limit(500, 7*24*time.Hour, 0)},
				Algorithm: "fixed_window", OnStoreFailure: stint.FailDeny, Stop: true,
			},
			{
				ID: "balance", Match: rules.Match{Path: []string{"/v1/balance"}, Lacks: []string{"api_key"}}, Key: []string{"ip"},
				Free: true, Limits: []stint.Limit{limit(100, time.Minute, 20)},
			},
			{ID: "whole-service", Key: []string{"global"}, Limits: []stint.Limit{limit(5000, time.Second, 0)}, Shadow: true},
		},
	}
	if !reflect.DeepEqual(f.Spec, wantSpec) {
		t.Errorf("spec\n got %+v\nwant %+v", f.Spec, wantSpec)
	}
}

func TestDefaults(t *testing.T) {
	f := parseGood(t, "rules: []")
	if f.Listen != (Listen{Admin: "127.0.0.1:9090"}) || f.Upstream.IsSet() || f.DenyStatus != 429 || !slices.Equal(f.Headers, []string{"x-ratelimit", "ietf"}) {
		t.Errorf("without an upstream: %+v", f)
	}
	f = parseGood(t, "upstream: demo\nlisten: { admin: \"\" }\nrules: []")
	if f.Listen != (Listen{Gateway: ":8080"}) || !f.Upstream.Demo {
		t.Errorf("with an upstream: %+v", f)
	}
}

func TestRefillPerSecondIsExact(t *testing.T) {
	for _, c := range []struct {
		refill string
		count  int64
		window time.Duration
	}{
		{"1.67", 167, 100 * time.Second},
		{"1.50", 3, 2 * time.Second},
		{"20", 20, time.Second},
		{".5", 1, 2 * time.Second},
		{"0.001", 1, 1000 * time.Second},
	} {
		want := stint.Limit{Count: c.count, Window: c.window, Burst: 20}
		if got := limitOf(t, "capacity: 20, refill_per_sec: "+c.refill); got != want {
			t.Errorf("refill_per_sec %s: %+v, want %+v", c.refill, got, want)
		}
	}
}

func TestC123Periods(t *testing.T) {
	for fields, want := range map[string]stint.Limit{
		"limit: 6, period: 1m":            {Count: 6, Window: time.Minute},
		"limit: 59, period: 1s":           {Count: 59, Window: time.Second},
		"limit: 5, window: 1m30s":         {Count: 5, Window: 90 * time.Second},
		"limit: 5, window: 1.5h":          {Count: 5, Window: 5400 * time.Second},
		"limit: 5 per minute, burst: 7":   {Count: 5, Window: time.Minute, Burst: 7},
		"limit: { limit: 5, period: 1m }": {Count: 5, Window: time.Minute},
		"limit: 1_000, window: 1m":        {Count: 1000, Window: time.Minute},
	} {
		if got := limitOf(t, fields); got != want {
			t.Errorf("%s: %+v, want %+v", fields, got, want)
		}
	}
	for fields, message := range map[string]string{
		"limit: 100":                  `rules.yaml:2:30: rule "a": limit 100 has no window: write window: 1m beside it`,
		"limit: 100, period: 10":      `rules.yaml:2:43: rule "a": period 10 has no unit: write 10s`,
		`limit: 100, period: "10"`:    `rules.yaml:2:43: rule "a": period "10" has no unit: write 10s`,
		"limit: 100, period: 0s":      `period "0s" is not longer than 0`,
		"limit: 100, period: -1s":     `period "-1s" is not longer than 0`,
		`limit: 100, period: "1 m"`:   `period "1 m" is not a duration: write 1m`,
		"limit: 100, period: 1M":      `period "1M" is not a duration: write 1m`,
		"limit: 100, window: 0.5":     `window 0.5 has no unit: write 0.5s`,
		"limit: 100, window: 1 minut": `window "1 minut" is not a duration`,
	} {
		wantFault(t, oneLimit(fields), message)
	}
}

func TestC031VeryLargeLimits(t *testing.T) {
	for _, n := range []int64{200_000_000_000, 4_398_046_511_104} {
		want := stint.Limit{Count: n, Window: time.Second}
		if got := limitOf(t, fmt.Sprintf("limit: %d, window: 1s", n)); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for _, n := range []string{"9223372036854775807", "18446744073709551616", strings.Repeat("9", 1000)} {
		wantFault(t, oneLimit("limit: "+n+", window: 1s"), `rule "a": limit `+n[:19])
		wantFault(t, oneLimit("limit: "+n+" per second"), `rule "a": limit "`+n[:19])
	}
}

func TestC035ZeroAndNegativeLimits(t *testing.T) {
	if got := limitOf(t, "limit: 0, window: 1m"); got != (stint.Limit{Window: time.Minute}) {
		t.Errorf("limit 0 is legal, got %+v", got)
	}
	f := parseGood(t, oneLimit("limit: 0 per minute"))
	if !hasWarning(f, "refuses everything") {
		t.Errorf("no warning of limit 0: %v", f.Warnings)
	}
	wantFault(t, oneLimit("limit: 5, window: 1m, burst: 0"), "burst 0 lets nothing through")
	wantFault(t, oneLimit("limit: -1, window: 1m"), "limit -1 is negative")
}

// hasWarning says whether a warning of f contains words.
func hasWarning(f *File, words string) bool {
	return slices.ContainsFunc(f.Warnings, func(e *Error) bool { return strings.Contains(e.Error(), words) })
}

func TestC074UselessMaxBuckets(t *testing.T) {
	for _, n := range []string{"0", "-1"} {
		wantFault(t, "store: { memory: { max_buckets: "+n+" } }\nrules: []", "rules.yaml:1:33: store.memory.max_buckets "+n)
	}
}

func TestC081UselessPrefixes(t *testing.T) {
	for _, n := range []string{"0", "129", "-1"} {
		wantFault(t, "client_ip: { ipv6_prefix: "+n+" }\nrules: []", "rules.yaml:1:27: client_ip.ipv6_prefix "+n)
	}
	wantFault(t, "client_ip: { ipv4_prefix: 33 }\nrules: []", "client_ip.ipv4_prefix 33")
}

func TestC112ShadowedRuleIsWarnedOf(t *testing.T) {
	all := "  - { id: all, match: { path: /** }, key: ip, limit: 5 per second, stop: true }\n"
	values := "  - { id: values, match: { path: /values }, key: ip, limit: 10 per second, stop: true }\n"
	if f := parseGood(t, "rules:\n"+values+all); hasWarning(f, "never match") {
		t.Errorf("warned of rules in order: %v", f.Warnings)
	}
	f := parseGood(t, "rules:\n"+all+values)
	if !hasWarning(f, "rules.yaml:3:5: rule \"values\" can never match") {
		t.Errorf("no warning of the shadowed rule: %v", f.Warnings)
	}
}

func TestC116C125C126ChangedLimitKeepsItsCounters(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"limit: 100 per minute, algorithm: fixed_window", "limit: 10 per minute, algorithm: fixed_window"},
		{"limit: 10 per minute, algorithm: fixed_window", "limit: 10 per 30s, algorithm: fixed_window"},
		{"limit: 5 per second", "limit: 2 per second"},
		{"limit: 10 per minute", "limit: 10 per second"},
	} {
		before, after := parseGood(t, oneLimit(c.before)).Set.Policies()[0], parseGood(t, oneLimit(c.after)).Set.Policies()[0]
		if before.Name != after.Name || before.Limit == after.Limit {
			t.Errorf("%v, then %v: the same name and another limit are wanted", before, after)
		}
	}
}

func TestC117SameFileGivesSameRules(t *testing.T) {
	data, err := os.ReadFile("testdata/good/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, err := Load("testdata/good/everything.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := Parse("testdata/good/everything.yaml", append([]byte("# a comment\n"), data...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(first.Spec, again.Spec) || len(again.Changed(first)) > 0 {
			t.Fatalf("%+v\nbecame %+v, %v", first.Spec, again.Spec, again.Changed(first))
		}
	}
}

func TestC128UnlimitedIsAWord(t *testing.T) {
	f := parseGood(t, oneLimit("unlimited: true"))
	if r := f.Spec.Rules[0]; !r.Unlimited || r.Limits != nil {
		t.Errorf("%+v", r)
	}
	wantFault(t, oneLimit("unlimited: true, limit: 5 per minute"), "unlimited and has a limit")
}

func TestChangedNamesWhatNeedsARestart(t *testing.T) {
	a := parseGood(t, "upstream: demo\nrules: []")
	b := parseGood(t, "upstream: http://127.0.0.1:1\nstore: { memory: { max_buckets: 5 } }\nheaders: none\ndeny_status: 503\ntrusted_proxies: private\nclient_ip: { header: Forwarded }\nlisten: { admin: \":1\" }\nrules: []")
	want := []string{"listen", "upstream", "store", "trusted_proxies", "client_ip.header", "headers", "deny_status"}
	if got := b.Changed(a); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := a.Changed(a); got != nil {
		t.Errorf("nothing changed, got %v", got)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "no such file: check the name",
		dir:                             "this is a directory: name a file in it",
		large:                           "the file has 10485760 bytes: at most 8388608",
		empty:                           "no rules: the file is empty: write rules: [] to let everything through",
		os.DevNull:                      "this is no regular file",
	} {
		_, err := Load(path, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("Load(%s) = %v, want %s", path, err, want)
		}
	}
	_, err := Parse("big", make([]byte, maxBytes+1), Options{})
	if err == nil || !strings.Contains(err.Error(), "at most 8388608") {
		t.Errorf("Parse of too much: %v", err)
	}
}

func TestEncodings(t *testing.T) {
	wantFault(t, "\xff\xfer\x00", "1:1: the file is UTF-16: save it as UTF-8")
	wantFault(t, "rules:\r\n# é\xff", "2:4: the byte 0xff is no UTF-8")
	wantFault(t, "rules:\n- id: \"a\x00\"", "2:9: the control character 0x00")
	wantFault(t, "\xef\xbb\xbfrules:\r\n  - id: a\r\n    key: ip\r\n    limt: 5\r\n", `rules.yaml:4:5: rule "a": unknown field "limt"`)
	wantFault(t, "rules:\r  - id: a\r    key: ip\r    limt: 5\r", `rules.yaml:4:5: rule "a": unknown field "limt"`)
}

func TestAllFaultsAtOnceInOrder(t *testing.T) {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range 150 {
		fmt.Fprintf(&b, "  - { id: r%d, key: ip, limit: 5 per fortnight }\n", i)
	}
	_, err := Parse("f", []byte(b.String()), Options{})
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != yamlfile.MaxFaults+1 {
		t.Fatalf("%d faults, want %d and one that counts the rest", len(errs), yamlfile.MaxFaults)
	}
	for i, e := range errs[:yamlfile.MaxFaults] {
		if e.Line != i+2 {
			t.Fatalf("fault %d is in line %d", i, e.Line)
		}
	}
	if got := errs[yamlfile.MaxFaults].Error(); got != "f: and 50 more faults" {
		t.Error(got)
	}
	var one *Error
	if !errors.As(err, &one) || one != errs[0] {
		t.Errorf("errors.As finds %v", one)
	}
}

func TestOneMistakeIsOneFault(t *testing.T) {
	keys := "keys: { k: { header: X-K } }\n"
	rule := "rules:\n  - { id: a, key: k, limit: 5 per minute, match: { has: k } }\n"
	planned := "rules:\n  - { id: a, key: k, match: { plan: free }, plans: { free: 5 per minute } }\n"
	for _, src := range []string{
		"keys: { k: { hedder: X-K } }\n" + rule,
		"keys: { k: X-K }\n" + rule,
		"keys: { k: *unknown }\n" + rule,
		"keys: { k: { header: 5 } }\n" + rule,
		"keys: { k: }\n" + rule,
		keys + "plans: [free]\n" + planned,
		keys + "plans: { key: k, of: [a] }\n" + planned,
		keys + "plans: { ky: k, of: { a: free } }\n" + planned,
		keys + "plans: { key: kk, of: { a: free } }\n" + planned,
		keys + "plans: { key: k, file: nowhere.csv }\n" + planned,
		oneLimit("limt: 5 per minute"),
		oneLimit("limit: 5, widow: 1m"),
		oneLimit("limit: 5 per fortnight"),
		oneLimit("limits: [5 per fortnight]"),
		oneLimit("limit: *unknown"),
		oneLimit("limit: \"${UNSET}\""),
		oneLimit("capacity: 5, refill_per_sec: fast"),
		oneLimit("limit: 5 per minute, algorithm: gcar"),
		oneLimit("limit: 5 per minute, algorithm: leaky_bucket, queue: { max_wait: 10 }"),
		oneLimit("limit: 5 per minute, match: { path: v1 }"),
		"rules:\n  - { id: 5, key: ip, limit: 5 per minute }\n",
		"rules:\n  - { id: a, key: 5, limit: 5 per minute }\n",
		"upstream: nowhere\nlisten: { gateway: \":1\" }\nrules: []",
		"rules: 5",
	} {
		_, err := Parse("f", []byte(src), Options{})
		var errs Errors
		if !errors.As(err, &errs) || len(errs) != 1 {
			t.Errorf("%d faults:\n%v\nfor\n%s", len(errs), err, src)
		}
	}
}

func TestUselessTrustIsWarnedOf(t *testing.T) {
	const rule = "\nrules: [{ id: a, key: ip, limit: 5 per second }]\n"
	for text, want := range map[string]string{
		"trusted_proxies: [10.0.0.0/8, 0.0.0.0/0]":                            `rules.yaml:1:31: trusted_proxies "0.0.0.0/0" lets any client choose its address`,
		"trusted_proxies: \"::/0\"":                                           "choose its address",
		"client_ip: { header: X-Real-IP }":                                    `rules.yaml:1:22: client_ip.header "X-Real-IP" is never read`,
		"client_ip: { header: X-Real-IP }\ntrusted_proxies: private":          "",
		"client_ip: { header: X-Real-IP }\ntrusted_proxies: [10.0.0.1, unix]": "",
	} {
		f := parseGood(t, text+rule)
		if want == "" && len(f.Warnings) > 0 || want != "" && !hasWarning(f, want) {
			t.Errorf("%s: %v, want %q", text, f.Warnings, want)
		}
	}
}
