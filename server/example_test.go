package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
	"github.com/stint-dev/stint/server"
)

// A decision service for one rule. A program would serve the handler with a
// gateway.Server, which bounds slow clients.
func Example() {
	set, _ := rules.Compile(rules.Spec{
		Rules: []rules.Rule{{ID: "per-address", Key: []string{"ip"}, Limits: []stint.Limit{{Count: 3, Window: time.Minute}}}},
	})
	store, _ := memstore.New(memstore.Options{})
	limiter := &stint.Limiter{Store: store, Clock: func() time.Time { return time.Unix(1772409600, 0) }}
	decider := rules.NewDecider(limiter, set)
	handler, err := server.New(server.Options{
		Limit: httplimit.Options{Decider: decider}, Charger: decider, Limiter: limiter,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()

	res, err := http.Post(srv.URL+"/v1/check", "application/json", strings.NewReader(`{"charges":[{"rule":"per-address","key":["192.0.2.7"],"cost":4}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	fmt.Printf("%s", body)
	// Output:
	// {"allowed":false,"reason":"never","policy":"per-address","limit":{"count":3,"window_us":60000000},"capacity":3,"key":"AwUgwAACBw==","cost":4,"remaining":3,"retry_after_us":null,"reset_after_us":0,"next_after_us":0,"at_us":1772409600000000,"results":[{"ok":false,"policy":"per-address","limit":{"count":3,"window_us":60000000},"capacity":3,"key":"AwUgwAACBw==","cost":4,"remaining":3,"retry_after_us":null,"reset_after_us":0,"next_after_us":0}]}
}
