package rls_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/rls"
)

// Entries become fields for rules where no file has the domain.
func TestRulesDecideWhereNoFileHasTheDomain(t *testing.T) {
	policy, err := stint.NewPolicy("per-user", stint.Limit{Count: 2, Window: 60e9}, algo.FixedWindow)
	if err != nil {
		t.Fatal(err)
	}
	rules := &byRules{policy: policy, fields: []stint.Field{
		{Kind: stint.FieldDescriptor, Name: "user"},
		{Kind: stint.FieldDescriptor, Name: "plan"},
		{Kind: stint.FieldDescriptor, Name: "none"},
		{Kind: stint.FieldMethod},
		{Kind: stint.FieldPath},
		{Kind: stint.FieldHost},
		{Kind: stint.FieldHeader, Name: "User"},
		{Kind: stint.FieldDescriptor, Name: ":domain"},
	}}
	d := open(t, "domain: files\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 1}}]", setup{
		service: func(o *rls.Options) { o.Fallback, o.Headers = rules, rls.RateLimit|rls.IETF },
	})
	rules.limiter = &stint.Limiter{Store: memory(t), Clock: d.clock.now}
	d.want("remote_address=10.0.0.7 user=u1 | user=u2 plan=free :path=/a/b?c=d method=GET :authority=API.example.com:443",
		"ok: ok 1/2mi per-user | ok 1/2mi per-user")
	want := "u1 true, free true,  false, GET true, /a/b true, api.example.com true,  false, d true"
	if got := strings.Join(rules.seen, ", "); got != want || rules.addr.String() != "10.0.0.7" {
		t.Errorf("the rules saw %s from %v\nwant %s", got, rules.addr, want)
	}
	d.want("remote_address=10.0.0.7 user=u1 | user=u2 plan=free :path=/a/b?c=d method=GET :authority=API.example.com:443",
		"ok: ok 0/2mi per-user | ok 0/2mi per-user")
	resp := d.must(request(t, "d", "remote_address=10.0.0.7 user=u1 | user=u2 plan=free :path=/a/b method=GET :authority=api.example.com"))
	if show(resp) != "over: over 0/2mi per-user | over 0/2mi per-user" || headerOf(resp, "Retry-After") != "60" {
		t.Errorf("%s, headers %v", show(resp), resp.GetResponseHeadersToAdd())
	}
	if got := show(d.must(request(t, "files", "user=u1"))); got != "ok: ok 0/1da" {
		t.Errorf("the file's domain: %s", got)
	}
}

func TestAddressEntries(t *testing.T) {
	policy, _ := stint.NewPolicy("p", stint.Limit{Count: 9, Window: 60e9}, algo.FixedWindow)
	rules := &byRules{policy: policy, limiter: &stint.Limiter{Store: memory(t)}}
	d := open(t, "", setup{service: func(o *rls.Options) { o.Fallback = rules }})
	for ask, want := range map[string]string{
		"remote_address=::ffff:10.0.0.1":          "10.0.0.1",
		"remote_address=fe80::1%eth0":             "fe80::1",
		"remote_address=nonsense":                 "invalid IP",
		"masked_remote_address=10.1.0.0/16":       "10.1.0.0",
		"a=b":                                     "invalid IP",
		"x=1 | remote_address=2001:db8::5 user=7": "2001:db8::5",
	} {
		if d.ask(ask); rules.addr.String() != want {
			t.Errorf("%s: the address is %v, want %s", ask, rules.addr, want)
		}
	}
}

// keyless is rules that refuse whoever does not say who they are.
type keyless struct{}

func (keyless) Decide(_ context.Context, _ stint.Source, d *stint.Decision) error {
	d.Clear()
	d.Refuse(stint.ReasonMissingKey, stint.Result{Policy: "p", Limit: stint.Limit{Count: 9, Window: 60e9}, Capacity: 9})
	return nil
}

// TestARefusalWithoutAQuestionHasNoNumbers: no store was asked, so there is nothing to
// tell, as over HTTP.
func TestARefusalWithoutAQuestionHasNoNumbers(t *testing.T) {
	d := open(t, "", setup{service: func(o *rls.Options) { o.Fallback, o.Headers = keyless{}, rls.RateLimit|rls.IETF }})
	resp := d.must(request(t, "d", "a=b"))
	if got := show(resp); got != "over: over" || len(resp.GetResponseHeadersToAdd()) != 0 {
		t.Errorf("%s, headers %v", got, resp.GetResponseHeadersToAdd())
	}
}
