package replay

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rules"
)

// start is the time of the first line of the logs in tests.
var start = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

// line is a line of a log in the combined format.
func line(after time.Duration, addr, target string) string {
	return fmt.Sprintf("%s - - [%s] \"GET %s HTTP/1.1\" 200 5 \"-\" \"curl/8.5.0\"\n",
		addr, start.Add(after).Format("02/Jan/2006:15:04:05 -0700"), target)
}

// jsonLine is a line as Caddy writes it, with headers.
func jsonLine(addr, headers string) string {
	return fmt.Sprintf(`{"ts":%d,"request":{"remote_ip":%q,"method":"GET","host":"api.example.com","uri":"/v1/orders","headers":{%s}},"status":200}`+"\n",
		start.Unix(), addr, headers)
}

// byAddress is a rule by address.
func byAddress(id string, count int64, algorithm string) rules.Rule {
	return rules.Rule{ID: id, Key: []string{"ip"}, Algorithm: algorithm, Limits: []stint.Limit{{Count: count, Window: time.Minute}}}
}

func specOf(rs ...rules.Rule) rules.Spec { return rules.Spec{Rules: rs} }

// run replays logs and fails on an error.
func run(t *testing.T, o Options, logs ...string) *Report {
	t.Helper()
	report, err := Run(context.Background(), o, logsOf(logs...)...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func logsOf(texts ...string) []Log {
	logs := make([]Log, len(texts))
	for i, text := range texts {
		logs[i] = Log{Name: fmt.Sprintf("log%d", i+1), Reader: strings.NewReader(text)}
	}
	return logs
}

func prefixesOf(t testing.TB, texts ...string) []netip.Prefix {
	t.Helper()
	var all []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}
