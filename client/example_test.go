package client_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/client"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rules"
	"github.com/stint-dev/stint/server"
)

// A limit inside a service, kept by a server: two codes an hour for one phone number.
func ExampleClient_Check() {
	set, _ := rules.Compile(rules.Spec{
		Keys:  []rules.Key{{Name: "phone_number", JSON: "phone_number"}},
		Rules: []rules.Rule{{ID: "send-otp", Key: []string{"phone_number"}, Limits: []stint.Limit{{Count: 2, Window: time.Hour}}}},
	})
	store, _ := memstore.New(memstore.Options{})
	limiter := &stint.Limiter{Store: store}
	decider := rules.NewDecider(limiter, set)
	handler, _ := server.New(server.Options{Limit: httplimit.Options{Decider: decider}, Charger: decider, Limiter: limiter})
	srv := httptest.NewServer(handler)
	defer srv.Close()

	c, err := client.New(client.Options{URL: srv.URL, Failure: stint.FailDeny, Deadline: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for range 3 {
		d, err := c.Check(context.Background(), client.Charge{Rule: "send-otp", Key: []string{"+4915112345678"}, Cost: 1})
		fmt.Println(d.Allowed, d.Remaining, err)
	}
	// Output:
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
}
