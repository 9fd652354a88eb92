package rules_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rules"
)

// named are rules with keys of every kind.
func named() rules.Spec {
	return rules.Spec{
		Keys: []rules.Key{
			{Name: "api_key", Header: "X-Api-Key", Secret: true},
			{Name: "phone", JSON: "phone"},
			{Name: "tenant", Descriptor: "tenant"},
			{Name: "order", Param: "id"},
		},
		Plans: &rules.Plans{Key: "api_key", Of: map[string]string{"k_acme": "free", "k_globex": "paid"}},
		Rules: []rules.Rule{
			{ID: "exempt", Match: rules.Match{Path: []string{"/health"}}, Exempt: true},
			{ID: "otp", Key: []string{"phone"}, Limits: per(5, minute), Cost: 3},
			{ID: "address", Key: []string{"ip", "method"}, Limits: per(50, minute)},
			{ID: "order", Match: rules.Match{Path: []string{"/orders/{id}"}}, Key: []string{"order"}, Limits: per(7, minute)},
			{ID: "tiers", Key: []string{"api_key"}, Plans: map[string]stint.Limit{"free": per(10, minute)[0], "paid": per(100, minute)[0]}},
			{ID: "whole", Key: []string{"global"}, Limits: per(1000, minute), Shadow: true},
			{ID: "tenants", Key: []string{"tenant"}, Limits: per(9, minute)},
			{ID: "free", Key: []string{"phone"}, Unlimited: true},
		},
	}
}

// described is a request of which all of these rules know the keys.
func described() *request {
	r := get("/orders/a%20b", "2001:db8::17").with("X-Api-Key", "k_globex")
	r.json = map[string]string{"phone": "+49 171 " + strings.Repeat("5", 80)}
	r.descriptor = map[string]string{"tenant": "t-1"}
	return r
}

// TestNamedChargesAreThoseOfRequests: whoever names a rule asks the bucket that a
// request with the same values has.
func TestNamedChargesAreThoseOfRequests(t *testing.T) {
	set := compile(t, named())
	e := set.Evaluate(described())
	defer e.Release()
	values := map[string][]string{
		"otp": {described().json["phone"]}, "address": {"2001:db8::99", "get"}, "order": {"a b"},
		"tiers": {"k_globex"}, "whole": nil, "tenants": {"t-1"}, "free": nil,
	}
	if len(e.Charges()) != len(values) {
		t.Fatalf("%d charges", len(e.Charges()))
	}
	for _, want := range e.Charges() {
		got, err := set.AppendCharge(nil, want.Policy.Name, values[want.Policy.Name], 2)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", want.Policy.Name, got, err)
			continue
		}
		if got[0].Policy != want.Policy || !bytes.Equal(got[0].Key, want.Key) || got[0].Shadow != want.Shadow || got[0].Cost != 2 {
			t.Errorf("%s: %+v, want the bucket of %+v", want.Policy.Name, got[0], want)
		}
	}
}

// TestNamedChargesAppend keeps what is there and returns each limit of a rule.
func TestNamedChargesAppend(t *testing.T) {
	set := compile(t, rules.Spec{Rules: []rules.Rule{{ID: "r", Key: []string{"ip"}, Limits: slices.Concat(per(1, minute), per(9, 60*minute))}}})
	before := []stint.Charge{{Key: []byte("before")}}
	got, err := set.AppendCharge(before, "r", []string{"192.0.2.1"}, -1)
	if err != nil || len(got) != 3 || string(got[0].Key) != "before" || got[1].Policy.Name != "r/minute" || got[2].Policy.Name != "r/hour" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNamedChargesSayWhatIsWrong(t *testing.T) {
	set := compile(t, named())
	for _, c := range []struct {
		rule string
		key  []string
		cost int64
		want string
	}{
		{"opt", []string{"1"}, 1, `there is no rule "opt": did you mean otp?`},
		{"exempt", nil, 1, "exempt, so it has no counter"},
		{"otp", nil, 1, `rule "otp": a key of 0 values: give 1, of phone`},
		{"otp", []string{"1", "2"}, 1, "a key of 2 values: give 1, of phone"},
		{"otp", []string{""}, 1, "phone: the value is empty"},
		{"otp", []string{strings.Repeat("1", rules.MaxValue+1)}, 1, "at most 65536"},
		{"otp", []string{"1"}, stint.MaxUnits + 1, "cost 4503599627370497 is too large"},
		{"whole", []string{"x"}, 1, "the rule has one bucket for all, so give none"},
		{"address", []string{"192.0.2.1:80", "GET"}, 1, `ip: "192.0.2.1:80" is no address`},
		{"order", []string{".."}, 1, `order: ".." is no segment of a path`},
		{"tiers", []string{"k_made_up"}, 1, "api_key: no plan knows this value"},
	} {
		got, err := set.AppendCharge(nil, c.rule, c.key, c.cost)
		if err == nil || len(got) != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.20q: %v, %v, want %q", c.rule, c.key, got, err, c.want)
		}
	}
}

// TestNamedChargesShowNoSecret: what is wrong is said without the value of a key.
func TestNamedChargesShowNoSecret(t *testing.T) {
	if _, err := compile(t, named()).AppendCharge(nil, "tiers", []string{"hunter2"}, 1); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestDescriptorEntriesAreKeysAndConditions(t *testing.T) {
	s := serve(t, rules.Spec{
		Keys: []rules.Key{{Name: "tenant", Descriptor: "tenant"}},
		Rules: []rules.Rule{{
			ID: "r", Match: rules.Match{Descriptor: map[string][]string{"generic_key": {"search"}}}, Key: []string{"tenant"}, Limits: per(2, minute),
		}},
	})
	about := func(tenant, generic string) *request {
		return &request{path: "/", descriptor: map[string]string{"tenant": tenant, "generic_key": generic}}
	}
	s.want("AAD", about("a", "search"))
	s.want("AAD", about("b", "search"))
	s.want("AAAA", about("a", "other"))
}
