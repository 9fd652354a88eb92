package replay_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/replay"
	"github.com/stint-dev/stint/rules"
)

func ExampleRun() {
	log := `192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /v1/orders HTTP/1.1" 200 5
192.0.2.1 - - [17/May/2015:10:05:04 +0000] "GET /v1/orders HTTP/1.1" 200 5
192.0.2.1 - - [17/May/2015:10:05:04 +0000] "GET /v1/orders HTTP/1.1" 200 5
192.0.2.9 - - [17/May/2015:10:05:05 +0000] "GET / HTTP/1.1" 200 5
`
	spec := rules.Spec{Rules: []rules.Rule{{
		ID: "per-address", Key: []string{"ip"}, Limits: []stint.Limit{{Count: 2, Window: time.Minute}},
	}}}
	report, err := replay.Run(context.Background(), replay.Options{Rules: spec}, replay.Log{Reader: strings.NewReader(log)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of %d refused\n", report.Refused, report.Requests)
	for _, key := range report.Rules[0].Top {
		fmt.Println(key.Key, key.Refused)
	}
	fmt.Println("enough for 99 %:", report.Rules[0].Limits[0].Percent.Limit)
	// Output:
	// 1 of 4 refused
	// 192.0.2.1 1
	// enough for 99 %: 3 per minute
}
