package rls_test

import (
	"testing"

	"github.com/stint-dev/stint/rls"
)

func TestNamesInHeadersArePrintable(t *testing.T) {
	d := open(t, `domain: d
descriptors:
- {key: é, rate_limit: {unit: minute, requests_per_unit: 2}}
- {key: été, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 0}}`, setup{
		service: func(o *rls.Options) { o.Headers, o.RequestHeaders = rls.IETF, true },
	})
	resp := d.must(request(t, "d", "é=1 | été=1"))
	for name, want := range map[string]string{
		"RateLimit-Policy": `"d/\"%C3%A9\"";q=2;w=60`,
		"RateLimit":        `"d/\"%C3%A9\"";r=1;t=60`,
	} {
		if got := headerOf(resp, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if h := resp.GetRequestHeadersToAdd(); len(h) != 1 || h[0].GetValue() != `"d/\"%C3%A9t%C3%A9\""` {
		t.Errorf("for the upstream: %v", h)
	}
}
