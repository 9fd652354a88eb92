package clientip

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestHeaderNames(t *testing.T) {
	for name, want := range map[string]string{
		"": "X-Forwarded-For", "x-real-ip": "X-Real-Ip", "CF-Connecting-IP": "Cf-Connecting-Ip", "forwarded": "Forwarded",
	} {
		if r := resolver(t, Options{Header: name}); r.Header() != want {
			t.Errorf("header %q is %q, want %q", name, r.Header(), want)
		}
	}
	for _, name := range []string{" ", "X-Forwarded-For:", "X Real IP", "X-Real-IP, Forwarded", "X-Réal-IP", "a\r\nb"} {
		_, err := New(Options{Header: name})
		if err == nil || !strings.Contains(err.Error(), "not the name of one header") {
			t.Errorf("header %q: error %v, want one that says it is no name", name, err)
		}
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	_, err := New(Options{
		TrustedProxies: make([]netip.Prefix, 1),
		Header:         "a b",
	})
	for _, field := range []string{"trusted_proxies ", "header "} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %q", err, field)
		}
	}
	if _, ok := errors.AsType[*FieldError](err); !ok {
		t.Errorf("error %T holds no FieldError", err)
	}
}

func TestResolverKeepsNothingOfItsOptions(t *testing.T) {
	o := trusting(t, "10.0.0.0/8")
	r := resolver(t, o)
	o.TrustedProxies[0] = netip.MustParsePrefix("192.0.2.0/24")
	if !r.Trusts("10.0.0.5:80") || r.Trusts("192.0.2.1:80") {
		t.Error("a change of the options reached the resolver")
	}
}
