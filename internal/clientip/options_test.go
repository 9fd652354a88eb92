package clientip

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestC081PrefixLengthsOutOfRangeAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{IPv6Prefix: new(129)}, "ipv6_prefix 129: write a number from 1 to 128, or leave it out for 64"},
		{Options{IPv6Prefix: new(-1)}, "ipv6_prefix -1: write a number from 1 to 128, or leave it out for 64"},
		{Options{IPv6Prefix: new(0)}, "ipv6_prefix 0: write a number from 1 to 128, or leave it out for 64"},
		{Options{IPv4Prefix: new(33)}, "ipv4_prefix 33: write a number from 1 to 32, or leave it out for 32"},
		{Options{IPv4Prefix: new(-1)}, "ipv4_prefix -1: write a number from 1 to 32, or leave it out for 32"},
		{Options{IPv4Prefix: new(0)}, "ipv4_prefix 0: write a number from 1 to 32, or leave it out for 32"},
	} {
		r, err := New(c.o)
		if err == nil || err.Error() != c.want || r != nil {
			t.Errorf("New = %v, %v; want %s", r, err, c.want)
		}
	}
	for _, o := range []Options{{IPv6Prefix: new(1), IPv4Prefix: new(1)}, {IPv6Prefix: new(128), IPv4Prefix: new(32)}} {
		if _, err := New(o); err != nil {
			t.Error(err)
		}
	}
}

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
		IPv4Prefix:     new(40),
		IPv6Prefix:     new(200),
	})
	for _, field := range []string{"trusted_proxies ", "header ", "ipv4_prefix 40", "ipv6_prefix 200"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %q", err, field)
		}
	}
	var fault *FieldError
	if !errors.As(err, &fault) {
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
