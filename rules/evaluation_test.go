package rules_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rules"
)

// charged evaluates a request and returns the charges in words: id=key cost.
func charged(t *testing.T, set *rules.Set, r *request) string {
	t.Helper()
	e := set.Evaluate(r)
	defer e.Release()
	if reason, by, refused := e.Refused(); refused {
		if len(e.Charges()) > 0 {
			t.Errorf("refused with charges %v", e.Charges())
		}
		return string(reason) + " by " + by.Policy
	}
	var all []string
	for _, c := range e.Charges() {
		text := c.Policy.Name + "=" + rules.KeyText(c.Key)
		if c.Cost != 1 {
			text += fmt.Sprint(" cost ", c.Cost)
		}
		if c.Shadow {
			text += " shadow"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestMatch(t *testing.T) {
	keys := []rules.Key{
		{Name: "team", Header: "X-Team"},
		{Name: "token", Query: "token"},
		{Name: "session", Cookie: "sid"},
		{Name: "phone", JSON: "phone"},
		{Name: "id", Param: "id"},
	}
	base := request{
		method: "POST", path: "/v1/orders/17", host: "api.example.com", from: "::ffff:192.0.2.1",
		header: map[string]string{"X-Team": "red", "X-Empty": ""}, query: map[string]string{"token": "t"},
		cookie: map[string]string{"sid": "s"}, json: map[string]string{"phone": "123"},
	}
	for _, c := range []struct {
		match rules.Match
		want  bool
	}{
		{rules.Match{}, true},
		{rules.Match{Method: []string{"get", "post"}}, true},
		{rules.Match{Method: []string{"GET"}}, false},
		{rules.Match{Host: []string{"API.example.com."}}, true},
		{rules.Match{Host: []string{"*.example.com"}}, true},
		{rules.Match{Host: []string{"*.com"}}, true},
		{rules.Match{Host: []string{"example.com", "*.api.example.com"}}, false},
		{rules.Match{Path: []string{"/health", "/v1/orders/{id}"}}, true},
		{rules.Match{Path: []string{"/v1/orders"}}, false},
		{rules.Match{IP: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, true},
		{rules.Match{IP: []netip.Prefix{netip.MustParsePrefix("::ffff:192.0.2.0/120")}}, true},
		{rules.Match{IP: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::/0")}}, false},
		{rules.Match{Header: map[string][]string{"x-team": {"blue", "red"}}}, true},
		{rules.Match{Header: map[string][]string{"X-Team": {"Red"}}}, false},
		{rules.Match{Header: map[string][]string{"X-Team": nil}}, true},
		{rules.Match{Header: map[string][]string{"X-Empty": nil}}, true},
		{rules.Match{Header: map[string][]string{"X-Other": nil}}, false},
		{rules.Match{Query: map[string][]string{"token": {"t"}}}, true},
		{rules.Match{Query: map[string][]string{"token": {"u"}}}, false},
		{rules.Match{Cookie: map[string][]string{"sid": nil}}, true},
		{rules.Match{Cookie: map[string][]string{"other": nil}}, false},
		{rules.Match{Has: []string{"team", "token", "session", "phone", "ip", "host"}}, true},
		{rules.Match{Path: []string{"/v1/*/{id}"}, Has: []string{"id"}}, true},
		{rules.Match{Path: []string{"/v1/*/*"}, Has: []string{"id"}}, false},
		{rules.Match{Lacks: []string{"id"}}, true},
		{rules.Match{Lacks: []string{"team"}}, false},
		{rules.Match{Method: []string{"POST"}, Path: []string{"/v1/**"}, Has: []string{"team"}, Header: map[string][]string{"X-Team": {"blue"}}}, false},
	} {
		set := compile(t, rules.Spec{Keys: keys, Rules: []rules.Rule{{ID: "r", Match: c.match, Key: []string{"global"}, Limits: per(1, minute)}}})
		r := base
		if got := charged(t, set, &r) != ""; got != c.want {
			t.Errorf("%+v: %v, want %v", c.match, got, c.want)
		}
		for _, s := range set.Trace(&r) {
			if s.Applies != c.want || s.Why == "" {
				t.Errorf("%+v: trace says %+v", c.match, s)
			}
		}
	}
}

// An absent field never matches, whatever a rule wants of it.
func TestMatchNothing(t *testing.T) {
	set := compile(t, rules.Spec{Rules: []rules.Rule{
		{ID: "host", Match: rules.Match{Host: []string{"*.example.com"}}, Exempt: true},
		{ID: "path", Match: rules.Match{Path: []string{"/**"}}, Exempt: true},
		{ID: "ip", Match: rules.Match{IP: []netip.Prefix{netip.MustParsePrefix("::/0"), netip.MustParsePrefix("0.0.0.0/0")}}, Exempt: true},
		{ID: "rest", Key: []string{"ip"}, Limits: per(1, minute)},
	}})
	if got, want := charged(t, set, &request{}), "rest=no key, from nowhere known"; got != want {
		t.Errorf("charges %s, want %s", got, want)
	}
}

func TestKeys(t *testing.T) {
	spec := rules.Spec{
		HashKey: []byte("0123456789abcdef"),
		Keys: []rules.Key{
			{Name: "user", Header: "User"},
			{Name: "secret", Header: "Secret", Secret: true},
			{Name: "id", Param: "id"},
			{Name: "pin", Param: "pin", Secret: true},
		},
	}
	for _, c := range []struct {
		key  string
		r    *request
		want string
	}{
		{"global", get("/", "192.0.2.1"), "global"},
		{"ip", get("/", "192.0.2.1"), "192.0.2.1"},
		{"ip", get("/", "::ffff:192.0.2.1"), "192.0.2.1"},
		{"ip", get("/", "2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64"},
		{"ip", get("/", "fe80::1%eth0"), "fe80::/64"},
		{"ip", get("/", ""), "no key, from nowhere known"},
		{"method path", &request{method: "post", path: "//a/./b/"}, "POST + /a/b"},
		{"host", &request{host: "Api.Example.com."}, "api.example.com"},
		{"host", get("/", "192.0.2.1"), "no key, from 192.0.2.1"},
		{"user", get("/", "192.0.2.1").with("User", "ann"), "ann"},
		{"user", get("/", "192.0.2.1").with("User", ""), "no key, from 192.0.2.1"},
		{"ip user", get("/", "192.0.2.1").with("User", "ann"), "192.0.2.1 + ann"},
		{"ip user", get("/", "2001:db8::1"), "no key, from 2001:db8::/64"},
		{"id", get("/x/17/99", "192.0.2.1"), "17"},
		{"user", get("/", "").with("User", strings.Repeat("x", 64)), strings.Repeat("x", 64)},
	} {
		spec.Rules = []rules.Rule{{
			ID: "r", Match: rules.Match{Path: []string{"/x/{id}/{pin}", "/**"}}, Key: strings.Fields(c.key), Limits: per(1, minute),
		}}
		if c.r.path == "" {
			spec.Rules[0].Match.Path = nil
		}
		if got := charged(t, compile(t, spec), c.r); got != "r="+c.want {
			t.Errorf("key %s: %s, want %s", c.key, got, c.want)
		}
	}
	// Secret and long values show as hashes.
	for key, r := range map[string]*request{
		"secret": get("/", "").with("Secret", "s3cr3t"), "pin": get("/x/17/1234", ""), "user": get("/", "").with("User", strings.Repeat("x", 65)),
	} {
		spec.Rules = []rules.Rule{{
			ID: "r", Match: rules.Match{Path: []string{"/x/{id}/{pin}", "/**"}}, Key: []string{key}, Limits: per(1, minute),
		}}
		if got := charged(t, compile(t, spec), r); !strings.HasPrefix(got, "r=hash:") || len(got) != len("r=hash:01234567") {
			t.Errorf("key %s: %s", key, got)
		}
	}
}

func TestC081AddressesCountByTheirNetwork(t *testing.T) {
	set := compile(t, rules.Spec{
		IPv4Prefix: 24, IPv6Prefix: 48,
		Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Limits: per(1, minute)}},
	})
	for from, want := range map[string]string{"192.0.2.77": "r=192.0.2.0/24", "2001:db8:1:2::3": "r=2001:db8:1::/48"} {
		if got := charged(t, set, get("/", from)); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestPathsWithoutRegardToCase(t *testing.T) {
	set := compile(t, rules.Spec{IgnoreCase: true, Rules: []rules.Rule{
		{ID: "r", Match: rules.Match{Path: []string{"/Docs/**"}}, Key: []string{"path"}, Limits: per(1, minute)},
	}})
	if got := charged(t, set, get("/dOCS/A%2fb/", "")); got != "r=/docs/a%2fb" {
		t.Errorf("%s", got)
	}
}

func TestOrder(t *testing.T) {
	ip := []string{"ip"}
	has := func(h string) rules.Match { return rules.Match{Header: map[string][]string{h: nil}} }
	spec := rules.Spec{
		Keys:  []rules.Key{{Name: "api_key", Header: "Key"}, {Name: "user", Header: "User"}},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{"kf": "free", "kp": "paid", "kx": "other"}},
		Rules: []rules.Rule{
			{ID: "all", Key: ip, Limits: per(9, minute)},
			{ID: "exempt", Match: has("Exempt"), Exempt: true},
			{ID: "tried", Match: has("Tried"), Key: ip, Limits: per(9, minute), Shadow: true, Stop: true},
			{ID: "strict", Match: has("Strict"), Key: []string{"user"}, Missing: rules.MissingDeny, Limits: per(9, minute), Shadow: false},
			{ID: "lax", Match: has("Lax"), Key: []string{"user"}, Missing: rules.MissingSkip, Limits: per(9, minute), Stop: true},
			{ID: "shy", Match: has("Shy"), Key: []string{"user"}, Missing: rules.MissingDeny, Limits: per(9, minute), Shadow: true},
			{ID: "stop", Match: has("Stop"), Key: ip, Limits: per(9, minute), Stop: true, Cost: 3},
			{ID: "free", Match: has("Free"), Key: ip, Limits: per(9, minute), Free: true},
			{ID: "tier", Key: ip, Match: has("Key"), Plans: map[string]stint.Limit{
				"free": {Count: 1, Window: minute}, "default": {Count: 5, Window: minute},
			}},
			{ID: "paid", Key: ip, Match: has("Key"), Plans: map[string]stint.Limit{"paid": {Count: 7, Window: minute}}, Stop: true},
			{ID: "last", Match: rules.Match{Plan: []string{"paid", "free"}}, Unlimited: true},
		},
	}
	set := compile(t, spec)
	const me = "192.0.2.1"
	for _, c := range []struct{ headers, want string }{
		{"", "all=M"},
		{"Exempt Stop Strict", "all=M"},
		{"Tried Stop", "all=M; tried=M shadow; stop=M cost 3"},
		{"Strict", "missing key by strict"},
		{"Strict User=ann", "all=M; strict=ann"},
		{"Lax Stop", "all=M; stop=M cost 3"},
		{"Lax User=ann Stop", "all=M; lax=ann"},
		{"Shy", "all=M"},
		{"Shy User=ann", "all=M; shy=ann shadow"},
		{"Free", "all=M; free=M cost 0"},
		{"Key=kf", "all=M; tier=M; last=global"},
		{"Key=kp", "all=M; tier=M; paid=M"},
		{"Key=kx", "all=M; tier=M"},
		{"Key=unknown", "all=M; tier=M"},
	} {
		r := get("/", me)
		for h := range strings.FieldsSeq(c.headers) {
			name, value, _ := strings.Cut(h, "=")
			r = r.with(name, value)
		}
		want := strings.ReplaceAll(c.want, "M", me)
		if got := charged(t, set, r); got != want {
			t.Errorf("%s: %s, want %s", c.headers, got, want)
		}
		if got := traced(set, r); got != strings.TrimSuffix(want, "; last=global") && c.headers != "Strict" {
			t.Errorf("%s: trace says %s, want %s", c.headers, got, want)
		}
	}
}

// traced is what charged says, from a trace.
func traced(set *rules.Set, r *request) string {
	var all []string
	for _, s := range set.Trace(r) {
		for _, p := range s.Policies {
			text := p.Name + "=" + rules.KeyText(s.Key)
			if s.Cost != 1 {
				text += fmt.Sprint(" cost ", s.Cost)
			}
			if s.Shadow {
				text += " shadow"
			}
			if p.Algorithm != nil {
				all = append(all, text)
			}
		}
	}
	return strings.Join(all, "; ")
}

// When a caller's plan changes, the count carries over.
func TestThePlanOfACallerChanges(t *testing.T) {
	spec := full()
	s := serve(t, spec)
	r := get("/", "192.0.2.1").with("X-Api-Key", "k_acme")
	s.want(strings.Repeat("A", 100)+"D", r)
	spec.Plans.Of = map[string]string{"k_acme": "paid"}
	s.Swap(compile(t, spec))
	s.want(strings.Repeat("A", 100), r)
	if got := s.result("per-key").Remaining; got != 0 {
		t.Errorf("%d of 200 left after 100 and 100, want 0", got)
	}
}

// Every field is read once, and none that no rule in question needs.
func TestFieldsAreReadOnce(t *testing.T) {
	key := []string{"api_key", "path"}
	spec := rules.Spec{
		Keys: []rules.Key{{Name: "api_key", Header: "Key", Secret: true}, {Name: "body", JSON: "x"}},
		Rules: []rules.Rule{
			{ID: "a", Match: rules.Match{Has: []string{"api_key"}, Header: map[string][]string{"Key": nil}}, Key: key, Limits: per(1, minute)},
			{ID: "b", Match: rules.Match{Path: []string{"/**"}}, Key: key, Limits: per(1, minute)},
			{ID: "c", Match: rules.Match{Path: []string{"/upload"}, Has: []string{"body"}}, Key: key, Limits: per(1, minute)},
		},
	}
	r := get("/a", "192.0.2.1").with("Key", "k")
	r.asked = make(map[stint.Field]int)
	charged(t, compile(t, spec), r)
	for f, n := range r.asked {
		if n != 1 || f.Kind == stint.FieldJSON {
			t.Errorf("%+v was read %d times", f, n)
		}
	}
}

func TestTooMuch(t *testing.T) {
	var spec rules.Spec
	for i := range 40 {
		spec.Rules = append(spec.Rules, rules.Rule{ID: fmt.Sprint("r", i), Key: []string{"ip"}, Limits: per(9, minute), Shadow: i < 10})
	}
	// 30 enforced ones fit; the shadows make way.
	if got := charged(t, compile(t, spec), get("/", "192.0.2.1")); strings.Count(got, ";") != 31 || strings.Count(got, "shadow") != 2 {
		t.Errorf("charges %s", got)
	}
	for i := range spec.Rules {
		spec.Rules[i].Shadow = false
	}
	if got := charged(t, compile(t, spec), get("/", "192.0.2.1")); got != "too large by r32" {
		t.Errorf("40 rules: %s", got)
	}
	spec.Rules = spec.Rules[:1]
	spec.Rules[0].Match.Path = []string{"/a/**"}
	long := get("/a/"+strings.Repeat("x/", rules.MaxValue), "192.0.2.1")
	if got := charged(t, compile(t, spec), long); got != "too large by r0" {
		t.Errorf("long path: %s", got)
	}
	spec.Rules[0].Shadow = true
	if got := charged(t, compile(t, spec), long); got != "" {
		t.Errorf("long path in shadow: %s", got)
	}
}

func TestTraceSaysWhy(t *testing.T) {
	spec := full()
	spec.Rules = append(spec.Rules,
		rules.Rule{ID: "post", Match: rules.Match{Method: []string{"POST"}}, Exempt: true},
		rules.Rule{ID: "v2", Match: rules.Match{Path: []string{"/v2/**", "/v3/**"}}, Exempt: true},
		rules.Rule{ID: "lan", Match: rules.Match{IP: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, Exempt: true},
		rules.Rule{ID: "paid", Match: rules.Match{Plan: []string{"paid"}}, Exempt: true},
		rules.Rule{ID: "team", Match: rules.Match{Header: map[string][]string{"X-Api-Key": {"k_other"}}}, Exempt: true},
		rules.Rule{ID: "phone", Key: []string{"phone"}, Missing: rules.MissingSkip, Limits: per(1, minute)},
		rules.Rule{ID: "end", Match: rules.Match{Path: []string{"/v1/**"}}, Exempt: true},
		rules.Rule{ID: "never", Key: []string{"ip"}, Limits: per(1, minute)},
	)
	set := compile(t, spec)
	var lines []string
	for _, s := range set.Trace(get("/v1/orders", "192.0.2.1").with("X-Api-Key", "k_acme")) {
		lines = append(lines, s.Rule+": "+s.Why)
		if strings.Contains(s.Why, "k_acme") {
			t.Errorf("the trace shows a secret: %+v", s)
		}
	}
	want := []string{
		"per-key: matches",
		"signed-out: api_key is there",
		"whole: matches",
		`post: the method is "GET", not POST`,
		`v2: the path is "/v1/orders", not /v2/** or /v3/**`,
		"lan: the address is 192.0.2.1, not in 10.0.0.0/8",
		"paid: the plan is free, not paid",
		"team: header X-Api-Key is not k_other",
		"phone: no phone: the rule does not apply",
		"end: matches: exempt",
		"never: not asked: rule end was the last one",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("trace:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	steps := set.Trace(get("/", "192.0.2.1").with("X-Api-Key", "made-up"))
	if got := steps[0].Why; got != "api_key that a plan knows is not there" {
		t.Errorf("made-up key: %s", got)
	}
}

func TestSentences(t *testing.T) {
	spec := full()
	spec.Rules = append(spec.Rules,
		rules.Rule{ID: "health", Match: rules.Match{Path: []string{"/healthz"}}, Exempt: true},
		rules.Rule{ID: "internal", Match: rules.Match{Plan: []string{"paid"}, Host: []string{"api.example.com"}}, Unlimited: true},
		rules.Rule{
			ID: "otp", Match: rules.Match{Path: []string{"/v1/otp/send"}, Method: []string{"post"}}, Key: []string{"phone"},
			Algorithm: "sliding_window_log", Limits: []stint.Limit{{Count: 5, Window: time.Hour}, {Count: 10, Window: day}},
			Missing: rules.MissingDeny, Stop: true, Cost: 2,
		},
		rules.Rule{ID: "spent", Key: []string{"phone", "ip"}, Free: true, Limits: per(9, minute), Shadow: true, Missing: rules.MissingShare},
		rules.Rule{
			ID: "login", Key: []string{"phone"}, Algorithm: "leaky_bucket", Queue: &rules.Queue{MaxWaiting: 5}, Limits: per(60, minute),
		},
	)
	got := strings.Join(compile(t, spec).Sentences(), "\n")
	want := strings.Join([]string{
		"per-key: each api_key: plan free at most 100 at once, then one every 600ms; at most 200 in any minute; " +
			"plan paid at most 200 at once, then one every 60ms; at most 1200 in any minute",
		"signed-out: each ip (IPv6 /64) without api_key: at most 300 at once, then one every 200ms; at most 600 in any minute",
		"whole: all requests together: at most 5000 at once, then one every 200µs; at most 10000 in any second",
		"health: requests to /healthz: no limit, and no later rule",
		"internal: requests with plan paid on api.example.com: counted, never refused",
		"otp: each phone by POST to /v1/otp/send: never more than 5 in any hour, and never more than 10 in any day; " +
			"a request costs 2; without phone the request is refused; no later rule",
		"spent (shadow): each phone and ip (IPv6 /64): at most 9 at once, then one every 6.666667s; at most 18 in any minute; " +
			"a request costs nothing and passes while something is left; without phone all requests share one bucket",
		"login: each phone: lets one through every second; the others wait, at most 5 of them; without phone the address counts instead",
	}, "\n")
	if got != want {
		t.Errorf("sentences:\n%s\nwant:\n%s", got, want)
	}
}
