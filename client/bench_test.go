package client_test

import (
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/client"
)

func BenchmarkCheckOverHTTP(b *testing.B) {
	c := newClient(b, client.Options{URL: serveRules(b), Failure: stint.FailDeny})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var d stint.Decision
		for pb.Next() {
			if err := c.Decide(b.Context(), get("/v1/search"), &d); err != nil {
				b.Error(err)
			}
		}
	})
}
