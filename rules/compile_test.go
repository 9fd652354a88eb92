package rules_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rules"
)

// full is a spec without a fault, to be spoilt.
func full() rules.Spec {
	return rules.Spec{
		Keys: []rules.Key{
			{Name: "api_key", Header: "X-Api-Key", Secret: true},
			{Name: "phone", JSON: "user.phone"},
			{Name: "order", Param: "id"},
		},
		Plans:   &rules.Plans{Key: "api_key", Of: map[string]string{"k_acme": "free", "k_globex": "paid"}},
		HashKey: []byte("a hash key that is long enough"),
		Rules: []rules.Rule{
			{
				ID: "per-key", Match: rules.Match{Has: []string{"api_key"}}, Key: []string{"api_key"},
				Plans: map[string]stint.Limit{"free": {Count: 100, Window: minute}, "paid": {Count: 1000, Window: minute, Burst: 200}},
			},
			{ID: "signed-out", Match: rules.Match{Lacks: []string{"api_key"}}, Key: []string{"ip"}, Limits: per(300, minute)},
			{ID: "whole", Key: []string{"global"}, Limits: per(5000, time.Second)},
		},
	}
}

func TestFaults(t *testing.T) {
	if lines := append(faultsOf(t, full()), warningsOf(t, full())...); len(lines) > 0 {
		t.Fatalf("the full spec is not clean:\n%s", strings.Join(lines, "\n"))
	}
	for _, c := range []struct {
		spoil func(s *rules.Spec)
		words []string
	}{
		{func(s *rules.Spec) { s.Rules[0].Key[0] = "api-key" }, []string{`rules[0].key[0]: "api-key" is no key: did you mean api_key?`}},
		{func(s *rules.Spec) { s.Rules[1].Key[0] = "pi" }, []string{`rules[1].key[0]: "pi" is no key: did you mean ip?`}},
		{func(s *rules.Spec) { s.Rules[1].Key[0] = "tenant" }, []string{`rules[1].key[0]`, "write ip, method, path, host, global, api_key"}},
		{func(s *rules.Spec) { s.Rules[1].Key = nil }, []string{"rules[1].key: rule \"signed-out\" needs a key"}},
		{func(s *rules.Spec) { s.Rules[1].Key = []string{"ip", "global"} }, []string{"rules[1].key[1]", "only stand alone"}},
		{func(s *rules.Spec) { s.Rules[1].Key = []string{"order"} }, []string{"rules[1].key[0]", "no path of the rule has {id}"}},
		{func(s *rules.Spec) {
			s.Rules[1].Key = strings.Fields("ip method path host api_key phone ip method path")
		}, []string{"rules[1].key: a key of 9 parts: at most 8"}},
		{func(s *rules.Spec) { s.Rules[1].Algorithm = "tokenbucket" }, []string{"rules[1].algorithm", "did you mean token_bucket?"}},
		{func(s *rules.Spec) { s.Rules[1].Algorithm = "lru" }, []string{"rules[1].algorithm", "gcra, token_bucket"}},
		{func(s *rules.Spec) { s.Rules[1].Queue = &rules.Queue{MaxWaiting: 1} }, []string{"rules[1].queue", "leaky_bucket"}},
		{func(s *rules.Spec) { s.Rules[1].Algorithm = "leaky_bucket"; s.Rules[1].Queue = &rules.Queue{} }, []string{"rules[1].queue", "max_wait"}},
		{func(s *rules.Spec) {
			s.Rules[1].Algorithm = "leaky_bucket"
			s.Rules[1].Queue = &rules.Queue{MaxWait: -1}
		}, []string{"rules[1].queue", "above 0"}},
		{func(s *rules.Spec) { s.Rules[1].ID = "per-key" }, []string{"rules[1].id", "that of rules[0] too"}},
		{func(s *rules.Spec) { s.Rules[1].ID = "" }, []string{"rules[1].id", "needs an id"}},
		{func(s *rules.Spec) { s.Rules[1].ID = "per key" }, []string{"rules[1].id", `"per key"`}},
		{func(s *rules.Spec) { s.Rules[1].ID = strings.Repeat("a", 65) }, []string{"rules[1].id", "at most 64"}},
		{func(s *rules.Spec) { s.Rules[1].Limits = nil }, []string{"rules[1]: rule \"signed-out\" has no limit"}},
		{func(s *rules.Spec) { s.Rules[0].Limits = per(1, minute) }, []string{"rules[0].plans", "a limit and plans"}},
		{func(s *rules.Spec) { s.Rules[1].Unlimited = true }, []string{"rules[1].unlimited", "leave one"}},
		{func(s *rules.Spec) { s.Rules[1].Exempt = true }, []string{"rules[1].exempt", "leave one"}},
		{func(s *rules.Spec) { s.Rules[1] = rules.Rule{ID: "x", Exempt: true, Shadow: true} }, []string{"rules[1].shadow", "can not be tried"}},
		{func(s *rules.Spec) { s.Rules[1].Cost = -1 }, []string{"rules[1].cost", "-1"}},
		{func(s *rules.Spec) { s.Rules[1].Cost = 1 << 60 }, []string{"rules[1].cost", "too large"}},
		{func(s *rules.Spec) { s.Rules[1].Cost = 2; s.Rules[1].Free = true }, []string{"rules[1].cost", "free"}},
		{func(s *rules.Spec) { s.Rules[1].Missing = "dney" }, []string{"rules[1].missing", "did you mean deny?"}},
		{func(s *rules.Spec) { s.Rules[1].OnStoreFailure = "open" }, []string{"rules[1].on_store_failure", "write local, allow or deny"}},
		{func(s *rules.Spec) { s.Rules[1].Limits[0].Window = 0 }, []string{"rules[1].limits[0]", "longer than 0"}},
		{func(s *rules.Spec) {
			s.Rules[1].Algorithm = "fixed_window"
			s.Rules[1].Limits[0].Burst = 7
		}, []string{"rules[1].limits[0]", "burst 7"}},
		{func(s *rules.Spec) { s.Rules[0].Plans["free"] = stint.Limit{Count: -3, Window: minute} }, []string{"rules[0].plans.free", "-3"}},
		{func(s *rules.Spec) { s.Plans = nil }, []string{"rules[0].plans.free", "nothing says who has plan"}},
		{func(s *rules.Spec) { s.Plans.Key = "apikey" }, []string{"plans.key", "did you mean api_key?"}},
		{func(s *rules.Spec) { s.Plans.Key = "order" }, []string{"plans.key", "can not tell plans"}},
		{func(s *rules.Spec) { s.Plans.Of[""] = "free" }, []string{"plans.of", "empty value"}},
		{func(s *rules.Spec) { s.Plans.Of["k_x"] = "" }, []string{"plans.of.k_x", "the plan is empty"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Path = []string{"/a", "v1/**"} }, []string{"rules[1].match.path[1]", `"/v1/**"`}},
		{func(s *rules.Spec) { s.Rules[1].Match.Method = []string{"GET POST"} }, []string{"rules[1].match.method[0]", "GET POST"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Method = []string{"any"} }, []string{"rules[1].match.method[0]", "leave method out"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Method = []string{"*"} }, []string{"rules[1].match.method[0]", "leave method out"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Path = []string{"*"} }, []string{"rules[1].match.path[0]", `write "/**"`}},
		{func(s *rules.Spec) { s.Rules[1].Match.Host = []string{"api.example.com:8080"} }, []string{"rules[1].match.host[0]", "port"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Host = []string{"api.*.com"} }, []string{"rules[1].match.host[0]", "*.example.com"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Host = []string{"https://example.com"} }, []string{"rules[1].match.host[0]", "host alone"}},
		{func(s *rules.Spec) { s.Rules[1].Match.IP = []netip.Prefix{{}} }, []string{"rules[1].match.ip[0]", "10.0.0.0/8"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Header = map[string][]string{"X Team": nil} }, []string{"rules[1].match.header.X Team", "no name of a header"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Header = map[string][]string{"host": {"a"}} }, []string{"rules[1].match.header.host", "match.host"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Has = []string{"Api_key"} }, []string{"rules[1].match.has[0]", "did you mean api_key?"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Lacks = []string{"global"} }, []string{"rules[1].match.lacks[0]", "always there"}},
		{func(s *rules.Spec) { s.Keys[0].Header = "X Api Key" }, []string{"keys.api_key.header", "X Api Key"}},
		{func(s *rules.Spec) { s.Keys[0].Query = "key" }, []string{"keys.api_key", "2 places"}},
		{func(s *rules.Spec) { s.Keys[0].Header = "" }, []string{"keys.api_key", "not where it is found"}},
		{func(s *rules.Spec) { s.Keys[1].JSON = "user..phone" }, []string{"keys.phone.json", "user..phone"}},
		{func(s *rules.Spec) { s.Keys[1].Name = "ip" }, []string{"keys.ip", "built in"}},
		{func(s *rules.Spec) { s.Keys[1].Name = "order" }, []string{"keys.order", "twice"}},
		{func(s *rules.Spec) { s.Keys[1].Name = "a key" }, []string{"keys.a key", "no name of a key"}},
		{func(s *rules.Spec) { s.Keys[1].Name = "" }, []string{"keys[1]", "no name"}},
		{func(s *rules.Spec) { s.IPv4Prefix = 33 }, []string{"client_ip.ipv4_prefix", "33"}},
		{func(s *rules.Spec) { s.IPv6Prefix = -1 }, []string{"client_ip.ipv6_prefix", "-1"}},
		{func(s *rules.Spec) { s.Rules = make([]rules.Rule, rules.MaxRules+1) }, []string{"rules: 50001 rules: at most 50000"}},
	} {
		s := full()
		c.spoil(&s)
		lines := faultsOf(t, s)
		if len(lines) != 1 {
			t.Logf("several faults for %q:\n%s", c.words, strings.Join(lines, "\n"))
		}
		says(t, lines, c.words...)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	s := full()
	s.Keys[0].Header = "X Api Key"
	s.Rules[0].Algorithm = "bucket"
	s.Rules[1].ID = ""
	s.Rules[1].Match.Path = []string{"a", "b"}
	s.Rules[2].Limits = nil
	if lines := faultsOf(t, s); len(lines) != 6 {
		t.Errorf("%d faults, want 6:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	_, err := rules.Compile(s)
	var first *rules.Error
	if !errors.As(err, &first) || first.Path != "keys.api_key.header" {
		t.Errorf("the first fault is %v", first)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 6 || lines[0] != first.Error() {
		t.Errorf("the error reads %q", lines)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		spoil func(s *rules.Spec)
		words []string
	}{
		{func(s *rules.Spec) { s.HashKey = nil }, []string{"hash_key", "default hash key"}},
		{func(s *rules.Spec) { s.HashKey = []byte("short") }, []string{"hash_key", "5 characters"}},
		{func(s *rules.Spec) { s.Rules[1].Cost = 500 }, []string{"rules[1].limits[0]", "cost 500 is above the 300"}},
		{func(s *rules.Spec) { s.Rules[0].Cost = 150 }, []string{"rules[0].plans.free", "cost 150 is above the 100"}},
		{func(s *rules.Spec) { s.Rules[1].Limits[0].Count = 0 }, []string{"rules[1].limits[0]", "limit 0 refuses everything"}},
		{func(s *rules.Spec) { s.Rules[1].Algorithm = "fixed_window" }, []string{"rules[1].limits[0]", "edge of two windows"}},
		{func(s *rules.Spec) {
			s.Rules[1].Algorithm = "sliding_window_log"
			s.Rules[1].Limits = per(5000, minute)
		}, []string{"rules[1].limits[0]", "5000 entries"}},
		{func(s *rules.Spec) { s.Rules[1].Limits = append(s.Rules[1].Limits, s.Rules[1].Limits...) }, []string{"rules[1].limits[1]", "twice"}},
		{func(s *rules.Spec) {
			s.Keys = append(s.Keys, rules.Key{Name: "client", Header: "x-forwarded-for"})
			s.Rules = append(s.Rules, rules.Rule{ID: "xff", Key: []string{"ip", "client"}, Limits: per(10_000, day)})
		}, []string{"keys.client", "X-Forwarded-For", "trusted_proxies"}},
		{func(s *rules.Spec) {
			s.Rules = append(s.Rules[:1:1], rules.Rule{ID: "otp", Key: []string{"phone"}, Limits: per(5, minute)})
		}, []string{"rules[1].key", "invents a new phone"}},
		{func(s *rules.Spec) {
			s.Rules = append(s.Rules[:1:1], rules.Rule{ID: "otp", Key: []string{"ip", "phone"}, Limits: per(5, minute)})
		}, []string{"rules[1].key", "invents a new phone for"}},
		{func(s *rules.Spec) { delete(s.Rules[0].Plans, "paid") }, []string{"rules[0].plans", `"paid" has no limit here`}},
		{func(s *rules.Spec) {
			s.Rules = append(s.Rules[:2:2], rules.Rule{ID: "search", Key: []string{"ip"}, Limits: per(5, minute), Match: rules.Match{
				Method: []string{"GET"}, Path: []string{"/search"}, Lacks: []string{"phone"},
			}})
			s.Rules = s.Rules[2:]
		}, []string{"rules[0].match.method", "HEAD"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Method = []string{"GTE"} }, []string{"rules[1].match.method[0]", "did you mean GET?"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Header = map[string][]string{"User-Agent": {"x", "curl*"}} }, []string{"rules[1].match.header.User-Agent[1]", "no star"}},
		{func(s *rules.Spec) {
			s.Rules = append(s.Rules, rules.Rule{ID: "health", Exempt: true, Match: rules.Match{Lacks: []string{"api_key"}}})
		}, []string{"rules[3]: ", `rule "signed-out" above it`, "move it up"}},
		{func(s *rules.Spec) { s.Rules[0].Plans["gold"] = stint.Limit{Count: 1, Window: minute} }, []string{"rules[0].plans.gold", "no key has plan"}},
		{func(s *rules.Spec) { s.Rules[2].Match.Plan = []string{"payd"} }, []string{"rules[2].match.plan[0]", "did you mean paid?"}},
		{func(s *rules.Spec) { s.Plans.Of = nil; s.Rules = s.Rules[1:] }, []string{"plans.of", "no value has a plan"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Has = []string{"api_key"} }, []string{"rules[1].match", "can never match", "api_key"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Plan = []string{"free"} }, []string{"rules[1].match", "can never match", "no plan"}},
		{func(s *rules.Spec) { s.Rules[1].Key = []string{"api_key"} }, []string{"rules[1].key", "lack api_key", "the address counts instead"}},
		{func(s *rules.Spec) { s.Rules[1].Match.Method = []string{"GET", "get"} }, []string{"rules[1].match.method[1]", "twice"}},
		{func(s *rules.Spec) { s.Rules[1].Match.IP = []netip.Prefix{netip.MustParsePrefix("10.1.2.3/8")} }, []string{"rules[1].match.ip[0]", "10.1.2.3/8 means 10.0.0.0/8"}},
		{func(s *rules.Spec) { s.Rules[1].Key = []string{"ip", "ip"} }, []string{"rules[1].key[1]", "twice"}},
		{func(s *rules.Spec) { s.Rules[1].Missing = rules.MissingDeny; s.Rules[1].Shadow = true }, []string{"rules[1].missing", "in shadow"}},
		{func(s *rules.Spec) {
			s.Rules = append(s.Rules, rules.Rule{ID: "health", Exempt: true, Cost: 3})
		}, []string{"rules[3].exempt", "mean nothing"}},
		{func(s *rules.Spec) {
			for i := range 40 {
				s.Rules = append(s.Rules, rules.Rule{ID: fmt.Sprint("r", i), Key: []string{"ip"}, Limits: per(9, minute)})
			}
		}, []string{"rules[0]", "more than 32 limits"}},
	} {
		s := full()
		c.spoil(&s)
		lines := warningsOf(t, s)
		if len(lines) != 1 {
			t.Logf("several warnings for %q:\n%s", c.words, strings.Join(lines, "\n"))
		}
		says(t, lines, c.words...)
	}
}

// A plan that a rule before has to itself needs no limit in the others.
func TestPlanThatEndsBeforeIsNotMissed(t *testing.T) {
	s := full()
	s.Plans.Of["k_own"] = "internal"
	s.Rules = append([]rules.Rule{{ID: "own", Match: rules.Match{Plan: []string{"internal"}}, Unlimited: true, Stop: true}}, s.Rules...)
	if lines := warningsOf(t, s); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	s.Rules[0].Stop = false
	says(t, warningsOf(t, s), "rules[1].plans", `plan "internal" has no limit here`)
}

func TestShadowed(t *testing.T) {
	for _, c := range []struct {
		before, rule rules.Rule
		shadowed     bool
	}{
		{rules.Rule{Exempt: true}, rules.Rule{}, true},
		{rules.Rule{Stop: true}, rules.Rule{}, true},
		{rules.Rule{}, rules.Rule{}, false},
		{rules.Rule{Stop: true, Shadow: true}, rules.Rule{}, false},
		{rules.Rule{Stop: true, Key: []string{"phone"}, Missing: rules.MissingSkip}, rules.Rule{}, false},
		{rules.Rule{Exempt: true, Match: rules.Match{Method: []string{"GET"}}}, rules.Rule{}, false},
		{
			rules.Rule{Exempt: true, Match: rules.Match{Method: []string{"GET", "HEAD"}}},
			rules.Rule{Match: rules.Match{Method: []string{"get"}}},
			true,
		},
		{
			rules.Rule{Exempt: true, Match: rules.Match{Host: []string{"*.example.com"}}},
			rules.Rule{Match: rules.Match{Host: []string{"a.example.com", "*.b.example.com"}}},
			true,
		},
		{
			rules.Rule{Exempt: true, Match: rules.Match{Host: []string{"*.example.com"}}},
			rules.Rule{Match: rules.Match{Host: []string{"example.com"}}},
			false,
		},
		{
			rules.Rule{Exempt: true, Match: rules.Match{IP: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}},
			rules.Rule{Match: rules.Match{IP: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}},
			true,
		},
		{
			rules.Rule{Exempt: true, Match: rules.Match{Has: []string{"api_key"}}},
			rules.Rule{Match: rules.Match{Plan: []string{"free"}}},
			true,
		},
		{
			rules.Rule{Exempt: true, Match: rules.Match{Header: map[string][]string{"x-team": nil}}},
			rules.Rule{Match: rules.Match{Header: map[string][]string{"X-Team": {"red"}}}},
			true,
		},
		{
			rules.Rule{Exempt: true, Match: rules.Match{Header: map[string][]string{"X-Team": {"red"}}}},
			rules.Rule{Match: rules.Match{Header: map[string][]string{"X-Team": nil}}},
			false,
		},
	} {
		s := full()
		for _, r := range []*rules.Rule{&c.before, &c.rule} {
			if r.ID = "before"; r == &c.rule {
				r.ID = "behind"
			}
			if !r.Exempt {
				r.Limits = per(9, minute)
				if r.Key == nil {
					r.Key = []string{"ip"}
				}
			}
		}
		s.Rules = []rules.Rule{c.before, c.rule}
		got := strings.Contains(strings.Join(warningsOf(t, s), "\n"), "(shadowed)")
		if got != c.shadowed {
			t.Errorf("%+v behind %+v: shadowed %v", c.rule.Match, c.before.Match, got)
		}
	}
}

// Many rules of which a request matches one are no reason to warn.
func TestManyRulesThatAreApart(t *testing.T) {
	for name, match := range map[string]func(i int) rules.Match{
		"path":   func(i int) rules.Match { return rules.Match{Path: []string{fmt.Sprintf("/api%d/**", i)}} },
		"method": func(i int) rules.Match { return rules.Match{Method: []string{fmt.Sprint("M", i)}} },
		"host":   func(i int) rules.Match { return rules.Match{Host: []string{fmt.Sprintf("h%d.example.com", i)}} },
		"below":  func(i int) rules.Match { return rules.Match{Host: []string{fmt.Sprintf("*.h%d.example.com", i)}} },
		"ip": func(i int) rules.Match {
			return rules.Match{IP: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i)}), 16)}}
		},
		"plan": func(i int) rules.Match {
			m := []rules.Match{{Plan: []string{"free"}}, {Plan: []string{"paid"}}, {Lacks: []string{"api_key"}}}
			return m[i%3]
		},
	} {
		s := full()
		for i := range 60 {
			s.Rules = append(s.Rules, rules.Rule{ID: fmt.Sprint("r", i), Match: match(i), Key: []string{"ip"}, Limits: per(9, minute)})
		}
		if lines := warningsOf(t, s); len(lines) > 0 {
			t.Errorf("%s: warnings:\n%s", name, strings.Join(lines, "\n"))
		}
		for i := range s.Rules[3:] {
			s.Rules[3+i].Match = rules.Match{}
		}
		says(t, warningsOf(t, s), "more than 32 limits")
	}
}

func TestPolicyNames(t *testing.T) {
	s := full()
	s.Rules[2].Limits = []stint.Limit{
		{Count: 5, Window: time.Second},
		{Count: 100, Window: minute},
		{Count: 9, Window: 30 * time.Second},
		{Count: 50, Window: minute},
		{Count: 3, Window: 90 * minute},
	}
	var names []string
	for _, p := range compile(t, s).Policies() {
		names = append(names, p.Name)
	}
	want := "per-key per-key signed-out whole/second whole/minute#2 whole/30s whole/minute whole/1h30m"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("policies are named\n%s, want\n%s", got, want)
	}
}

// The set does not change with the spec it was made of.
func TestTheSetIsItsOwn(t *testing.T) {
	s := full()
	set := compile(t, s)
	before := strings.Join(set.Sentences(), "\n")
	s.Rules[0].ID, s.Rules[2].Key, s.Plans.Of["k_acme"] = "other", nil, "paid"
	s.Rules = s.Rules[:1]
	if after := strings.Join(set.Sentences(), "\n"); after != before {
		t.Errorf("sentences were\n%s\nand are\n%s", before, after)
	}
}

func TestSuggestions(t *testing.T) {
	known := []string{"limit", "window", "refill_per_sec", "x-ratelimit"}
	for in, want := range map[string]string{
		"limt": "did you mean limit?", "Limit": "did you mean limit?", "lmiit": "did you mean limit?",
		"windwo": "did you mean window?", "refill-per-sec": "did you mean refill_per_sec?", "refillpersec": "did you mean refill_per_sec?",
		"burst": "write limit, window, refill_per_sec or x-ratelimit", "": "write limit, window, refill_per_sec or x-ratelimit",
		strings.Repeat("limit", 100): "write limit, window, refill_per_sec or x-ratelimit",
		"x_ratelimit":                "did you mean x-ratelimit?",
	} {
		if got := rules.DidYouMean(in, known); got != want {
			t.Errorf("DidYouMean(%.20q) = %q, want %q", in, got, want)
		}
	}
}
