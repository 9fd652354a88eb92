package httplimit_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
)

func TestSingleMissing(t *testing.T) {
	for _, tt := range []struct {
		name    string
		missing httplimit.Missing
		want    string
	}{
		{"ip", httplimit.MissingIP, "A A(1) D(1) A(2) (403)"},
		{"skip", httplimit.MissingSkip, "A A(1) A(1) A(2) A"},
		{"deny", httplimit.MissingDeny, "A (403)(1) (403)(1) (403)(2) (403)"},
		{"share", httplimit.MissingShare, "A A(1) D(1) D(2) D"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
				Limiter: newLimiter(t, newClock()), Policy: newPolicy(t, "p", "1 per minute", algo.TokenBucket),
				Key: httplimit.ByHeader("x-api-key"), Missing: tt.missing,
			}})(hello)
			got := []string{
				letter(get(t, h, "X-Api-Key: 192.0.2.1")),
				letter(get(t, h, "peer 192.0.2.1:1")) + "(1)",
				letter(get(t, h, "peer 192.0.2.1:2", "X-Api-Key: ")) + "(1)",
				letter(get(t, h, "peer 192.0.2.2:1")) + "(2)",
				letter(get(t, h, "peer @")),
			}
			wantString(t, "statuses", strings.Join(got, " "), tt.want)
		})
	}
}

func TestC092LongKeysAreToldApartAndNotKept(t *testing.T) {
	l := newLimiter(t, newClock())
	var keys []string
	l.Observe = func(d *stint.Decision) { keys = append(keys, string(d.Key)) }
	h := newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
		Limiter: l, Policy: newPolicy(t, "p", "5 per minute", algo.TokenBucket), Key: httplimit.ByHeader("X-Api-Key"),
	}})(hello)
	long := strings.Repeat("a", 60_000)
	for _, key := range []string{long, long[1:] + "b", "\xff\xfe", "k\x00"} {
		wantHeader(t, get(t, h, "X-Api-Key: "+key), "X-RateLimit-Remaining", "4")
	}
	for _, key := range keys {
		if len(key) > 256 || strings.Contains(key, "aaaa") {
			t.Errorf("key %.40q of %d bytes", key, len(key))
		}
	}
	if len(keys) != 4 {
		t.Errorf("%d decisions observed", len(keys))
	}
}

func TestKeyTooLarge(t *testing.T) {
	long := func(_ context.Context, _ stint.Source, dst []byte) ([]byte, bool) {
		return append(dst, make([]byte, stint.MaxKey)...), true
	}
	h := newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
		Limiter: newLimiter(t, nil), Policy: newPolicy(t, "p", "5 per minute", algo.TokenBucket), Key: long,
	}})(hello)
	if res := get(t, h); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestSingleGlobal(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: &httplimit.Single{
		Limiter: newLimiter(t, newClock()), Policy: newPolicy(t, "p", "2 per minute", algo.TokenBucket), Key: httplimit.Global,
	}})(hello)
	wantString(t, "three peers", letter(get(t, h, "peer 192.0.2.1:1"))+letter(get(t, h, "peer 192.0.2.2:1"))+
		letter(get(t, h, "peer @")), "AAD")
}
