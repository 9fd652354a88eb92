package rls_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rls"
)

func ExampleNew() {
	set, err := descriptors.Parse("shop.yaml", []byte(`
domain: shop
descriptors:
- key: path
  value: /checkout
  rate_limit: {unit: hour, requests_per_unit: 1}
`), descriptors.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	service, err := rls.New(rls.Options{
		Limiter:     &stint.Limiter{Store: store},
		Descriptors: func() *descriptors.Set { return set },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &pb.RateLimitRequest{Domain: "shop", Descriptors: []*ratelimit.RateLimitDescriptor{
		{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "path", Value: "/checkout"}}},
	}}
	for range 2 {
		resp, err := service.ShouldRateLimit(context.Background(), req)
		fmt.Println(resp.GetOverallCode(), err)
	}
	// Output:
	// OK <nil>
	// OVER_LIMIT <nil>
}

// The folder of examples/envoy.yaml answers as the comments in it say.
func TestExampleFolder(t *testing.T) {
	set, err := descriptors.Load("../examples/envoy", descriptors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, "", setup{})
	d.set = set
	ask := func(domain, ask, want string) {
		t.Helper()
		if got := show(d.must(request(t, domain, ask))); got != want {
			t.Errorf("%s in %s:\n got %s\nwant %s", ask, domain, got, want)
		}
	}
	ask("shop", "path=/checkout +2", "ok: ok 0/2mi")
	ask("shop", "path=/checkout", "over: over 0/2mi")
	ask("shop", "path=/api/orders", "ok: ok 99/100se")
	ask("shop", "path=/api/users", "ok: ok 99/100se")
	ask("shop", "path=/images/a.png", "ok: ok 499/500se")
	ask("shop", "path=/images/b.png", "ok: ok 498/500se")
	ask("shop", "path=/other", "ok: ok")
	ask("shop", "sign_in=true remote_address=198.51.100.1 +5", "ok: ok 0/5mi")
	ask("shop", "sign_in=true remote_address=198.51.100.1", "over: over 0/5mi")
	ask("shop", "sign_in=true remote_address=192.0.2.10", "ok: ok")
	ask("shop", "sign_in=true remote_address=203.0.113.66", "over: over 0/0se")
	ask("shop", "user=u1 | plan=free user=u1", "ok: ok 999/1000ho everybody | ok")
	ask("shop", "user=u1 | plan=paid user=u1", "ok: ok | ok 9999/10000ho")
	ask("shop", "plan=internal", "ok: ok unlimited")
	ask("shop", "search=1", "ok: ok 0/1se")
	ask("shop", "search=1", "ok: ok 0/1se")
	ask("shop", "backend=east | backend=west", "ok: ok 0/1mi | ok 1/2mi")
	ask("shop", "backend=east | backend=west", "ok: ok 0/1mi | ok 0/2mi")
	ask("shop", "backend=east | backend=west", "over: over 0/1mi | over 0/2mi")
	ask("partners", "api_key=k1 +50", "ok: ok 0/10se")
	ask("partners", "export=e +3", "ok: ok 0/3*10mi")
	ask("partners", "export=e", "over: over 0/3*10mi")
	ask("partners", "payout=p", "ok: ok 19/20da")
	var names []string
	for _, r := range set.Rules() {
		names = append(names, r.Name)
	}
	if got := strings.Join(names[:4], " "); got != `partners/api_key partners/export partners/payout shop/path="/checkout"` {
		t.Errorf("rules %s", got)
	}
}
